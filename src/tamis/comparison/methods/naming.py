"""What a method and its models are called in the output, the report and the offers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["bracket", "explain_marks", "mark_method", "name_head", "name_method", "name_model"]

_MARK = "°"
# The sizes of a method that tables show.
_SHOWN = ("good_enough", "best")
_HEADS = {"lda": "linear discriminant", "projection": "nearest class centroid"}


def name_method(name: str, described: Mapping[str, Any]) -> str:
    """The name of a method on the command line, if its title begins with it; else the title.

    `described`: the method or its model in `metrics.json`.
    """
    title = described["title"]
    is_own = not described.get("is_baseline") and title.startswith(name)
    return name if is_own else title


def mark_method(name: str, described: Mapping[str, Any]) -> str:
    """`name_method`, with a mark if its models cannot be read: see `explain_marks`."""
    return f"{name_method(name, described)}{_MARK if _is_unreadable(described) else ''}"


def explain_marks(methods: Mapping[str, Mapping[str, Any]]) -> str | None:
    """What marks and brackets of some methods of `metrics.json` mean; None if there are none."""
    marked = {name: one for name, one in methods.items() if _is_unreadable(one)}
    if not marked:
        return None
    told = f"{_MARK}: cannot be asked, carded or exported to SQL"
    asking = [name for name, one in marked.items() if one["asks"]]
    told += f" ({', '.join(asking)}: can be asked)" if asking else ""
    if all(one[size].get("counts", True) for one in marked.values() for size in _SHOWN):
        return told
    return (
        f"{told}; in brackets: not clearly better than the linear panel of the same features, so "
        "neither recommended nor the best of all"
    )


def bracket(text: str, point: Mapping[str, Any]) -> str:
    """The score of a point of a path, in brackets if the point does not count."""
    return text if point.get("counts", True) else f"({text})"


def _is_unreadable(described):
    return not described.get("is_readable", True) and not described.get("is_baseline")


def name_head(head: str, method: str = "") -> str:
    """The head of a model in words; empty if the name of the method says it already."""
    return "" if head and head in method else _HEADS.get(head, head)


def name_model(name: str, described: Mapping[str, Any], n_features: float, head: str) -> str:
    """A model in words: "panel, 10 features, logistic"; the head where it is known.

    Before a model is trained, only the kind of its head is known, linear or kernel.
    """
    method = name_method(name, described)
    told = f"{method}, {n_features:.3g} feature{'' if n_features == 1 else 's'}"
    head = "" if head == "linear" else name_head(head, method)
    return f"{told}, {head}" if head else told
