r"""Proof for panels: the best panel of k features, how far others are from it, all as good ones.

For a panel S, with the weights s and the ridge of the forward steps, standardised features and
:math:`y_{ci} = \pm 1` for each class c against the rest (one problem for two classes),

.. math:: F(S) = \sum_c \min_{w, b} \sum_i s_i \log(1 + e^{-y_{ci} (x_{iS}^\top w + b)})
   + \frac\lambda2 \|w\|^2.

The panel with the least F is sought, among all of k features.

- **A bound for all panels at once.** Let :math:`a_c \in [0, 1]^n` with
  :math:`\sum_i s_i a_{ci} y_{ci} = 0`, let :math:`H(a) = -a \log a - (1 - a) \log(1 - a)`,
  :math:`v_c = s \, a_c \, y_c` and :math:`c_j^2 = \sum_c (x_j^\top v_c)^2`. The logistic loss
  is the largest value over a of :math:`H(a) - a z` at :math:`z = y (x^\top w + b)`, so that for
  every S

  .. math:: F(S) \ge \sum_c \min_{w, b} \Big[ \sum_i s_i H(a_{ci}) - w^\top X_S^\top v_c
     - b \sum_i v_{ci} + \frac\lambda2 \|w\|^2 \Big]
     = \sum_{c, i} s_i H(a_{ci}) - \frac{1}{2 \lambda} \sum_{j \in S} c_j^2.

  The sum over S is at most that of the k largest :math:`c_j^2`. With features fixed in and out,
  it is at most that of all that are in and of the largest of those left. Kept columns are always
  in; a group has the sum of its columns; where a set allows at most so many groups, the largest
  that fit are taken (`tamis.panel.proof.counting`).
- **The best such bound** is half the squared k-support norm's: the dual of
  :math:`\min_{u, w, b} \sum \text{loss} + \frac\lambda2 \sum_j w_j^2 / u_j` over
  :math:`0 \le u \le 1` with sum k (`tamis.panel.proof.relaxation`). Every iterate gives a valid
  bound, once a is scaled down on the heavier sign so that it sums to zero
  (`tamis.panel.proof.duals`).
- **Reduced costs.** Forcing j in costs :math:`(c_{last}^2 - c_j^2) / 2 \lambda`, forcing it out
  :math:`(c_j^2 - c_{first}^2) / 2 \lambda`, of the last one in and the first one out. What passes
  the goal is decided for good below a node.

**The idea that makes it fast:** one product with all columns gives the scores :math:`c_j^2` of all
features, and with them the bounds of *all panels below a node*, not of the node alone. If only few
of them are below the goal, they are fitted at once, as one batch, of which most drop out after one
Newton step because its dual bounds them too. So the tree ends where a few dozen panels are left,
two or three levels above its leaves. The nodes that remain take one or two Newton steps: in the
quadratic model of the losses, u and w need no rows, and children start from the model of their
parent. Nodes are divided on the feature of largest u.

The list of all panels within a tolerance is the same tree with a larger goal, complete when the
queue is empty. The order of columns and the number of threads decide nothing but ties.

Shapes: n rows, p columns in G groups, C problems, B nodes or panels at a time.
"""
