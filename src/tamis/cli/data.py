"""Turn the options of `tamis fit` into a table and the options of a comparison."""

import csv
import difflib
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tamis import __version__
from tamis.cli.printing import STANDARD_INPUT
from tamis.comparison.fitted.promises import check_promises
from tamis.comparison.options import Options
from tamis.comparison.running.checkpoints import refuse_other_versions
from tamis.comparison.settings import find_methods
from tamis.comparison.stream_decision import Decision, decide, require_disk
from tamis.comparison.streaming.streamed import Streamed, open_stream
from tamis.tables.columns.table import Columns, Table
from tamis.tables.errors import InputError
from tamis.tables.formats.source import WORD, Budget, check_path

EMBEDDED = "breast cancer (embedded)"
_FIELDS = (
    "feature",
    "question",
    "unit",
    "type",
    "choices",
    "unlisted",
    "min",
    "max",
    "cost",
    "group",
    "assay_error",
)
_TYPES = ("number", "integer", "choice", "yes/no")
# Options that say how data are read, also when they are read again.
READING = (
    "format",
    "delimiter",
    "encoding",
    "layer",
    "sheet",
    "transpose",
    "target_file",
    "id_column",
    "groups",
    "batch",
    "weights",
    "time",
    "subgroups",
    "text",
    "categorical",
    "drop",
    "include",
    "missing",
    "missing_values",
    "below_detection",
)


@dataclass
class Loaded:
    """Data of `tamis fit` and the options for comparing methods on them."""

    name: str  # name of the data
    table: Table
    options: Options  # options of the comparison
    descriptions: dict  # descriptions from the features file
    decision: Decision | None = None  # whether the table is streamed; None for embedded data
    streamed: Streamed | None = None  # the table that `table` is a sample of


def load(words, folder=None, *, force=False, tell=lambda message: None):
    """Read the data that the options of `tamis fit` name.

    `tell`: called with messages for the user.
    """
    _check_words(words)
    descriptions = {}
    if words["features_file"]:
        descriptions = read_features_file(words["features_file"], words["max_size"])
    decision = streamed = None
    if words["data"] is None:
        table, name = _embedded(words), EMBEDDED
    else:
        name = str(words["data"])
        table, decision, streamed = _read(words, descriptions, folder, force, tell)
    groups, costs = _check_descriptions(descriptions, table)
    measured = {n: d["assay_error"] for n, d in descriptions.items() if "assay_error" in d}
    options = Options.from_words(words, costs=costs, feature_groups=groups, assay_errors=measured)
    return Loaded(name, table, options, descriptions, decision, streamed)


def find_words(folder, data=None):
    """The options of the `tamis fit` that made a folder, with the path of its data.

    `data`: where the data are now; None: where they were. Returns `words`: InputError is raised if
    the data are not there, or the run is of another version of tamis.
    """
    words = folder.read_json("run.json")
    if not isinstance(words, dict):
        raise InputError(f"{folder.path / 'run.json'} is damaged; repeat tamis fit.")
    version = words.get("tamis_version", "another version of tamis")
    if version != __version__:
        raise InputError(
            f"{folder.path} was made by {version}, and this is {__version__}, which can use its "
            "model, but not repeat its comparison; repeat tamis fit first."
        )
    refuse_other_versions(folder.checkpoints)
    if data is not None:
        words["data"] = data
    elif words["data"] == STANDARD_INPUT:
        raise InputError("the data of this run came from standard input; give a file with --data.")
    if words["data"] is not None and not Path(words["data"]).exists():
        told = f"the data of this run are not at {words['data']}"
        if not Path(words["data"]).is_absolute():
            told += ", a path relative to the folder where tamis fit ran"
        raise InputError(f"{told}; give their path with --data.")
    return words


def _check_words(words):
    """Raise InputError for invalid options before anything is read."""
    options = Options.from_words(words)
    find_methods(options)
    check_promises(options)
    if words["n_jobs"] == 0 or words["n_jobs"] < -1:
        raise InputError(f"--n-jobs {words['n_jobs']}: expected 1 or more, or -1 for all cores.")
    if words["min_sensitivity"] is not None and words["positive"] is None:
        raise InputError(
            "--min-sensitivity: name the class whose sensitivity is meant with --positive CLASS."
        )
    usual = {"vectorizer": "counts", "ngrams": (1, 1)}
    given = {"vectorizer": words["vectorizer"], "ngrams": tuple(words["ngrams"])}
    for name, value in given.items():
        if value != usual[name] and not words["text"]:
            raise InputError(f"--{name} needs --text COL, the column whose words are used.")
    for name in ("groups", "batch", "time"):
        if words.get(name) is not None and words[name] == words["target"]:
            raise InputError(f"--{name} {words[name]} is the target itself; name another column.")


def _near(name, known):
    """Suggest similar names, for a message."""
    near = difflib.get_close_matches(str(name), [str(k) for k in known], n=3, cutoff=0.5)
    return f"; did you mean {' or '.join(near)}" if near else ""


