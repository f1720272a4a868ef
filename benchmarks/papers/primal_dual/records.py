"""What was measured, in a JSON file that a later run goes on from."""

import json
import os
import platform

import numpy as np
import scipy
import sklearn

import tamis

FORMAT = 1


def make_settings(seed):
    """What must be the same for new records to join old ones."""
    return {
        "format": FORMAT,
        "seed": seed,
        "versions": {
            "tamis": tamis.__version__,
            "scikit-learn": sklearn.__version__,
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "python": platform.python_version(),
        },
    }


class Results:
    """Records by key: ``accuracy/data/setting/method/repeat/fold``, ``time/...``, ``stop/...``."""

    def __init__(self, path, settings):
        self.path = path
        self.settings = settings
        self.environment = {"cpu_count": os.cpu_count()}
        self.records = {}
        self.resumed = True
        if path.is_file():
            document = json.loads(path.read_text())
            self.resumed = document["settings"] == settings
            if self.resumed:
                self.records = document["records"]

    def add(self, key, record):
        self.records[key] = record
        self.save()

    def save(self):
        """Write the file in one move: an interruption leaves the old one."""
        document = {
            "settings": self.settings,
            "environment": self.environment,
            "records": self.records,
        }
        lines = json.dumps(document, separators=(",", ":")).replace('},"', '},\n"')
        self.path.parent.mkdir(parents=True, exist_ok=True)
        draft = self.path.with_suffix(".tmp")
        draft.write_text(lines + "\n")
        os.replace(draft, self.path)

    def folds(self, name, setting, method):
        """Records of one row of the accuracy table, by ``repeat/fold``."""
        prefix = f"accuracy/{name}/{setting}/{method}/"
        found = {k: r for k, r in self.records.items() if k.startswith(prefix)}
        return {key.removeprefix(prefix): record for key, record in found.items()}

    def accuracy(self, name, setting, method):
        """Figures over the folds of one row of the accuracy table; None without records."""
        folds = list(self.folds(name, setting, method).values())
        if not folds:
            return None
        values = [record["accuracy"] for record in folds]
        return {
            "mean": float(np.mean(values)),
            "std": float(np.std(values, ddof=1)) if len(values) > 1 else None,
            "balanced": float(np.mean([record["balanced"] for record in folds])),
            "features": float(np.median([record["features"] for record in folds])),
            "radius": float(np.median([record["radius"] for record in folds])),
            "ends": sum(_is_at_end(record) for record in folds),
            "gap": float(np.max([record["gap"] for record in folds])),
            "empty": sum(record["features"] == 0 for record in folds),
            "folds": len(folds),
        }

    def curve(self, name, setting, method):
        """Mean accuracy over the folds at each radius that all folds have, ascending."""
        curves = [record["curve"] for record in self.folds(name, setting, method).values()]
        shared = sorted(set.intersection(*map(set, curves)), key=float)
        return {float(r): float(np.mean([curve[r] for curve in curves])) for r in shared}

    def longer(self, name, method):
        """Mean accuracy of Algorithm 1 with more iterations; None without records."""
        prefix = f"longer/{name}/{method}/"
        found = [r["accuracy"] for k, r in self.records.items() if k.startswith(prefix)]
        return float(np.mean(found)) if found else None

    def difference(self, name, setting, method, rival):
        """Accuracies of one method minus those of another, over the folds that both have."""
        ours, theirs = self.folds(name, setting, method), self.folds(name, setting, rival)
        return [ours[f]["accuracy"] - theirs[f]["accuracy"] for f in ours if f in theirs]

    def times(self, correlation, swept):
        """Records of one sweep: ``{solver: {size: record}}``."""
        prefix = f"time/{correlation:g}/{swept}/"
        table = {}
        for key, record in self.records.items():
            if key.startswith(prefix):
                size, solver = key.removeprefix(prefix).split("/")
                table.setdefault(solver, {})[int(size)] = record
        return table


def _is_at_end(record):
    """Whether the radius is the smallest or largest of those tried."""
    radii = [float(radius) for radius in record["curve"]]
    return record["radius"] in (min(radii), max(radii))
