"""What the user says about the columns of a table."""

from collections.abc import Iterable, Mapping
from dataclasses import InitVar, dataclass

from tamis.tables.columns.missing import BELOW_DETECTION, MissingWords
from tamis.tables.columns.values import canonical
from tamis.tables.errors import InputError


@dataclass
class Wishes:
    """What the user says about columns; see `tamis.tables.read_table`."""

    target: str | int | None = None
    id_column: str | None = None
    groups: str | None = None
    batch: str | None = None
    weights: str | None = None
    time: str | None = None
    subgroups: Iterable[str] = ()
    text: Iterable[str] = ()
    categorical: Iterable[str] = ()
    drop: Iterable[str] = ()
    include: Iterable[str] = ()
    missing: str = "impute"
    missing_values: InitVar[Iterable[str] | None] = None
    require_target: bool = True
    choices: InitVar[Mapping[str, Iterable[str]] | None] = None
    unlisted: InitVar[Iterable[str]] = ()
    below_detection: InitVar[str | None] = "half"

    def __post_init__(self, missing_values, choices, unlisted, below_detection):
        if self.missing not in ("impute", "error"):
            raise InputError(f"missing must be 'impute' or 'error', got {self.missing!r}")
        # Runs of earlier versions have no rule.
        rule = "missing" if below_detection is None else below_detection
        if rule not in BELOW_DETECTION:
            raise InputError(
                f"below_detection must be one of {', '.join(BELOW_DETECTION)}; got {rule!r}"
            )
        for name in ("subgroups", "text", "categorical", "drop", "include"):
            setattr(self, name, _names(getattr(self, name)))
        declared = {n: [str(canonical(c)) for c in some] for n, some in (choices or {}).items()}
        self.missing_words = MissingWords(
            None if missing_values is None else _names(missing_values),
            choices=declared,
            refused=[name for name in declared if name not in {*unlisted}],
            below_detection=rule,
        )


def _names(value):
    if value is None:
        return []
    if isinstance(value, str):
        value = value.split(",")
    return [name.strip() if isinstance(name, str) else name for name in value if name != ""]
