"""The finding of a check."""

from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["CHANCE", "Check", "name_some"]

# Largest expected number of columns that look this way by chance alone.
CHANCE = 0.01


@dataclass(frozen=True)
class Check:
    """A finding about the data or the result."""

    code: str  # stable name, such as "separating-column"
    severity: str  # "note", "warning"
    sentence: str  # the finding
    advice: str  # what to do about it
    # Whether it holds for the data and all models, or for the recommended model alone.
    about: str = "data"
    columns: tuple[str, ...] = ()  # columns or features that it is about; empty: all of them

    def __str__(self):
        return f"{self.severity} ({self.code}): {self.sentence} {self.advice}"

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {name: value for name, value in asdict(self).items() if name != "columns"}


def name_some(names, most=3):
    """A few names for a sentence."""
    names = list(map(str, names))
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
