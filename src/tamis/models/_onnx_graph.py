"""An ONNX graph that is built node by node, in double precision."""

import numpy as np

OPSET = 19  # the first in which strings can be compared
_DOUBLE = 11  # onnx.TensorProto.DOUBLE


class Graph:
    """Nodes and constants of an ONNX graph; names of tensors stand for tensors.

    `taken`: names that tensors of this graph must not have.
    """

    def __init__(self, taken=(), opset=OPSET):
        self.taken, self.opset = set(taken), opset
        self.nodes, self.constants = [], []

    def constant(self, value):
        """A constant tensor: float64, int64, bool or strings."""
        from onnx import TensorProto, helper, numpy_helper

        name = self._name("constant")
        value = np.asarray(value)
        if value.dtype.kind in "UO":
            raw = [str(item).encode() for item in value.ravel().tolist()]
            tensor = helper.make_tensor(name, TensorProto.STRING, value.shape, raw)
        else:
            tensor = numpy_helper.from_array(np.ascontiguousarray(value), name)
        self.constants.append(tensor)
        return name

    def __call__(self, operator, *inputs, output=None, **attributes):
        """Add a node; inputs are names of tensors, or values that become constants."""
        from onnx import helper

        names = [item if isinstance(item, str) else self.constant(item) for item in inputs]
        output = self._name(operator) if output is None else output
        self.nodes.append(helper.make_node(operator, names, [output], **attributes))
        return output

    def _name(self, stem):
        name = f"tamis/{stem}/{len(self.nodes)}/{len(self.constants)}"
        while name in self.taken:
            name += "'"
        self.taken.add(name)
        return name

    def nearest(self, distances, k):
        """The k smallest entries of each row and their indices; ties: the lower index first."""
        from onnx import helper

        outputs = [self._name("TopK"), self._name("TopK")]
        names = [distances, self.constant(np.array([k]))]
        self.nodes.append(helper.make_node("TopK", names, outputs, axis=1, largest=0, sorted=1))
        return outputs

    # Shared by several models.

    def sum(self, x, axis, keepdims=0):
        """Sum over one axis."""
        return self("ReduceSum", x, np.array([axis]), keepdims=keepdims)

    def largest(self, x):
        """Largest entry of each row, as a column."""
        if self.opset < 18:
            return self("ReduceMax", x, axes=[1], keepdims=1)
        return self("ReduceMax", x, np.array([1]), keepdims=1)

    def clip(self, x, bound):
        """Values clipped to plus and minus a bound."""
        return self("Min", self("Max", x, np.float64(-bound)), np.float64(bound))

    def double(self, x):
        """Booleans as numbers."""
        return self("Cast", x, to=_DOUBLE)

    def settle(self, decisions, slack):
        """Set decisions within `slack` of the largest equal to it; `slack` is a function."""
        top = self.largest(decisions)
        near = self("LessOrEqual", self("Sub", top, decisions), slack(top))
        return self("Where", near, top, decisions)

    def apart(self, x, points):
        """Differences from each point: (n, n_points, n_columns)."""
        return self("Sub", self("Unsqueeze", x, np.array([1])), np.asarray(points)[None])
