"""What was measured, run by run: kept in a JSON file and resumed from it."""

import json
import os
import platform

import numpy as np
import scipy
import sklearn

import tamis


class Results:
    """``records[data set][method][split] = [balanced error, seconds, training rows]``."""

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

    def has(self, name, method, split):
        return str(split) in self.records.get(name, {}).get(method, {})

    def seconds(self, name, method, split):
        return self.records[name][method][str(split)][1]

    def add(self, name, method, split, error, seconds, n_rows):
        splits = self.records.setdefault(name, {}).setdefault(method, {})
        splits[str(split)] = [round(float(error), 6), round(seconds, 3), n_rows]
        self.save()

    def save(self):
        """Write the file in one move: an interruption leaves the old one."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"settings": self.settings, "records": self.records})
        draft = self.path.with_suffix(".tmp")
        draft.write_text(text.replace('}, "', '},\n"') + "\n")
        os.replace(draft, self.path)

    def mean(self, name, method, common=()):
        """Mean balanced error in percent, over the splits that `common` methods have too."""
        splits = self.records.get(name, {}).get(method, {})
        for other in common:
            theirs = self.records.get(name, {}).get(other, {})
            splits = {s: r for s, r in splits.items() if s in theirs}
        return 100 * float(np.mean([r[0] for r in splits.values()])) if splits else None

    def spread(self, name, method):
        """Standard deviation over splits, in percent."""
        values = [100 * r[0] for r in self.records.get(name, {}).get(method, {}).values()]
        return float(np.std(values, ddof=1)) if len(values) > 1 else None

    def error(self, name, method):
        """Standard error of the mean over splits, in percent."""
        spread = self.spread(name, method)
        return None if spread is None else spread / np.sqrt(self.n_splits(name, method))

    def n_rows(self, name, method):
        """The fewest training rows of a split."""
        return min(r[2] for r in self.records[name][method].values())

    def n_splits(self, name, method):
        return len(self.records.get(name, {}).get(method, {}))
