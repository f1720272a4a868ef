"""By how much must a kernel beat the heads that can be read? Measured on the tuning sets.

    python benchmarks/accuracy/readable_heads.py --data DIR

`PanelClassifier(head="auto")` takes a kernel only if its log loss in the outer folds is smaller
than that of the best linear head by more than one paired standard error and by more than
`tamis.panel.outer.KERNEL_MARGIN`. This script tries several margins. The splits are those of
`at_k.py`, the sets only those that settings may be chosen on (`at_k_data.TUNED`). Selection and
heads are fitted once per split: a margin changes only which of the fitted heads is taken, by
`tamis.panel.outer.choose_heads` itself.

Every split of a set is saved to readable_heads.json as it is done; an interrupted run resumes when
you repeat the command. The table is printed and written to readable_heads.md.
"""

import argparse
import json
import os
import sys
from pathlib import Path
from time import process_time

for variable in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

# ruff: noqa: E402
import numpy as np
from at_k_data import TUNED, default_data, load, split
from sklearn.metrics import balanced_accuracy_score

from tamis import PanelClassifier
from tamis.panel.forward import Choices
from tamis.panel.judging import judge_selections
from tamis.panel.outer import KERNEL_MARGIN, choose_heads, fit_fold, fit_heads, outer_splits
from tamis.panel.selection import Selection
from tamis.panel.settings import settings_of

# 0: one standard error alone; the last: never a kernel.
MARGINS = (0.0, 0.01, 0.02, 0.03, 0.035, 0.04, 0.045, 0.05, 0.1, 10.0)
COUNTS, N_SPLITS = (1, 2, 3, 5, 8, 12, 20), 6
MOST_LOST = 0.003
RESULTS = Path(__file__).parents[1] / "results"


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=default_data(), help="folder of the data sets")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of the results")
    parser.add_argument("--sets", nargs="+", default=TUNED, choices=TUNED, metavar="SET")
    parser.add_argument("--splits", type=int, default=N_SPLITS)
    options = parser.parse_args(arguments)
    path = options.output / "readable_heads.json"
    records = json.loads(path.read_text()) if path.is_file() else {}
    for s in range(options.splits):
        for name in options.sets:
            key = f"{name} {s}"
            if key in records:
                continue
            began = process_time()
            records[key] = measure(*load(name, options.data), s, options.splits)
            draft = path.with_suffix(".part")
            draft.write_text(json.dumps(records, sort_keys=True).replace("]}, ", "]},\n") + "\n")
            draft.replace(path)
            print(f"{key}: {process_time() - began:.0f} CPU s", file=sys.stderr, flush=True)
    report = tabulate(records)
    path.with_suffix(".md").write_text(report)
    print(report)


def measure(X, y, groups, s, n_splits):
    """For each margin and number of features: whether a kernel was taken, and the test score."""
    train, test = split(y, groups, n_splits)[s]
    counts = np.array([k for k in COUNTS if k < X.shape[1]])
    n_classes, n_columns, default = int(y.max()) + 1, X.shape[1], PanelClassifier()
    every = np.arange(n_columns)
    no_limit = Choices(every, every < 0, np.ones(n_columns), 0 * every, n_columns)
    selection = Selection(
        "forward", no_limit, default.alpha, default.n_screened, 5, "balanced", seed=0
    )
    settings = settings_of("auto")
    known, codes, ones = X[train], y[train], np.ones(train.size)
    some = None if groups is None else groups[train]
    splits = outer_splits(default.cv, known, codes, ones, some, 0)
    data, decisions = (known, codes, ones, n_classes), []
    for one in splits:
        (found,) = judge_selections(*data, [selection], counts, some, one).found
        decisions.append(fit_fold(*data, selection, counts, settings, found, one)[1])
    rows = np.concatenate([held_out for _, held_out in splits])
    fold_of = np.repeat(np.arange(len(splits)), [held_out.size for _, held_out in splits])
    final = fit_heads(*data, selection, counts, [settings] * counts.size, some)
    scores = [
        [
            balanced_accuracy_score(y[test], final.decisions(X[test], level, h).argmax(axis=1))
            for h in range(len(settings))
        ]
        for level in range(counts.size)
    ]
    found = {"counts": counts.tolist()}
    for margin in MARGINS:
        chosen = choose_heads(
            np.concatenate(decisions, axis=2),
            codes[rows],
            ones[rows],
            settings,
            "balanced",
            None if some is None else some[rows],
            fold_of,
            margin,
        )
        found[f"{margin:g}"] = [
            [int(not settings[c.place].is_linear), round(float(scores[level][c.place]), 6)]
            for level, c in enumerate(chosen)
        ]
    return found


def tabulate(records):
    """The table of all margins: kernels, and scores beside those of one standard error alone."""
    names = sorted({key.rsplit(" ", 1)[0] for key in records})
    n_cells = sum(len(record["counts"]) for record in records.values())
    lines = [
        "# How much better a kernel must be",
        "",
        f"{len(names)} tuning sets of at_k.py, {len(records)} splits, {n_cells} cells (split and "
        "number of features). Points of balanced accuracy on test rows, means over sets; negative "
        "is lost. Margins are differences of log loss in nats, in addition to one paired standard "
        "error.",
        "",
        "| margin | kernels chosen | mean change | worst set | worst number of features |",
        "| --- | --- | --- | --- | --- |",
    ]
    counts = sorted({k for record in records.values() for k in record["counts"]})
    for margin in MARGINS:
        kernels, change = [], {name: {} for name in names}
        for key, record in records.items():
            for k, (is_kernel, score), (_, before) in zip(
                record["counts"], record[f"{margin:g}"], record["0"], strict=True
            ):
                kernels.append(is_kernel)
                change[key.rsplit(" ", 1)[0]].setdefault(k, []).append(100 * (score - before))
        of_set = {name: np.mean([np.mean(v) for v in change[name].values()]) for name in names}
        of_count = {k: np.mean([np.mean(c[k]) for c in change.values() if k in c]) for k in counts}
        worst_set, worst_count = min(of_set, key=of_set.get), min(of_count, key=of_count.get)
        title = {0.0: "0 (standard error alone)", MARGINS[-1]: "never a kernel"}
        told = title.get(margin, f"{margin:g}")
        told += ", the one used" if margin == KERNEL_MARGIN else ""
        lines.append(
            f"| {told} | {sum(kernels)} of {len(kernels)} ({100 * np.mean(kernels):.0f} %) "
            f"| {np.mean(list(of_set.values())):+.2f} | {of_set[worst_set]:+.2f} ({worst_set}) "
            f"| {of_count[worst_count]:+.2f} (k = {worst_count}) |"
        )
    lines += ["", f"A mean change of at least {-100 * MOST_LOST:.1f} points is acceptable.", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
