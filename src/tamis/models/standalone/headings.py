"""Names of the columns that predictions add to a table."""

from collections.abc import Callable, Iterable

__all__ = ["headings", "unused_names"]


def headings(classes: Iterable) -> list[str]:
    """Headings of the label and of the probability of each class."""
    return ["prediction", *(f"p_{label}" for label in classes)]


def unused_names(
    wanted: Iterable[str], taken: Iterable[str], same: Callable[[str], str] = str
) -> list[str]:
    """Names that no other column has: tamis_ comes before those that are taken.

    `taken`: names of the other columns; `same`: names count as equal if this makes them equal:
    `str.casefold` where case is ignored.

    Examples
    --------
    >>> unused_names(["prediction", "p_no", "p_yes"], ["age", "prediction"])
    ['tamis_prediction', 'p_no', 'p_yes']
    """
    used = {same(name) for name in taken}
    names = []
    for name in wanted:
        while same(name) in used:
            name = f"tamis_{name}"
        used.add(same(name))
        names.append(name)
    return names