def _read(words, descriptions, folder, force, tell):
    """The table or a sample of it, the decision to stream it, and how it is streamed."""
    from tamis.tables.reading.readers import read_for_command

    options = {name: words.get(name) for name in READING}  # older runs have no sheet
    choices = {n: d["choices"] for n, d in descriptions.items() if "choices" in d}
    named = [n for n, d in descriptions.items() if d.get("type") in ("choice", "yes/no")]
    options["categorical"] = tuple(dict.fromkeys([*options["categorical"], *named, *choices]))
    missing = [n for n, d in descriptions.items() if d.get("unlisted") == "missing"]
    options |= {"choices": choices, "unlisted": missing}
    options |= {"target": words["target"], "max_size": words["max_size"]}
    mode = words.get("stream", "off")  # older runs have no stream
    if str(words["data"]) == STANDARD_INPUT:
        if mode == "on":
            raise InputError("--stream on: standard input is read only once; save it to a file.")
        mode = "off"
    recorded = None
    if folder is not None and not force:
        try:
            recorded = folder.recorded
        except InputError as error:
            tell(f"{error.for_command}; whether to stream is decided again")
    decision = decide(words["data"], options, mode, words["max_size"], recorded)
    if decision.sentence is not None:
        tell(decision.sentence)
    if not decision.streams:
        return read_for_command(words["data"], **options), decision, None
    place = None
    if folder is not None:
        if recorded is None and (said := require_disk(decision, folder.path)):
            tell(said)
        folder.record(decision)
        place = folder.checkpoints / "stream"
    table, streamed = open_stream(
        words["data"],
        options,
        Options.from_words(words),
        decision,
        folder=place,
        force=force,
        tell=tell,
    )
    return table, decision, streamed


def _embedded(words):
    """Breast cancer, from scikit-learn."""
    from sklearn.datasets import load_breast_cancer

    given = [
        w for w in ("target", *READING) if words.get(w) and words[w] not in ("impute", "half")
    ]
    given += ["stream"] if words.get("stream") == "on" else []
    if given:
        option = "id" if given[0] == "id_column" else given[0].replace("_", "-")
        raise InputError(f"--{option} needs DATA: tamis fit DATA --target COL ...")
    bunch = load_breast_cancer()
    names = np.array([str(name) for name in bunch.feature_names])
    labels = bunch.target_names.astype(str)[bunch.target]
    return Table(Columns(bunch.data, names), {}, labels, "diagnosis")


def read_features_file(path, max_size=None):
    """Read a features file: one dict per feature, with the fields that are given.

    `path`: CSV with the column "feature", and any of question, unit, type (number, integer,
    choice, yes/no), choices (separated by |), unlisted (what a value that is not among the choices
    is: error or missing), min, max, cost, group, assay_error. `max_size`: bytes of memory that it
    may use; None: half of what is available.
    """
    try:
        size = check_path(path).stat().st_size
    except InputError as error:
        raise InputError(f"cannot read the features file: {error.for_command}") from error
    Budget(f"the features file {path}", max_size).spend(WORD * size, is_all=True)
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            sample = file.read(4096)
            file.seek(0)
            first = sample.splitlines()[0] if sample.strip() else ""
            delimiter = max(",;\t", key=first.count)
            rows = list(csv.DictReader(file, delimiter=delimiter))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"cannot read the features file {path}: {error}") from error
    fields = list(rows[0]) if rows else [name.strip() for name in first.split(delimiter) if name]
    unknown = [name for name in fields if name is None or name.strip() not in _FIELDS]
    if "feature" not in [name.strip() for name in fields if name] or unknown:
        what = f"has the column {unknown[0]!r}" if unknown else "has no column 'feature'"
        raise InputError(
            f"the features file {path} {what}; known columns are "
            f"{', '.join(_FIELDS)} (only feature is needed)."
        )
    described = {}
    for line, row in enumerate(rows, 2):
        if None in row.values() or None in row:
            raise InputError(f"{path}, line {line}: the number of fields differs from the header.")
        given = {k.strip(): v.strip() for k, v in row.items() if v.strip()}
        name = given.pop("feature", None)
        if name is None or name in described:
            what = "no feature is named" if name is None else f"feature {name!r} appears twice"
            raise InputError(f"{path}, line {line}: {what}.")
        described[name] = _check_description(given, f"{path}, line {line}")
    return described


def _check_description(given, where):
    for field in ("cost", "min", "max", "assay_error"):
        if field in given:
            try:
                given[field] = float(given[field])
            except ValueError:
                given[field] = math.nan
            is_free = field in ("min", "max")
            if not math.isfinite(given[field]) or (given[field] < 0 and not is_free):
                least = "" if is_free else " of at least 0"
                raise InputError(f"{where}: {field} must be a number{least}.")
    if given.get("min", -math.inf) > given.get("max", math.inf):
        raise InputError(f"{where}: min {given['min']:g} is above max {given['max']:g}.")
    if "type" in given and given["type"] not in _TYPES:
        raise InputError(
            f"{where}: type must be one of {', '.join(_TYPES)}, got {given['type']!r}."
        )
    if "choices" in given:
        given["choices"] = [choice.strip() for choice in given["choices"].split("|")]
        if given.get("type") in ("number", "integer"):
            raise InputError(f"{where}: choices are for the types choice and yes/no.")
    if given.get("unlisted", "error") not in ("error", "missing"):
        raise InputError(f"{where}: unlisted must be error or missing, got {given['unlisted']!r}.")
    if "unlisted" in given and "choices" not in given:
        raise InputError(f"{where}: unlisted needs choices, from which a value may be absent.")
    return given


def _check_descriptions(descriptions, table):
    """Groups by source column, and costs by counted feature."""
    known = set(table.columns.names)
    groups, costs = {}, {}
    for name, given in descriptions.items():
        if name not in known:
            raise InputError(
                f"the features file describes {name!r}, which is not among the features"
                f"{_near(name, known)}."
            )
        counted = given.get("group", name)
        if "group" in given:
            groups[name] = counted
        if "cost" in given:
            if costs.get(counted, given["cost"]) != given["cost"]:
                raise InputError(
                    f"the features file gives the group {counted!r} two costs; "
                    "one cost pays for all of it."
                )
            costs[counted] = given["cost"]
    for name, group in groups.items():
        if group in known and groups.get(group) != group:
            raise InputError(
                f"the features file puts {name!r} in the group {group!r}, which is the name of "
                "another feature; rename the group, or add that feature to it."
            )
    return groups, costs
