"""Does the panel that fits best predict better? Optimal panels against forward steps.

    python benchmarks/accuracy/best_fits.py --data DIR --splits 10

Both select from the same training rows of the sets on which settings are tuned, and get the same
heads (`at_k.py`): a ridge-logistic one whose ridge is tuned, and the automatic head of the panel.
Saves best_fits.json after each split, resumes there, and writes the table to best_fits.md.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from at_k import RESULTS, run
from at_k_data import TUNED, default_data

METHODS = ("forward", "optimal")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=default_data(), help="folder of the data sets")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of the results")
    parser.add_argument("--splits", type=int, default=10)
    options = parser.parse_args(arguments)
    path = options.output / "best_fits.json"
    records = json.loads(path.read_text()) if path.is_file() else {}
    for s in range(options.splits):
        for name in TUNED:
            if f"{name} {s}" not in records:
                key, found = run(name, s, METHODS, options.data, options.splits)
                records[key] = found
                path.write_text(json.dumps(records, indent=0, sort_keys=True))
                (options.output / "best_fits.md").write_text(tell(records))
    (options.output / "best_fits.md").write_text(tell(records))


def tell(records):
    """The difference between the selections by number of features, in points."""
    lines = [
        "# Optimal panels minus forward panels",
        "",
        "Points of balanced accuracy on test rows, mean over sets ± standard error over sets. "
        "Only sets on which settings are tuned. Made by `benchmarks/accuracy/best_fits.py`; the "
        "search for each panel ends after ten seconds.",
    ]
    for head in next(iter(records.values()))["forward"]["scores"]:
        differences = {}  # by number of features and set
        for key, record in records.items():
            ours, other = (record[method]["scores"][head] for method in METHODS[::-1])
            for k in ours.keys() & other.keys():
                by_set = differences.setdefault(int(k), {}).setdefault(key.split()[0], [])
                by_set.append(100 * (ours[k] - other[k]))
        lines += ["", f"## Head: {head}", "", "| features | sets | optimal minus forward |"]
        lines += ["| --- | --- | --- |"]
        overall = {}
        for k, by_set in sorted(differences.items()):
            means = {name: np.mean(values) for name, values in by_set.items()}
            lines.append(f"| {k} | {len(means)} | {_tell_mean(list(means.values()))} |")
            for name, mean in means.items():
                overall.setdefault(name, []).append(mean)
        means = [np.mean(values) for values in overall.values()]
        lines.append(f"| all | {len(means)} | {_tell_mean(means)} |")
    counts = [key.split()[0] for key in records]
    lines += ["", f"{len(records)} splits of {len(set(counts))} sets.", ""]
    return "\n".join(lines)


def _tell_mean(values):
    error = np.std(values, ddof=1) / len(values) ** 0.5 if len(values) > 1 else np.nan
    return f"{np.mean(values):+.2f} ± {error:.2f}"


if __name__ == "__main__":
    main()
