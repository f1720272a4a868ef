"""What was measured, run by run: kept in a JSON file and resumed from it."""

import json
import os
import platform

import numpy as np
import scipy
import sklearn

import tamis


class Results:
    """Curves and seconds of every run.

    ``records[data set][fraction][method][split]`` is ``{"points": [[features, accuracy], ...],
    "seconds": s}``: the mean number of features used on a test sample, and the share of test
    samples classified rightly.
    """

    def __init__(self, path, settings):
        self.path = path
        self.settings = {
            **settings,
            "versions": {
                "tamis": tamis.__version__,
                "scikit-learn": sklearn.__version__,
                "numpy": np.__version__,
                "scipy": scipy.__version__,
                "python": platform.python_version(),
            },
        }
        self.records = {}
        if path.is_file():
            document = json.loads(path.read_text())
            if document["settings"] == self.settings:
                self.records = document["records"]

    def runs(self, name, fraction, method):
        """From split numbers to runs."""
        kept = self.records.get(name, {}).get(str(fraction), {}).get(method, {})
        return {int(split): run for split, run in kept.items()}

    def has(self, name, fraction, method, split):
        return split in self.runs(name, fraction, method)

    def add(self, name, fraction, method, split, points, seconds):
        fractions = self.records.setdefault(name, {})
        runs = fractions.setdefault(str(fraction), {}).setdefault(method, {})
        points = [[round(float(n), 4), round(float(a), 5)] for n, a in points]
        runs[str(split)] = {"points": points, "seconds": round(seconds, 3)}
        self.save()

    def save(self):
        """Write the file in one move: an interruption leaves the old one."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"settings": self.settings, "records": self.records})
        draft = self.path.with_suffix(".tmp")
        draft.write_text(text.replace('}, "', '},\n"') + "\n")
        os.replace(draft, self.path)
