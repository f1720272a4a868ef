"""Model files that were damaged, or made to do harm; `python -m tests.models.fuzzing` tries many.

A file is refused with an `InputError`, or gives a model that can be used: it predicts, or raises
a `ValueError`, and does not crash, hang, or take much memory.
"""

import argparse
import copy
import json
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

from tamis.models import save_model
from tamis.models.saving import digest, read_model
from tamis.tables import InputError
from tests.models.families import MODELS, data, fitted

NUMBERS = (0, 1, -1, 2, 3, 7, 63, 64, 65, 100, 2**15, 2**31 - 1, 2**31, 2**32, 10**9, -(10**9))
NUMBERS += (2**62, 2**63, 2**64, -(2**63), 10**30, 0.0, -0.0, 0.5, 1e-320, 1e-9, 1e9, 1e150, 1e308)
NUMBERS += (-1e308, "nan", "inf", "-inf")
PACKED = {"$array": "float64", "shape": [1], "base64": "AAAAAAAA8D8="}
OTHERS = (None, True, False, "", "nan", "x", [], {}, [[]], {"$float": "nan"}, {"$float": "inf"})
OTHERS += ({"$tuple": []}, {"$pairs": []}, {"$array": [1], "type": "int64"}, PACKED, "l1")
OTHERS += ({**PACKED, "shape": [10**12]}, {**PACKED, "$array": "int64"}, {"$splitter": "KFold"})
OTHERS += ("stop", "go", "local", "threshold", "knn", "nb", "euclidean", "linear", "cauchy")


def nodes(document):
    """Every place of a document: what it is in, and its key there."""
    stack, found = [document], []
    while stack:
        value = stack.pop()
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            found.append((value, key))
            if isinstance(item, dict | list):
                stack.append(item)
    return found


def pick(rng, options):
    return options[int(rng.integers(len(options)))]


def change_document(rng, document):
    """One edit of a parsed file."""
    places = nodes({"record": document["record"]} if rng.random() < 0.95 else document)
    holder, key = pick(rng, places)
    value = holder[key]
    how = rng.integers(7)
    if how == 0 and isinstance(value, list):
        how_much = rng.integers(3)
        if how_much == 0:
            holder[key] = value[: int(rng.integers(len(value) + 1))]
        elif how_much == 1:
            holder[key] = value + value
        else:
            holder[key] = value[::-1]
    elif how == 1 and isinstance(holder, dict):
        if rng.random() < 0.5:
            del holder[key]
        else:
            names = ("extra_", "__class__", "_map", "n_features_in", "$array", "predict")
            holder[pick(rng, names)] = value
    elif how == 2:
        other, place = pick(rng, places)
        holder[key] = copy.deepcopy(other[place])
    elif how == 3:
        holder[key] = copy.deepcopy(pick(rng, OTHERS))
    else:
        numbers = [(v, k) for v, k in places if type(v[k]) in (int, float)]
        if how == 4:  # large arrays have most of the numbers
            numbers = [(v, k) for v, k in numbers if isinstance(v, dict)] or numbers
        holder, key = pick(rng, numbers) if numbers else (holder, key)
        holder[key] = pick(rng, NUMBERS)


def change_bytes(rng, raw):
    """Bytes of a file, changed without looking at what they mean."""
    raw = bytearray(raw)
    how = rng.integers(4)
    at = int(rng.integers(len(raw)))
    if how == 0:
        return bytes(raw[:at])
    if how == 1:
        for _ in range(int(rng.integers(1, 4))):
            raw[int(rng.integers(len(raw)))] = int(rng.integers(256))
    elif how == 2:
        raw[at : at + int(rng.integers(1, 40))] = b""
    else:
        raw[at:at] = raw[at : at + int(rng.integers(1, 40))]
    return bytes(raw)


def mutated(rng, raw):
    """A file like `raw` with something wrong in it."""
    if rng.random() < 0.2:
        return change_bytes(rng, raw)
    document = json.loads(raw)
    for _ in range(int(rng.integers(1, 3))):
        if "record" in document:
            change_document(rng, document)
    if "digest" in document:  # made on purpose: otherwise the digest would refuse them all
        document["digest"] = digest(document)
    return json.dumps(document).encode()


def use(model):
    """Everything that can be asked of a model, on a few rows."""
    X, _ = data()
    rows = X.iloc[:7]
    for name in ("predict", "predict_proba", "decision_function", "transform", "explain"):
        if hasattr(model, name):
            getattr(model, name)(rows)
    if hasattr(model, "with_n_features"):
        model.with_n_features(1).predict_proba(rows)
    if hasattr(model, "path_predict"):
        model.path_predict(rows, [1, 3])
    if hasattr(model, "start"):
        holes = rows.copy()
        holes.iloc[::2, 1] = np.nan
        model.predict(holes)
        model.acquire(holes, known=~np.isnan(holes.to_numpy()))
        talk = model.start()
        while talk.next_feature() is not None:
            talk.skip()
        talk.prediction()


def try_file(path, use=use):
    """What became of a file: "refused", "usable" or "error", and how many warnings it gave."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            model = read_model(path)
        except InputError as error:
            assert "\n" not in str(error)
            assert len(str(error)) < 1000
            return "refused", len(said)
        try:
            use(model)
        except ValueError:
            return "error", len(said)
    return "usable", len(said)


def raw_files(names=tuple(MODELS)):
    """The files of models, by name."""
    return {name: raw_file(fitted(name)) for name in names}


def raw_file(model):
    """The file of a model."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / "model.json"
        save_model(model, path)
        return path.read_bytes()


def campaign(files, n_files, seed, show=None, use=use):
    """Try many files; how many of each outcome, by model, and what should not have happened."""
    rng = np.random.default_rng(seed)
    outcomes, failures = {name: Counter() for name in files}, {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        for at in range(n_files):
            name = list(files)[at % len(files)]
            raw = mutated(rng, files[name])
            path.write_bytes(raw)
            if show is not None:
                show.write_bytes(raw)  # the last one is what a crash leaves
            begin = time.perf_counter()
            try:
                outcome, n_warnings = try_file(path, use)
            except Exception as error:
                place = traceback.extract_tb(error.__traceback__)[-1]
                reason = f"{type(error).__name__} in {place.name}: {str(error)[:100]}"
                failures.setdefault(reason, f"{name} at {at}")
                continue
            assert time.perf_counter() - begin < 30, f"{name}: {at} takes too long"
            assert n_warnings < 200, f"{name}: {at} gives {n_warnings} warnings"
            outcomes[name][outcome] += 1
    return outcomes, failures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--n-files", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--memory", type=float, default=8.0, help="GiB of address space")
    parser.add_argument("--last", type=Path, default=None, help="where the last file is kept")
    options = parser.parse_args()
    import resource

    files = raw_files()
    limit = int(options.memory * 2**30)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    outcomes, failures = campaign(files, options.n_files, options.seed, options.last)
    for name, counts in outcomes.items():
        print(f"{name:24}", dict(counts))
    for reason, where in failures.items():
        print("FAILURE", where, reason)
    print(f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB at most")


if __name__ == "__main__":
    main()
