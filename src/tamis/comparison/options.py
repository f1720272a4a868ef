"""The options of a comparison, each declared once.

A field of `Options` is an option: its name, type and default, what its value must be (`must`), its
help, and where it applies. From these declarations are made: the options of `tamis fit`
(`tamis.cli.fit_options`), the checks of `compare`, run.json, the manifest of checkpoints, and the
list in docs/command_line.md. `compare` restates names and defaults in its documented signature; a
test compares them. A new option is one field here, its use and its test.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import Field, asdict, dataclass, field, fields
from math import inf
from numbers import Integral, Real
from typing import Any

from tamis.tables.errors import InputError

__all__ = ["METHOD_NAMES", "Number", "Options", "declared", "switch"]

#: For help texts, which are shown before the methods are imported.
METHOD_NAMES = "centers, medians, primal-dual, panel, panel-kernel, landmarks, datum-wise"
_BASELINE_NAMES = "most-frequent, l1-logistic, relaxed-l1, rfe, random-forest"


@dataclass(frozen=True)
class Number:
    """A number between two limits, which are allowed unless they are said to be open."""

    low: float
    high: float = inf
    is_whole: bool = False
    open_low: bool = False
    open_high: bool = False

    def holds(self, value: Any) -> bool:
        """Whether a value is such a number."""
        kind = Integral if self.is_whole else Real
        if not isinstance(value, kind) or isinstance(value, bool):
            return False
        size = float(value)
        above = size > self.low if self.open_low else size >= self.low
        below = size < self.high if self.open_high else size <= self.high
        return above and below and abs(size) < inf

    def __str__(self) -> str:
        noun = "an integer" if self.is_whole else "a number"
        if self.open_low and self.open_high and self.high < inf:
            return f"{noun} between {self.low:g} and {self.high:g}"
        told = f"{noun} {'above' if self.open_low else 'of at least'} {self.low:g}"
        if self.high < inf:
            told += f" and {'below' if self.open_high else 'at most'} {self.high:g}"
        return told


def _count(low):
    return Number(low, is_whole=True)


# Proportions that may be 1, and those that may not.
_PART, _FRACTION = Number(0, 1, open_low=True), Number(0, 1, open_low=True, open_high=True)


def _option(default, help=None, *, group=None, must=None, metavar=None, read=None, parameter=None,
            is_later=False):  # fmt: skip
    """Declare an option.

    `group`: part of the command's help that it stands in; None: not an option of the command.
    `must`: a `Number`, or the words that are allowed. `read`: how the command reads its text
    ("names", "costs", "ngrams"). `parameter`: its name in `compare`, if that is another one.
    `is_later`: outcomes of tasks do not depend on it, so that checkpoints stay valid.
    """
    about = {
        "help": help,
        "group": group,
        "must": must,
        "metavar": metavar,
        "read": read,
        "parameter": parameter,
        "is_later": is_later,
    }
    if callable(default):
        return field(default_factory=default, metadata=about)
    return field(default=default, metadata=about)


@dataclass(frozen=True)
class Options:
    """Options of a comparison; see `tamis.compare`."""

    methods: str | Sequence[str] = _option(
        "auto",
        f"auto (all that finish in about ten minutes), all, or names from {METHOD_NAMES} (panel "
        f"means both panels); baselines: {_BASELINE_NAMES} (default: auto)",
        group="comparing",
    )
    baselines: bool = _option(
        True,
        "only compare with the sparse baselines (l1-logistic, relaxed-l1, rfe); by default they "
        "may be recommended, too",
        group="comparing",
    )
    readable: bool = _option(
        False,
        "recommend only models that can be explained, asked, turned into a points card and "
        "exported to SQL; other methods are not run (tamis methods says which)",
        group="comparing",
        is_later=True,
    )
    folds: int | None = _option(
        None,
        "number of cross-validation folds (default: 5; 2 above 100,000 rows with at least 10,000 "
        "of each class)",
        group="comparing",
        must=_count(2),
        metavar="N",
        parameter="cv",
    )
    repeats: int | None = _option(
        None,
        "how often to repeat cross-validation with new folds (default: 3 below 200 rows, 2 below "
        "500, else 1)",
        group="comparing",
        must=_count(1),
        metavar="N",
    )
    duplicates: str = _option(
        "group",
        "how to handle duplicate rows: keep them in one fold and count them as one sample, treat "
        "them as separate samples, or drop all but one (default: group)",
        group="comparing",
        must=("group", "keep", "drop"),
    )
    scoring: str = _option(
        "balanced_accuracy",
        "score to compare models by (default: balanced_accuracy)",
        group="comparing",
        must=("balanced_accuracy", "accuracy", "f1_macro", "mcc", "roc_auc"),
    )
    positive: str | None = _option(
        None,
        "class that --min-sensitivity, --max-miss and sensitivity by subgroup refer to",
        group="comparing",
        metavar="CLASS",
    )
    min_sensitivity: float | None = _option(
        None,
        "smallest sensitivity for class --positive, such as 0.95; the model gets the highest "
        "threshold (at most 0.5) that reaches it",
        group="comparing",
        must=_PART,
        metavar="S",
    )
    calibration_share: float | None = _option(
        None,
        "proportion of the rows to set aside before anything else, such as 0.3, as a conformal "
        "calibration set: for prediction sets and for the guarantees of the next three options",
        group="comparing",
        must=_FRACTION,
        metavar="A",
    )
    confidence: float | None = _option(
        None,
        "confidence of the guarantees from the calibration set: of --min-sensitivity (default: no "
        "guarantee, the threshold is set in the folds), or of --max-error and --max-miss "
        "(default: 0.95)",
        group="comparing",
        must=_FRACTION,
        metavar="C",
    )
    max_error: float | None = _option(
        None,
        "maximum error rate: recommend the datum-wise model with the fewest questions for which "
        "the calibration set guarantees an error rate of at most E",
        group="comparing",
        must=_FRACTION,
        metavar="E",
    )
    max_miss: float | None = _option(
        None,
        "maximum false-negative rate of class --positive, guaranteed in the same way",
        group="comparing",
        must=_FRACTION,
        metavar="M",
    )
    minimize: str = _option(
        "overall",
        "which number of features should be small: the features of the model, or the mean number "
        "per sample (default: overall)",
        group="comparing",
        must=("overall", "per-sample"),
    )
    tolerance: float = _option(
        0.01,
        "difference in score that is not worth an extra feature (default: 0.01); scores are "
        "averaged over similar sizes of a method first",
        group="comparing",
        must=Number(0, 1, open_high=True),
        metavar="T",
    )
    max_features: int | None = _option(
        None,
        "largest number of features of a model",
        group="comparing",
        must=_count(1),
        metavar="K",
    )
    keep: Sequence[str] = _option(
        (),
        "columns that are always available; they are not counted as features, and their own score "
        "is shown",
        group="comparing",
        read="names",
        metavar="COLS",
    )
    redundancy: float | None = _option(
        None,
        "skip features whose correlation with a better one is above R",
        group="comparing",
        must=_PART,
        metavar="R",
    )
    permutations: int = _option(
        0,
        "repeat everything N times with shuffled labels, for a p-value (default: 0)",
        group="comparing",
        must=_count(0),
        metavar="N",
    )
    proof_seconds: float | None = _option(
        None,
        "seconds to prove that no panel of as many features fits better than a recommended panel, "
        "or how much better one could: of an ordinary machine, since counted work ends the "
        "search, the same on every machine (default: less than 1)",
        group="comparing",
        must=Number(0, open_low=True),
        metavar="S",
        is_later=True,
    )
    misclassification: Mapping[Any, float] = _option(
        dict,
        'costs of errors, such as "ill:well=10" (calling an ill row well costs 10; all other '
        "errors cost 1); the model decides by the smallest expected cost",
        group="clinical",
        read="costs",
        metavar="COSTS",
        is_later=True,
    )
    learning_curve: bool = _option(
        False,
        "also train on fewer rows, and estimate what twice the rows would add to the score",
        group="clinical",
        is_later=True,
    )
    assay_error: float | None = _option(
        None,
        "measurement error as a proportion of the value (coefficient of variation), such as 0.1; "
        "adds the score that is lost when the features are measured again",
        group="clinical",
        must=Number(0, 2),
        metavar="E",
        is_later=True,
    )
    vectorizer: str = _option(
        "counts",
        "how the words of --text are counted (default: counts)",
        group="reading",
        must=("counts", "tfidf", "hashing"),
    )
    ngrams: tuple[int, int] = _option(
        (1, 1),
        "longest word sequence in --text, or a range such as 2-3 (default: 1)",
        group="reading",
        read="ngrams",
        metavar="N",
    )
    seed: int = _option(
        0,
        "seed of the random numbers (default: 0)",
        group="running",
        must=_count(0),
        metavar="N",
        parameter="random_state",
    )
    device: str | None = _option(
        None,
        "train on this device of torch, such as cuda, with the methods that can use it "
        "(primal-dual on dense data, landmarks); all others run on the processor",
        group="running",
        metavar="NAME",
        is_later=True,
    )
    # From the features file, or parameters of `compare`: costs and groups of features (the group
    # of each column), and measurement errors of single ones.
    costs: Mapping[str, float] = _option(dict)
    feature_groups: Mapping[str, str] = _option(dict)
    assay_errors: Mapping[str, float] = _option(dict, is_later=True)

    def __post_init__(self):
        for one in fields(self):
            value, must = getattr(self, one.name), one.metadata["must"]
            if must is None or (value is None and one.default is None):
                continue
            name = one.metadata["parameter"] or one.name
            if isinstance(must, Number):
                if not must.holds(value):
                    raise InputError(f"{name} must be {must}, got {value!r}.")
            elif value not in must:
                raise InputError(f"{name} must be one of {', '.join(must)}; got {value!r}.")
        limits = next(one for one in fields(self) if one.name == "assay_error").metadata["must"]
        for name, value in self.assay_errors.items():
            if not limits.holds(value):
                raise InputError(
                    f"{name}: a measurement error is a proportion of the value, {limits}, such as "
                    f"0.1; got {value!r}."
                )
        if self.misclassification and self.min_sensitivity is not None:
            raise InputError(
                "--misclassification and --min-sensitivity both set how to decide; give only one."
            )

    @classmethod
    def from_words(cls, words: Mapping[str, Any], **more: Any) -> Options:
        """The options of the command, by name, or of a run.json; those of older runs are usual."""
        given = {
            one.name: words[one.name] for one in fields(cls) if words.get(one.name) is not None
        }
        for name in ("keep", "ngrams"):  # JSON has lists
            if name in given:
                given[name] = tuple(given[name])
        if "misclassification" in given:
            given["misclassification"] = dict(given["misclassification"])
        return cls(**given | more)

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any], **more: Any) -> Options:
        """The options that parameters of `compare` give."""
        names = {one.name: one.metadata["parameter"] or one.name for one in fields(cls)}
        given = {name: parameters[at] for name, at in names.items() if name not in more}
        return cls(**given, **more)

    @property
    def words(self) -> dict[str, Any]:
        """The options that outcomes of tasks depend on, by name."""
        later = {one.name for one in fields(self) if one.metadata["is_later"]}
        return {name: value for name, value in asdict(self).items() if name not in later}


def switch(one: Field) -> str:
    """The option of the command that a field declares; one that is on by default is turned off."""
    name = one.name.replace("_", "-")
    return f"--no-{name}" if one.default is True else f"--{name}"


def declared(group: str) -> Iterator[Field]:
    """The options of one part of the command's help."""
    return (one for one in fields(Options) if one.metadata["group"] == group)
