"""The results as Markdown: the paper's tables with our numbers beside them."""

import numpy as np
from datasets import COLLECTIONS, THINNED
from methods import FIGURE5, RIVALS, SCALERS, SHARES
from scipy.stats import rankdata, wilcoxon

COLUMNS = ["KMSE RS", "KMS RS", "KMSE GS", "KMS GS"] + [
    f"{kind} {sampler}"
    for sampler in ("FFT", "Random", "Density", "K-Means")
    for kind in ("KMSE", "KMS")
]
TABLE4 = COLUMNS[:2] + COLUMNS[4:]
RANKED = ["KMSE RS", "KMS RS", *FIGURE5]
# What was checked beyond the number of configurations.
CHECKED = {
    "krkopt": "data, classes and sizes are those of Table 2; not explained; in the paper, too, "
    "samplers differ by more than this",
    "pageblocks": "the rarest class has so few test rows that each of them counts for points",
}
UNEQUAL = ("thyroid", "diabetis", "german")


def write_report(results, published):
    """The whole page."""
    versions = ", ".join(f"{n} {v}" for n, v in results.settings["versions"].items())
    parts = [
        "# Landmarks: the experiments of the paper",
        f"{published['paper']}. Balanced errors in percent. Raetsch's sets: the splits of the "
        "collection in their order, only some of which are the paper's own. UCI: all rows, with "
        "as many features and classes as Table 2 of the paper counts. It does not say which "
        "they are; for some sets they are inferred: in agaricuslepiota the class is the habitat, "
        "in drugconsumption the last drug, in mlprove whether no heuristic is best; yeast has the "
        "name of the sequence as a feature (here the number of the row stands for it). The words "
        "of car are coded by the alphabet; that was chosen after the natural order had given "
        "errors far below the published ones, so agreement on car is no evidence. "
        "censusincome is the smaller set of that name, and cannot be compared. The sets' own "
        "splits where the paper has them, else 70/30 by class. KMS is the best member of KMSE. "
        f"One thread; {versions}.",
        _targets(results, published),
        _table("Table 3", "raetsch", results, published["table3"], COLUMNS, results.error),
        "± is the standard error of the mean over splits; a cell without it is one split.",
        _table("Table 4", "uci", results, published["table4"], TABLE4, results.spread),
        "± is the standard deviation over splits (or, where a set has its own split, over seeds); "
        "the published numbers are of one split.",
        _differences(results, published),
        "![Ranks of the methods over the data sets](kms_figure5.png)",
        *(_ranks(collection, results) for collection in COLLECTIONS),
        *(_rivals(collection, results) for collection in COLLECTIONS),
        _scalers(results, published["table5"]),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _targets(results, published):
    table = published["table3"]
    gaps = {
        name: results.mean(name, "KMSE RS") - table[name]["KMSE RS"]
        for name in COLLECTIONS["raetsch"]
        if results.mean(name, "KMSE RS") is not None
    }
    lines = ["## What was aimed at", ""]
    if gaps:
        worst = max(gaps, key=gaps.get)
        far = [f"{n} ({g:+.2f})" for n, g in gaps.items() if g > 0.5]
        lines.append(
            f"- KMSE RS within 0.5 of Table 3 on every set: {_verdict(not far)}. Largest gap "
            f"{gaps[worst]:+.2f} on {worst}" + (f"; over 0.5 on {', '.join(far)}." if far else ".")
        )
    ours = [results.mean(name, "balanced soft") for name in UNEQUAL]
    if None not in ours:
        theirs = np.mean([table[name]["KMSE RS"] for name in UNEQUAL])
        gain = theirs - np.mean(ours)
        lines.append(
            f"- The balanced soft vote on the mean of {', '.join(UNEQUAL)}: {np.mean(ours):.2f} "
            f"against {theirs:.2f} of Table 3, {gain:+.2f} better; one point was aimed at: "
            f"{_verdict(gain >= 1)}."
        )
    for collection, names in COLLECTIONS.items():
        ranks = _average_ranks(results, names, RANKED)
        if ranks:
            place = sorted(ranks, key=ranks.get).index("KMSE RS") + 1
            lines.append(
                f"- Average rank first among the 16 on {collection}: KMSE RS has place {place} "
                f"of {len(ranks)} ({ranks['KMSE RS']:.2f}): {_verdict(place == 1)}."
            )
        means = _common_means(results, names, ["extended", *RIVALS])
        if means:
            best, n_sets = min(means, key=means.get), _n_compared(results, names)
            shown = ", ".join(f"{m} {v:.2f}" for m, v in means.items())
            lines.append(
                f"- Extended space ahead of tuned SVC, random forest and boosting on the mean of "
                f"{collection}: {_verdict(best == 'extended')} ({shown}; {n_sets} of "
                f"{len(names)} sets)."
            )
    return "\n".join(lines)


def _n_compared(results, names):
    sets, _ = rank_table(results, names, ["extended", *RIVALS])
    return len(sets)


def _verdict(holds):
    return "reached" if holds else "**not reached**"


def _table(title, collection, results, published, columns, spread):
    names = [n for n in COLLECTIONS[collection] if results.mean(n, "KMSE RS") is not None]
    if not names:
        return ""
    extra = [c for c in ("balanced soft", "KMSE auto") if any(results.mean(n, c) for n in names)]
    head = ["set", "rows", "splits", *columns, *extra]
    lines = [f"## {title}: published / ours", "", _row(head), _row(["---"] * len(head))]
    for name in names:
        cells = [
            _pair(published.get(name, {}).get(c), results.mean(name, c), spread(name, c))
            for c in columns + extra
        ]
        counts = results.n_rows(name, "KMSE RS"), results.n_splits(name, "KMSE RS")
        lines.append(_row([name, *map(str, counts), *cells]))
    return "\n".join(lines)


def _pair(theirs, mean, spread):
    ours = "-" if mean is None else f"{mean:.2f}" + ("" if spread is None else f" ± {spread:.2f}")
    return ours if theirs is None else f"{theirs:.2f} / {ours}"


def _differences(results, published):
    """Cells of Table 4 that differ by more than their spread, with what was checked."""
    tried = [n for n in COLLECTIONS["uci"] if results.mean(n, "KMSE FFT few") is not None]
    lines = [
        "## Table 4: where ours differ by more than the spread",
        "",
        "More than twice the standard deviation of the difference: that over splits, but at least "
        "that of a test part of this size; positive: ours has the larger error. One explanation "
        f"was checked on {len(tried)} sets: perhaps the paper's samplers have only their share of "
        "the 128 configurations drawn from the whole space, about "
        f"{SHARES['K-Means']} for K-Means and {SHARES['FFT']} for the others. Of so few, the 15 "
        "best are worse. The second column has the cells that agree with such a search.",
        "",
        _row(["set", "with few configurations within the spread", "still different"]),
        _row(["---"] * 3),
    ]
    n_cells = n_far = n_explained = 0
    for name in COLLECTIONS["uci"]:
        explained, left = [], []
        for column in TABLE4:
            gap, is_far = _gap(results, published, name, column, column)
            few, is_few_far = _gap(results, published, name, column, f"{column} few")
            n_cells += gap is not None
            if is_far and few is not None and not is_few_far and abs(few) < abs(gap):
                explained.append(f"{column} {gap:+.1f}, with few {few:+.1f}")
            elif is_far:
                left.append(f"{column} {gap:+.1f}" + (f", {few:+.1f} with few" if few else ""))
        n_far, n_explained = n_far + len(explained + left), n_explained + len(explained)
        if explained or left:
            checked = f": {CHECKED[name]}" if left and name in CHECKED else ""
            lines.append(_row([name, "; ".join(explained), "; ".join(left) + checked]))
    lines += [
        "",
        f"{n_far} of {n_cells} cells differ; few configurations explain {n_explained}; what has "
        "no remark above is not explained.",
    ]
    return "\n".join(lines) if n_cells else ""


def _gap(results, published, name, column, method):
    """Ours minus the published number, and whether it is more than the spread."""
    mean = results.mean(name, method)
    if mean is None:
        return None, False
    gap = mean - published["table4"][name][column]
    n_test = published["table2"][name]["test"]
    spread = max(results.spread(name, method) or 0, (mean * (100 - mean) / n_test) ** 0.5)
    return gap, abs(gap) > 2 * spread * (1 + 1 / results.n_splits(name, method)) ** 0.5


def rank_table(results, names, methods):
    """Data sets where all methods were run, and the ranks there, a row for every set."""
    sets, table = [], []
    for name in names:
        means = [results.mean(name, m, methods) for m in methods]
        if None not in means:
            sets.append(name)
            table.append(rankdata(np.round(means, 6)))
    return sets, np.array(table)


def _average_ranks(results, names, methods):
    """Average rank of every method over the sets where all of them were run."""
    _, table = rank_table(results, names, methods)
    return dict(zip(methods, table.mean(axis=0), strict=True)) if len(table) else {}


def _ranks(collection, results):
    names, methods = COLLECTIONS[collection], RANKED
    ranks = _average_ranks(results, names, methods)
    if not ranks:
        return ""
    sets, _ = rank_table(results, names, methods)
    lines = [
        f"## Figure 5, {collection}: average rank over {len(sets)} sets (splits that all have),"
        " Wilcoxon against KMSE RS",
        "",
        _row(["method", "average rank", "mean error", "p"]),
        _row(["---"] * 4),
    ]
    ours = [results.mean(n, "KMSE RS", methods) for n in sets]
    for method in sorted(ranks, key=ranks.get):
        theirs = [results.mean(n, method, methods) for n in sets]
        differ = np.any(np.subtract(ours, theirs))
        p = f"{wilcoxon(ours, theirs).pvalue:.3g}" if differ else "-"
        lines.append(_row([method, f"{ranks[method]:.2f}", f"{np.mean(theirs):.2f}", p]))
    return "\n".join(lines)


def _common_means(results, names, methods):
    table = []
    for name in names:
        means = [results.mean(name, m, methods) for m in methods]
        if None not in means:
            table.append(means)
    return dict(zip(methods, np.mean(table, axis=0), strict=True)) if table else {}


def _rivals(collection, results):
    methods = ["extended", *RIVALS]
    names = [
        n
        for n in COLLECTIONS[collection]
        if all(results.mean(n, m, methods) is not None for m in methods)
    ]
    if not names:
        return ""
    lines = [
        f"## Extended space against tuned rivals, {collection}",
        "",
        "All with balanced classes; a rival is tuned by random search for as long as the extended "
        "search of the same split took."
        + (f" Usual classes, at most {THINNED} training rows." if collection == "uci" else ""),
        "",
        _row(["set", *methods, "seconds"]),
        _row(["---"] * (len(methods) + 2)),
    ]
    table = []
    for name in names:
        means = [results.mean(name, m, methods) for m in methods]
        table.append(means)
        best = min(means)
        cells = [f"**{v:.2f}**" if v == best else f"{v:.2f}" for v in means]
        took = np.mean([r[1] for r in results.records[name]["extended"].values()])
        lines.append(_row([name, *cells, f"{took:.1f}"]))
    lines.append(_row(["mean", *(f"{v:.2f}" for v in np.mean(table, axis=0)), ""]))
    wins = [n for n, means in zip(names, table, strict=True) if means[0] > min(means[1:])]
    lines += ["", f"A rival is ahead of the extended search on: {', '.join(wins) or 'none'}."]
    return "\n".join(lines)


def _scalers(results, published):
    names = [
        n
        for n in COLLECTIONS["uci"]
        if all(
            results.mean(n, f"{m} @{s}") is not None for m in RANKED for s in SCALERS if s != "raw"
        )
    ]
    if not names:
        return ""
    lines = [
        f"## Table 5: average rank by scaling, published (25 sets) / ours ({len(names)} "
        "sets, split 0)",
        "",
        _row(["method", *SCALERS, "grand"]),
        _row(["---"] * (len(SCALERS) + 2)),
    ]
    ranks = {}
    for scaler in SCALERS:
        suffix = "" if scaler == "raw" else f" @{scaler}"
        table = [
            rankdata([results.records[n][f"{m}{suffix}"]["0"][0] for m in RANKED]) for n in names
        ]
        ranks[scaler] = dict(zip(RANKED, np.mean(table, axis=0), strict=True))
    for method in sorted(RANKED, key=lambda m: np.mean([ranks[s][m] for s in SCALERS])):
        row = published[method.removesuffix(" RS")]
        cells = [f"{row[s]:.2f} / {ranks[s][method]:.2f}" for s in SCALERS]
        grand = np.mean([ranks[s][method] for s in SCALERS])
        lines.append(_row([method, *cells, f"{row['grand']:.2f} / {grand:.2f}"]))
    return "\n".join(lines)


def _row(cells):
    return f"| {' | '.join(cells)} |"
