"""What the user says about the columns of a table."""

from collections.abc import Iterable, Mapping

from tamis.tables.columns.missing import BELOW_DETECTION, MissingWords
from tamis.tables.columns.values import canonical
from tamis.tables.errors import InputError


class Wishes:
    """What the user says about columns; see `tamis.tables.read_table`."""

    def __init__(
        self,
        target: str | int | None = None,
        id_column: str | None = None,
        groups: str | None = None,
        batch: str | None = None,
        weights: str | None = None,
        time: str | None = None,
        subgroups: Iterable[str] = (),
        text: Iterable[str] = (),
        categorical: Iterable[str] = (),
        drop: Iterable[str] = (),
        include: Iterable[str] = (),
        missing: str = "impute",
        missing_values: Iterable[str] | None = None,
        require_target: bool = True,
        choices: Mapping[str, Iterable[str]] | None = None,
        unlisted: Iterable[str] = (),
        below_detection: str | None = "half",
    ):
        if missing not in ("impute", "error"):
            raise InputError(f"missing must be 'impute' or 'error', got {missing!r}")
        # Runs of earlier versions have no rule.
        rule = "missing" if below_detection is None else below_detection
        if rule not in BELOW_DETECTION:
            raise InputError(
                f"below_detection must be one of {', '.join(BELOW_DETECTION)}; got {rule!r}"
            )
        self.target = target
        self.id_column = id_column
        self.groups = groups
        self.batch = batch
        self.weights = weights
        self.time = time
        self.subgroups = _names(subgroups)
        self.text = _names(text)
        self.categorical = _names(categorical)
        self.drop = _names(drop)
        self.include = _names(include)
        self.missing = missing
        declared = {n: [str(canonical(c)) for c in some] for n, some in (choices or {}).items()}
        self.missing_words = MissingWords(
            None if missing_values is None else _names(missing_values),
            choices=declared,
            refused=[name for name in declared if name not in {*unlisted}],
            below_detection=rule,
        )
        self.require_target = require_target


def _names(value):
    if value is None:
        return []
    if isinstance(value, str):
        value = value.split(",")
    return [name.strip() if isinstance(name, str) else name for name in value if name != ""]
