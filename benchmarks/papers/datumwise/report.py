"""The results as Markdown: the paper's tables with our numbers beside them."""

import numpy as np
from curves import LEVELS, levels_of, standard_error
from datasets import (
    BINARY,
    MULTICLASS,
    N_FEATURES,
    TARGET_FRACTION,
    TARGET_SETS,
    fractions_of,
)

LINEAR = ("DWSM-Un", "DWSM-Con")
PRINTED = ("DWSM-Un", "DWSM-Con", "L1-SVM")  # what the paper's tables have
OTHERS = ("LARS", "extra-trees", "forest")
WANTED = 8


def write_report(results, published):
    """The whole page."""
    versions = ", ".join(f"{n} {v}" for n, v in results.settings["versions"].items())
    parts = [
        "# Datum-wise classification: the experiments of the paper",
        f"{published['paper']}. Accuracies in percent, mean ± standard error over stratified "
        "splits; all methods have the same splits. Sparsity is the share of features not used: "
        "by any of the one-against-the-rest models of L1-SVM and LARS, by extra-trees on as many "
        "of their own most important features, by the mean test sample for the datum-wise "
        "models. An accuracy at a sparsity is read off each split's curve, linearly between its "
        "points. A curve that never uses as many features counts with its fullest point; one that "
        "never gets as sparse is drawn on to the constant majority class at sparsity 1. L1-SVM "
        f"and LARS have features standardised on the training rows. One thread; {versions}.",
        _targets(results, published["targets"]),
        _against_trees(results),
        "## Figures 3 and 4",
        "A curve ends where its models, in some split, use no more features, however cheap.",
        "![Accuracy against sparsity](datumwise_figure3.png)",
        "Below: for each method the model whose mean sparsity is nearest to one half, one split.",
        "![Use of the features](datumwise_figure4.png)",
        *(
            _table(f"Table {t}: {kind}", names, results, published[f"table{t}"])
            for t, kind, names in ((2, "two classes", BINARY), (3, "many classes", MULTICLASS))
        ),
        _wins(results, published),
        _seconds(results),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _read(results, name, fraction, method, splits=None):
    return levels_of(results, name, fraction, method, N_FEATURES[name], splits)


def _targets(results, targets):
    """The linear learner against the wanted accuracies."""
    rows, met = [], dict.fromkeys(LINEAR, 0)
    n_cells = 0
    for name in TARGET_SETS:
        cells = [name, "/".join(map(str, targets[name]))]
        for method in LINEAR:
            table = _read(results, name, TARGET_FRACTION, method)
            if not len(table):
                return ""
            good = table.mean(axis=0) + np.nan_to_num(standard_error(table)) >= targets[name]
            met[method] += good.sum()
            cells += [_means(table), " ".join("met" if g else "**no**" for g in good)]
        n_cells += len(LEVELS)
        rows.append(_row(cells))
    return "\n".join(
        [
            "## What was aimed at: the linear learner",
            "",
            "Training fraction 0.5, accuracy at sparsity 0.8 / 0.6 / 0.4; met when mean plus "
            "standard error reach it.",
            "",
            _row(["set", "target", "DWSM-Un", "", "DWSM-Con", ""]),
            _row(["---"] * 6),
            *rows,
            "",
            *(f"{m}: {met[m]} of {n_cells} targets met." for m in LINEAR),
        ]
    )


def _against_trees(results):
    """The forest against extra-trees on their own best features, split by split."""
    rows, fine, gaps = [], np.zeros(len(LEVELS), dtype=int), []
    for name in TARGET_SETS:
        splits = sorted(
            set(results.runs(name, TARGET_FRACTION, "forest"))
            & set(results.runs(name, TARGET_FRACTION, "extra-trees"))
        )
        if not splits:
            return ""
        ours = _read(results, name, TARGET_FRACTION, "forest", splits)
        theirs = _read(results, name, TARGET_FRACTION, "extra-trees", splits)
        gap, error = (ours - theirs).mean(axis=0), standard_error(ours - theirs)
        good = gap + np.nan_to_num(error) >= 0
        fine += good
        gaps.append(gap)
        cells = [
            f"{g:+.1f} ± {e:.1f}" if ok else f"**{g:+.1f} ± {e:.1f}**"
            for g, e, ok in zip(gap, error, good, strict=True)
        ]
        rows.append(_row([name, _means(ours), _means(theirs), *cells]))
    mean = np.mean(gaps, axis=0)
    verdicts = [
        f"sparsity {level}: not behind on {f} of {len(TARGET_SETS)} sets ({WANTED} wanted: "
        f"{_verdict(f >= WANTED)}), {m:+.2f} on the mean (ahead wanted: {_verdict(m > 0)})"
        for level, f, m in zip(LEVELS, fine, mean, strict=True)
    ]
    return "\n".join(
        [
            "## What was aimed at: the forest learner against extra-trees",
            "",
            "Training fraction 0.5, accuracy at sparsity 0.8 / 0.6 / 0.4, and the difference with "
            "the standard error of the paired splits; bold where ours is behind by more than one.",
            "",
            _row(["set", "forest", "extra-trees", *(f"at {level}" for level in LEVELS)]),
            _row(["---"] * 6),
            *rows,
            "",
            *(f"- {v}." for v in verdicts),
        ]
    )


def _table(title, names, results, published):
    """Published / ours for every set, fraction and level."""
    lines = [
        f"## {title}",
        "",
        "Published / ours for the paper's columns (- : the paper has no value), ours alone for "
        "the others; accuracy at sparsity 0.8, 0.6, 0.4.",
        "",
        _row(["set", "train", "splits", *PRINTED, *OTHERS]),
        _row(["---"] * (3 + len(PRINTED) + len(OTHERS))),
    ]
    for name in names:
        for fraction in fractions_of(name):
            theirs = published[name][str(fraction)]
            tables = {m: _read(results, name, fraction, m) for m in PRINTED + OTHERS}
            number = max(len(table) for table in tables.values())
            if not number:
                continue
            cells = [
                "<br>".join(
                    f"{_number(theirs[m][i])} / {_cell(tables[m], i)}" for i in range(len(LEVELS))
                )
                for m in PRINTED
            ]
            cells += ["<br>".join(_cell(tables[m], i) for i in range(len(LEVELS))) for m in OTHERS]
            lines.append(_row([name, str(fraction), str(number), *cells]))
    return "\n".join(lines)


def _wins(results, published):
    """Mean over all rows of the tables that both have, and how often ours is not below."""
    tables = {**published["table2"], **published["table3"]}
    lines = [
        "## Ours against the published numbers",
        "",
        "Over all sets and fractions that have both: mean published / ours, and where ours is at "
        "least as good.",
        "",
        _row(["model", *(f"at {level}" for level in LEVELS)]),
        _row(["---"] * 4),
    ]
    for method in PRINTED:
        cells = []
        for i in range(len(LEVELS)):
            pairs = []
            for name, fractions in tables.items():
                for fraction, row in fractions.items():
                    table = _read(results, name, float(fraction), method)
                    if len(table) and row[method][i] is not None:
                        pairs.append((row[method][i], table[:, i].mean()))
            if pairs:
                theirs, ours = np.array(pairs).T
                good = (ours >= theirs).sum()
                cells.append(f"{theirs.mean():.1f} / {ours.mean():.1f} ({good} of {len(pairs)})")
        if cells:
            lines.append(_row([method, *cells]))
    return "\n".join(lines)


def _seconds(results):
    lines = [
        "## Seconds for a whole curve, training fraction 0.5",
        "",
        "As the runs came by, on a machine that may have been busy or put to sleep; "
        "`benchmarks/speed/datumwise.py` measures speed.",
        "",
        _row(["set", *PRINTED, *OTHERS]),
        _row(["---"] * (1 + len(PRINTED) + len(OTHERS))),
    ]
    for name in BINARY + MULTICLASS:
        runs = [results.runs(name, TARGET_FRACTION, m) for m in PRINTED + OTHERS]
        cells = [
            f"{np.mean([r['seconds'] for r in run.values()]):.1f}" if run else "" for run in runs
        ]
        lines.append(_row([name, *cells]))
    return "\n".join(lines)


def _means(table):
    return " / ".join(_cell(table, level) for level in range(len(LEVELS)))


def _cell(table, level):
    if not len(table):
        return ""
    mean = f"{table[:, level].mean():.1f}"
    return mean if len(table) == 1 else f"{mean} ± {standard_error(table)[level]:.1f}"


def _number(value):
    return "-" if value is None else f"{value:.1f}"


def _verdict(good):
    return "met" if good else "**not met**"


def _row(cells):
    return f"| {' | '.join(cells)} |"
