r"""Features that are selected together, and features that are always selected.

The objective is a sum over features, hence over feature groups too: dropping group G costs
:math:`g_G = \sum_{i \in G} g_i` whatever else is dropped. Keeping the k groups with the largest
:math:`g_G` is therefore the global optimum, also when some groups are always kept. Shapes: gains
(m,) for m features; kept, sums (G,) for G groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tamis._base import find_feature, name_some, read_groups


@dataclass(frozen=True)
class FeatureGroups:
    """The group of each feature, and which groups are kept."""

    group_of: NDArray  # (n_features,): group of each feature; every group from 0 has a feature
    kept: NDArray  # (n_groups,): groups that are always selected, and not counted

    @property
    def n_choices(self) -> int:
        """Number of groups to choose from."""
        return int(np.count_nonzero(~self.kept))

    def sums(self, gains: NDArray) -> NDArray:
        """Gain of each group."""
        # From the smallest to the largest: groups with equal members have equal sums, in whatever
        # order their columns are.
        order = np.lexsort((gains, self.group_of))
        return np.bincount(self.group_of[order], weights=gains[order], minlength=self.kept.size)

    def order(self, gains: NDArray) -> NDArray[np.intp]:
        """Groups: the kept ones, then the best first; ties by the index of the first feature."""
        first = np.unique(self.group_of, return_index=True)[1]
        return np.lexsort((first, -self.sums(gains), ~self.kept))

    def order_features(self, gains: NDArray) -> NDArray[np.intp]:
        """Features group by group, the best group first; within a group the best feature first."""
        order = self.order(gains)
        rank = np.empty_like(order)
        rank[order] = np.arange(order.size)
        return np.lexsort((-gains, rank[self.group_of]))

    def select(self, gains: NDArray, k: int) -> NDArray[np.intp]:
        """Features of positive gain in the kept and in the k best groups, ascending."""
        chosen = np.zeros(self.kept.size, dtype=bool)
        chosen[self.order(gains)[: self.kept.size - self.n_choices + k]] = True
        return np.flatnonzero(chosen[self.group_of] & (gains > 0))

    def count_features(self, gains: NDArray, ks: NDArray) -> NDArray[np.int64]:
        """Number of features of positive gain in the kept and in the k best groups, for all ks."""
        sizes = np.bincount(self.group_of, weights=gains > 0, minlength=self.kept.size)
        total = np.concatenate([[0], np.cumsum(sizes[self.order(gains)])]).astype(np.int64)
        n_kept = self.kept.size - self.n_choices
        return total[np.minimum(n_kept + np.asarray(ks), self.kept.size)]

    def count_choices(self, gains: NDArray, ks: NDArray) -> NDArray[np.int64]:
        """Number of groups with a gain among the k best that are not kept, for all ks."""
        free = self.order(gains)[self.kept.size - self.n_choices :]
        return np.minimum(ks, np.count_nonzero(self.sums(gains)[free] > 0))


def make_groups(
    feature_groups: object, keep: object, feature_names: Sequence[str]
) -> FeatureGroups:
    """Make the groups from a user's parameters; raises ValueError for invalid ones."""
    feature_names = [str(name) for name in feature_names]
    group_of, names = read_groups(feature_groups, feature_names)
    kept = np.zeros(len(names), dtype=bool)
    column_of = {name: j for j, name in enumerate(feature_names)}
    place_of = {} if feature_groups is None else {name: g for g, name in enumerate(names)}
    for name in _listed(keep):
        kept[_find_group(name, place_of, column_of, group_of)] = True
    return FeatureGroups(group_of, kept)


def _listed(keep):
    if keep is None:
        return []
    if isinstance(keep, str):
        return [keep]
    keep = keep.tolist() if hasattr(keep, "tolist") else keep
    if not np.iterable(keep):
        return [keep]
    return list(keep)


def _find_group(name, place_of, column_of, group_of):
    """Find the group with a name, or of the feature with a name or index."""
    if not isinstance(name, str) or name not in place_of:
        if isinstance(name, str) and place_of and name not in column_of:
            raise ValueError(
                f"keep has {name!r}, which is neither among the groups "
                f"{name_some(list(place_of))} nor among the features "
                f"{name_some(list(column_of))}."
            )
        return group_of[find_feature(name, column_of, group_of.size, "keep")]
    if name in column_of and group_of[column_of[name]] != place_of[name]:
        raise ValueError(
            f"keep has {name!r}, which is a group and a feature of another group. Give the "
            f"index of one of the intended features; that of {name!r} is {column_of[name]}."
        )
    return place_of[name]
