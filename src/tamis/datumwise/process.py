"""The decision process: what can be asked for, its cost, and the loss of a wrong label.

A sample starts with nothing known. Each action either asks for one block of features, at its cost,
or names a class and ends (Dulac-Arnold, Denoyer, Preux and Gallinari, ECML 2011, Sec. 3). The goal
is the policy with the smallest risk, eq. (2) with costs and class weights: the mean over samples
of

    class_losses[y] * (label != y) + cost_weight * (sum of the costs of the blocks asked for).

This module does not know how a policy is learned.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral

import numpy as np

from tamis._base import check_class_weight, is_real, name_some, read_groups
from tamis.datumwise.costs import as_float, exact_sum

# Status of a block of one sample.
ASK = 0  # available: its values are in X
KNOWN = 1  # known for free: costs nothing and does not count
MISSING = 2  # unavailable: all its columns are NaN
OPEN = 3  # not answered yet, in a conversation: may be requested

_LARGEST = 1e100
# The smallest cost weight of a default path, as a share of the largest.
_SPAN = 1e-3


@dataclass(frozen=True)
class Process:
    """Costs, budgets and losses."""

    block_of: np.ndarray  # (n_features,): block of each column
    costs: np.ndarray  # (n_blocks,): cost of each block, as given by the user, >= 0
    cost_weight: float  # loss that one unit of cost is worth: the paper's lambda
    class_losses: np.ndarray  # (n_classes,): loss of a wrong label for a sample of each class
    max_blocks: int  # largest number of blocks that may be bought; `n_blocks` if there is no limit
    max_cost: float  # largest sum of costs; infinity if there is no limit
    names: np.ndarray  # (n_blocks,): names of the blocks

    @property
    def n_blocks(self):
        """Number of blocks."""
        return self.costs.size

    @property
    def n_classes(self):
        """Number of classes."""
        return self.class_losses.size

    def columns_of(self, block):
        """Columns of one block, ascending."""
        return np.flatnonzero(self.block_of == block)


@dataclass
class Run:
    """What a policy did with each sample."""

    # (n_samples, n_classes): log scale: their softmax gives the probabilities; the label is the
    # first of the largest.
    decisions: np.ndarray
    # (n_samples, length): blocks bought, in order, padded with -1, without known blocks.
    order: np.ndarray
    # (n_samples,): -1 where the policy has stopped and classified; otherwise the open block it
    # asks for next, and the decisions are those of the state so far.
    request: np.ndarray
    # (n_samples, length + 1, n_classes) or None: decisions before the first purchase, after it,
    # after the second, ...; padded with NaN.
    trace: np.ndarray | None = None


def find_status(block_of, n_blocks, X, known=None):
    """Status of each block of each sample: ASK, KNOWN or MISSING.

    `block_of` (n_features,): block of each column. `X` (n_samples, n_features): samples; NaN means
    unavailable. `known` (n_samples, n_features) or None: values known for free: all existing
    values of a block, or none. Returns `status` (n_samples, n_blocks).
    """
    has = ~np.isnan(X)
    if n_blocks == X.shape[1]:  # each feature is a block of its own
        place = np.argsort(block_of)
        in_order = np.array_equal(place, np.arange(n_blocks))
        status = np.where(has if in_order else has[:, place], np.int8(ASK), np.int8(MISSING))
        if known is not None:
            status[(known & has)[:, place]] = KNOWN
        return status
    member = (block_of[:, None] == np.arange(n_blocks)).astype(np.float64)
    n_values = has.astype(np.float64) @ member
    status = np.where(n_values > 0, np.int8(ASK), np.int8(MISSING))
    if known is not None:
        n_known = (known & has).astype(np.float64) @ member
        partly = (n_known > 0) & (n_known < n_values)
        if partly.any():
            row, block = np.argwhere(partly)[0]
            raise ValueError(
                f"known has some, but not all, values of the group with the features "
                f"{np.flatnonzero(block_of == block).tolist()} in row {row}. A group is asked "
                "for as a whole: mark all of its values as known, or none."
            )
        status[n_known > 0] = KNOWN
    return status


def make_process(
    feature_names,
    *,
    cost_weight,
    class_losses,
    feature_costs=None,
    feature_groups=None,
    max_features=None,
    max_cost=None,
):
    """Make the process that a user's parameters describe; raises ValueError for invalid ones.

    `class_losses` (n_classes,). `feature_costs`: one cost >= 0 per feature, or per feature group
    if there are groups; a dict is by name. None: 1 each.
    """
    feature_names = [str(name) for name in feature_names]
    block_of, names = read_groups(feature_groups, feature_names)
    kind = "feature" if feature_groups is None else "group"
    costs = _read_costs(feature_costs, names, kind)
    return Process(
        block_of=block_of,
        costs=costs,
        cost_weight=check_cost_weight("cost_weight", cost_weight),
        class_losses=np.asarray(class_losses, dtype=np.float64),
        max_blocks=_read_max_features(max_features, len(names)),
        max_cost=_read_max_cost(max_cost),
        names=np.array(names, dtype=object),
    )


def check_cost_weight(name, value):
    """A cost weight as a float; raises ValueError unless it is a finite number >= 0."""
    if not is_real(value) or not 0 <= value <= _LARGEST:
        raise ValueError(f"{name} must be a finite number >= 0, got {value!r}.")
    return float(value)


def choose_cost_weights(name, wanted, process, codes):
    """Cost weights from the largest to the smallest.

    `name`: name of the user's parameter, for error messages. `codes` (n_samples,).
    """
    if not isinstance(wanted, Integral) or isinstance(wanted, bool):
        return _read_cost_weights(name, wanted)
    if wanted < 1:
        raise ValueError(f"{name} must be at least 1 cost weight, got {wanted!r}.")
    mass = np.bincount(codes, minlength=process.n_classes) * process.class_losses
    prior_loss = (mass.sum() - mass.max()) / codes.size
    costs = process.costs[process.costs > 0]
    mean_cost = exact_sum(costs.tolist()) / costs.size if costs.size else 1.0
    largest = 0.5 * prior_loss / mean_cost
    return [float(w) for w in np.geomspace(largest, _SPAN * largest, wanted)]


def _read_cost_weights(name, weights):
    if not isinstance(weights, list | tuple | np.ndarray) or not len(weights):
        raise ValueError(f"{name} must be a list of numbers >= 0, got {weights!r}.")
    return sorted({check_cost_weight(f"Each of {name}", w) for w in weights}, reverse=True)


def find_class_losses(class_weight, classes, codes):
    """Loss of a wrong label for a sample of each class; "balanced" has mean 1 over samples."""
    weights = check_class_weight(class_weight, classes, 1e9)
    if weights is None:
        return np.ones(len(classes))
    if isinstance(weights, str):
        sizes = np.bincount(codes, minlength=len(classes))
        return codes.size / (len(classes) * sizes)
    return weights


def _read_max_features(max_features, n_blocks):
    if max_features is None:
        return n_blocks
    is_count = isinstance(max_features, Integral) and not isinstance(max_features, bool | np.bool_)
    if not is_count or max_features < 0:
        raise ValueError(
            "max_features must be an integer >= 0 (0: ask for nothing), or None for no limit; got "
            f"{max_features!r}."
        )
    return min(int(max_features), n_blocks)


def _read_max_cost(max_cost):
    if max_cost is None:
        return np.inf
    if not is_real(max_cost) or not max_cost >= 0:
        raise ValueError(
            "max_cost must be a number >= 0 (0: ask only for what is free), or None for no "
            f"limit; got {max_cost!r}."
        )
    return as_float(max_cost)


def _read_costs(feature_costs, names, kind):
    """Read one cost per block."""
    if feature_costs is None:
        return np.ones(len(names))
    if isinstance(feature_costs, Mapping):
        unknown = [name for name in feature_costs if name not in set(names)]
        if unknown:
            raise ValueError(
                f"feature_costs has the {kind} {unknown[0]!r}, which is not among the {kind}s "
                f"{name_some(names)}."
            )
        absent = [name for name in names if name not in feature_costs]
        if absent:
            raise ValueError(
                f"feature_costs has no cost for the {kind}(s) {name_some(absent)}. Give every "
                f"{kind} a cost; it may be 0."
            )
        feature_costs = [feature_costs[name] for name in names]
    try:
        costs = np.asarray(feature_costs)
    except ValueError as error:
        raise ValueError(f"feature_costs must be a list of numbers ({error}).") from error
    if costs.shape != (len(names),):
        raise ValueError(
            f"feature_costs must have one cost for each of the {len(names)} {kind}s, got "
            + (f"shape {costs.shape}." if costs.ndim else f"{feature_costs!r}.")
        )
    if not all(is_real(cost) for cost in costs):
        raise ValueError(f"feature_costs must be numbers, got {feature_costs!r}.")
    costs = np.array([as_float(cost) for cost in costs], dtype=np.float64)
    wrong = np.flatnonzero(~((costs >= 0) & (costs <= _LARGEST)))
    if wrong.size:
        raise ValueError(
            f"feature_costs must be finite numbers >= 0, got {costs[wrong[0]]} for the {kind} "
            f"{names[wrong[0]]!r}. If it is unavailable, use NaN in X."
        )
    return costs
