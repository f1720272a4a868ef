"""What was measured, split by split: kept in a JSON file, resumed from it, summarised."""

import json
import os
import platform
import re

import numpy as np
import scipy
import sklearn

import tamis

FORMAT = 1


def make_settings(seed, test_share, svm_max_iter):
    """What must be the same for new splits to join old ones."""
    return {
        "format": FORMAT,
        "seed": seed,
        "split_seeds": "split i uses seed + i",
        "test_share": test_share,
        "svm_max_iter": svm_max_iter,
        "versions": {
            "tamis": tamis.__version__,
            "scikit-learn": sklearn.__version__,
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "python": platform.python_version(),
        },
    }


class Results:
    """Records of methods: ``records[data set][rescaling][method][split]``."""

    def __init__(self, path, settings):
        self.path = path
        self.settings = settings
        self.environment = {}
        self.shapes = {}
        self.records = {}
        self.resumed = self._resume()

    def _resume(self):
        """Take over the file's records; False when it holds those of other settings."""
        if not self.path.is_file():
            return True
        document = json.loads(self.path.read_text())
        if document["settings"] != self.settings:
            return False
        self.environment = document["environment"]
        self.shapes, self.records = document["shapes"], document["splits"]
        return True

    def note_environment(self, **numbers):
        """Note what times depend on; after a resumption, the largest numbers of all runs."""
        for name, number in numbers.items():
            self.environment[name] = max(number, self.environment.get(name, number))

    def describe(self, name, problem):
        """Note the size of a data set; records of other sizes or k are thrown away."""
        shape = {
            "samples": problem.X.shape[0],
            "features": problem.X.shape[1],
            "ks": list(problem.ks),
        }
        if self.shapes.get(name) != shape:
            self.shapes[name] = shape
            self.records[name] = {}

    def of(self, name, rescaling, method):
        """Records of one method, by split."""
        return self.records[name].setdefault(rescaling, {}).setdefault(method, {})

    def add(self, name, rescaling, split, records):
        for method, record in records.items():
            self.of(name, rescaling, method)[str(split)] = _rounded(record)

    def summary(self):
        """Means and standard deviations over splits, nested like the records."""
        return {
            name: {
                rescaling: {m: summarise(splits) for m, splits in methods.items() if splits}
                for rescaling, methods in conditions.items()
            }
            for name, conditions in self.records.items()
        }

    def save(self, claims=()):
        """Write the file in one move: an interruption leaves the old one."""
        document = {
            "settings": self.settings,
            "environment": self.environment,
            "claims": list(claims),
            "shapes": self.shapes,
            "summary": self.summary(),
            "splits": self.records,
        }
        text = json.dumps(document, separators=(",", ":"))
        # Lists of numbers on one line each.
        text = re.sub(r"\[[^\[\]{}]*\]", lambda found: " ".join(found.group().split()), text)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        draft = self.path.with_suffix(".tmp")
        draft.write_text(text + "\n")
        os.replace(draft, self.path)


def summarise(splits):
    """Mean and standard deviation over the splits of one method."""
    records = [splits[s] for s in sorted(splits, key=int)]
    scores = [[r["scores"][j] for r in records] for j in range(len(records[0]["scores"]))]
    selected = [[r["selected"][j] for r in records] for j in range(len(records[0]["selected"]))]
    seconds = [r["seconds"] for r in records]
    return {
        "n_splits": len(records),
        "mean": [_mean(values) for values in scores],
        "std": [_std(values) for values in scores],
        "selected": [_mean(values) for values in selected],
        "seconds": _mean(seconds),
        "seconds_std": _std(seconds),
        "svm_unconverged": sum(r["svm_unconverged"] for r in records),
        "svm_fits": sum(s is not None for values in scores for s in values),
    }


def _mean(values):
    known = [v for v in values if v is not None]
    return round(float(np.mean(known)), 6) if known else None


def _std(values):
    known = [v for v in values if v is not None]
    return round(float(np.std(known, ddof=1)), 6) if len(known) > 1 else None


def _rounded(record):
    return {
        **record,
        "scores": [None if s is None else round(s, 6) for s in record["scores"]],
        "seconds": round(record["seconds"], 6),
        "seconds_in_all": round(record["seconds_in_all"], 4),
    }
