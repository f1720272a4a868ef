"""Feature groups: features that are selected, or asked for, together and count as one."""

from collections.abc import Mapping
from numbers import Integral

import numpy as np

__all__ = ["find_feature", "name_some", "read_groups"]


def read_groups(feature_groups, feature_names):
    """Read the feature group of each feature, and the names of the groups.

    `feature_groups`: a dict from a group's name to its features (names or indices), a list of
    lists of them, or an array with one label per feature. None: each feature is a group of its
    own. Returns `group_of` (n_features,); `names`.
    """
    n_features = len(feature_names)
    if feature_groups is None:
        return np.arange(n_features, dtype=np.int64), feature_names
    if isinstance(feature_groups, Mapping):
        return _read_members(
            [str(name) for name in feature_groups], list(feature_groups.values()), feature_names
        )
    groups = feature_groups.tolist() if hasattr(feature_groups, "tolist") else feature_groups
    if not isinstance(groups, list | tuple):
        raise ValueError(
            "feature_groups must be a dict from names to lists of features, a list of such lists, "
            f"or an array with one label per feature; got {feature_groups!r}."
        )
    listed = [isinstance(group, list | tuple | np.ndarray) for group in groups]
    if groups and all(listed):
        members = [list(group) for group in groups]
        names = [f"group {g}" for g in range(len(members))]
        return _read_members(names, members, feature_names)
    if any(listed):
        raise ValueError(
            "feature_groups must be a list of lists, or one label per feature; got a "
            "mixture. Put a feature that stands alone in a list of its own."
        )
    if len(groups) != n_features:
        raise ValueError(
            f"feature_groups must have one label for each of the {n_features} features, got "
            f"{len(groups)}."
        )
    if any(label is None or label != label for label in groups):
        raise ValueError("feature_groups has a missing label. Give every feature a group.")
    names = list(dict.fromkeys(str(label) for label in groups))  # in order of appearance
    place = {name: g for g, name in enumerate(names)}
    return np.array([place[str(label)] for label in groups], dtype=np.int64), names


def _read_members(names, groups, feature_names):
    if len(set(names)) < len(names):
        raise ValueError(f"feature_groups must have different names, got {name_some(names)}.")
    column_of = {name: j for j, name in enumerate(feature_names)}
    group_of = np.full(len(feature_names), -1, dtype=np.int64)
    for g, group in enumerate(groups):
        if isinstance(group, str) or not hasattr(group, "__iter__"):
            group = [group]
        group = list(group)
        if not group:
            raise ValueError(f"feature_groups has no feature in {names[g]!r}. Omit this group.")
        for feature in group:
            j = find_feature(
                feature, column_of, len(feature_names), "feature_groups", f" in {names[g]!r}"
            )
            if group_of[j] >= 0:
                raise ValueError(
                    f"feature_groups overlap: the feature {feature_names[j]!r} is in "
                    f"{names[group_of[j]]!r} and in {names[g]!r}. A feature belongs to one group."
                    if group_of[j] != g
                    else f"feature_groups has {feature_names[j]!r} twice in {names[g]!r}."
                )
            group_of[j] = g
    left = np.flatnonzero(group_of < 0)
    if left.size:
        absent = name_some([feature_names[j] for j in left])
        raise ValueError(
            f"feature_groups lack the feature(s) {absent}. "
            "Every feature must be in a group; one that stands alone, in a group of its own."
        )
    return group_of, names


def find_feature(feature, column_of, n_features, parameter, where=""):
    """Find the column of a feature that a parameter gives by name or index.

    `column_of`: column of each name; `parameter`, `where`: name of the parameter and context, for
    error messages.
    """
    if isinstance(feature, str):
        if feature in column_of:
            return column_of[feature]
        raise ValueError(
            f"{parameter} has the feature {feature!r}{where}, which is not among the features "
            f"{name_some(list(column_of))}."
        )
    is_index = isinstance(feature, Integral) and not isinstance(feature, bool | np.bool_)
    if not is_index or not 0 <= feature < n_features:
        raise ValueError(
            f"{parameter} must name features, or give indices from 0 to {n_features - 1}; got "
            f"{feature!r}{where}."
        )
    return int(feature)


def name_some(names, most=5):
    """The first few names, for a message."""
    shown = ", ".join(map(repr, names[:most]))
    return shown if len(names) <= most else f"{shown}, ... ({len(names)} in all)"
