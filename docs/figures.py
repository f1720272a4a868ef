"""Copy measured figures from benchmarks/results/ into the README and the pages.

    python docs/figures.py          # rewrites the excerpts
    python docs/figures.py --check  # fails where a page differs from the results

An excerpt stands between `<!-- excerpt FILE#Section -->` and `<!-- end -->`. Short tables that are
picked out of long logs, or computed from records, have names of their own: see `_TABLES`.

No figure is typed by hand: tests/test_docs.py runs the check.
"""

from __future__ import annotations

import functools
import json
import re
import statistics
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
RESULTS = "benchmarks/results"
_EXCERPT = re.compile(r"(<!-- excerpt (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)

# Programs that the benchmarks compare with; their versions are those of constraints.txt.
PEERS = {
    "scikit-learn": "selectors, classifiers, baselines of `tamis fit`",
    "abess": "best subsets by splicing",
    "fasterrisk": "sparse risk scores by beam search",
    "skglm": "sparse linear models, multi-task Lasso",
    "cvxpy": "convex problems, here with Clarabel",
    "crepes": "prediction sets",
    "mapie": "prediction sets, tests in a fixed order",
    "pandas": "reading tables",
    "scanpy": "t-tests of groups of cells",
    "illico": "Wilcoxon tests of groups of cells",
}

# Rows of short tables: a sentence, a file, a pattern whose groups fill the value, a form.
_APART = "at_k.md#Sets kept apart: the panel minus others that have its automatic head"
_RFE = r"\| Logistic-RFE \| 34 \| (\S+) \| (\S+) "
FIGURES = {
    "results": [
        (
            "A panel's selection against **RFE**. Points of balanced accuracy, mean over 2 to 12 "
            "features and 34 data sets; the same automatic head for both",
            _APART,
            _RFE,
            "{} ± {}",
        ),
        (
            "The same against **best subsets (abess)**",
            _APART,
            r"\| abess \| 34 \| (\S+) \| (\S+) ",
            "{} ± {}",
        ),
        (
            "The same against the **relaxed lasso**",
            _APART,
            r"\| relaxed l1 \| 34 \| (\S+) \| (\S+) ",
            "{} ± {}",
        ),
        (
            "The same against RFE on the three **gene expression** sets among them",
            _APART,
            r"\| genes \|(?:.*\n)+?\| Logistic-RFE \| [^|]+ \| (\S+) \(",
            "{}",
        ),
        (
            "What `tamis fit` recommends against the **lasso** (one standard error of the log "
            "loss), 7 data sets that were locked until this release, three halvings each: points, "
            "and features relative to the lasso",
            "locked/halves.md",
            r"minus l1, error of log loss: (\S+) points over 7 sets \(standard error (\S+)\), "
            r"with (\S+) times",
            "{} ± {}; {} times as many",
        ),
        (
            "The head: panel with its automatic head against RFE with a tuned ridge-logistic "
            "head, the same 34 sets",
            "at_k.md#Sets kept apart: the panel minus others",
            _RFE,
            "{} ± {}",
        ),
        (
            "Pure noise, 60 rows of 500 features, true score 0.5 (20 repetitions; chosen among "
            "sparse centers, panels, the lassos, RFE and the most frequent class): honest score, "
            "and the cross-validated score of the chosen model",
            "honest_scores.md",
            r"\| noise, 60 x 500 \| (\S+) \| 0.500 \| [^|]+ \| (\S+) ",
            "{}, {}",
        ),
        (
            "Simulations of all statistical guarantees in hard designs: passed, failed, of (the "
            "others need more repetitions)",
            "guarantees.md",
            r"(\d+) of (\d+) guarantees pass, (\d+) fail",
            "{0} passed, {2} failed, of {1}",
        ),
    ],
    "primal-dual time": [
        (
            f"Algorithm 1 of the paper, to a duality gap of {gap}, correlation {correlation}",
            "speed_primal_dual.txt",
            rf"Algorithm 1 as printed, correlation {correlation}, d=5000, gap {gap}: (\S+) s .* / "
            rf"(\S+) s = (\S+) x",
            "{} s, {} s: {} times",
        )
        for correlation, gap in (("0", "0.001"), ("0", "1e-06"), ("0.9", "1e-06"))
    ]
    + [
        (
            f"skglm, multi-task Lasso, radius {radius} (reached a duality gap of {gap})",
            "speed_primal_dual.txt",
            rf"radius {radius}, gap 1e-6: (\S+) s \(gap {gap}, .*?\) / (\S+) s .* = (\S+) x",
            "{} s, {} s: {} times",
        )
        for radius, gap in ((2, "4.7e-13"), (5, "2.4e-10"))
    ]
    + [
        (
            "cvxpy with Clarabel, 1,000 x 1,000",
            "speed_primal_dual.txt",
            r"cvxpy with Clarabel, m=d=1000: (\S+) s / (\S+) s = (\S+) x",
            "{} s, {} s: {} times",
        ),
    ],
    "other times": [
        (
            "sparse centers (means), dense 20,000 x 5,000, relative to one `X.sum(axis=0)`",
            "speed_centers.txt",
            r"\(b\) dense 20000 x 5000\n.*l2 fit None +/ X.sum\(axis=0\) +(\S+) ",
            "{} times as long",
        ),
        (
            "sparse centers (medians), dense 20,000 x 5,000, relative to `np.sort(X, axis=0)`",
            "speed_centers.txt",
            r"\(c\) dense 20000 x 5000\n.*l1 fit None +/ np.sort\(X, axis=0\) +(\S+) ",
            "{} times as long",
        ),
        (
            "sparse centers, 1.6 million rows of words: scikit-learn's `MultinomialNB.fit` and "
            "`SelectKBest.fit`, relative to them",
            "speed_centers.txt",
            r"Zipf order\n(?:.*\n){2}.*MultinomialNB.fit.* None +(\S+) .*\n"
            r".*SelectKBest.fit.* None +(\S+) ",
            "{} and {} times as long",
        ),
        (
            "a panel of 100 words from a million generated rows of 270,000 words",
            "speed_panel_words.txt",
            r"k = 100: (\S+) s;",
            "{} s",
        ),
        (
            "reading a CSV of 1,000,000 x 10: `read_table` relative to pandas",
            "speed_tables.txt",
            r"read_table +\S+ s +(\S+) x pandas",
            "{} times as long",
        ),
        (
            "`tamis predict`, 1,000,000 rows of a CSV",
            "speed_tables.txt",
            r"tamis predict, 1,000,000 rows: (\S+) s, .*\n +peak memory (\d+) MB",
            "{} s, {} MB of memory",
        ),
    ],
    "cells": [
        (
            title,
            "speed_cells.txt",
            rf"{pattern} +(\S+) +(\S+) ",
            "{} s, {} s",
        )
        for title, pattern in (
            ("`rank_features_by_class`", "rank_features_by_class"),
            ("scanpy, `rank_genes_groups` (t-test)", r"scanpy rank_genes_groups \(t-test\)"),
            ("scanpy with fractions (`pts=True`)", r"the same with fractions \(pts=True\)"),
            ("illico (Wilcoxon)", "illico asymptotic_wilcoxon"),
        )
    ],
    "scale": [
        (
            f"{what}, {way}, {size} GB",
            "speed_scale.txt",
            rf"{metric}     {way} +{size} +(\d+) +(\S+) +(\S+) ",
            "{} MB, {} s, {} s",
        )
        for what, metric, way, size in (
            ("means", "l2", "chunks", "1"),
            ("means", "l2", "chunks", "8"),
            ("means", "l2", "Dask, 1 worker", "8"),
            ("medians", "l1", "chunks", "1"),
            ("medians", "l1", "chunks", "2"),
            ("medians", "l1", "Dask, 1 worker", "1"),
        )
    ],
    "gpu": [
        (
            "primal-dual, l1 ball of radius 2, 100,000 x 20,000: GPU, and 16 cores relative to it",
            "speed_gpu.txt",
            r"l1 ball of radius 2 on cuda: .* features, (\S+) s;.*\n +CPU: .* s = (\S+) x \(",
            "{} s; {} times as long",
        ),
        (
            "landmarks, 3,900 configurations, 20,000 rows, two machines: 16 cores relative to the "
            "GPU",
            "speed_gpu.txt",
            r"cuda \S+ s = (\S+) x(?:.*\n)+?.*cuda \S+ s = (\S+) x",
            "{} and {} times as long",
        ),
        (
            "means of the classes, 200,000 x 50,000 (40 GB): time, and proportion of the "
            "bandwidth of a plain read",
            "speed_gpu.txt",
            r"40.0 GB;.*\nl2 statistics: (\S+) ms, (\S+) of",
            "{} ms, {}",
        ),
    ],
}
HEADINGS = {
    "results": ("measured", "result"),
    "primal-dual time": ("compared with", "it, tamis: how many times as long"),
    "other times": ("work", "result"),
    "cells": ("program", "CPU seconds for 2 types, for 200 types"),
    "scale": ("work", "peak memory, seconds, CPU seconds"),
    "gpu": ("work", "result"),
}


def section(source: str) -> str:
    """Text of ``file`` or of the section of ``file#Heading``; the first heading that begins so."""
    name, _, heading = source.partition("#")
    text = (ROOT / RESULTS / name).read_text(encoding="utf-8")
    if not heading:
        return text
    parts = re.split(r"^#+ (.+)$", text, flags=re.MULTILINE)
    for title, body in zip(parts[1::2], parts[2::2], strict=True):
        if title == heading or title.startswith((heading + ":", heading + ",")):
            return body
    raise SystemExit(f"{name} has no section {heading!r}: see docs/figures.py.")


def first_table(text: str) -> str:
    """The first table of a text."""
    found = re.search(r"(?:^\|.*\n?)+", text, re.MULTILINE)
    if not found:
        raise SystemExit("No table found: see docs/figures.py.")
    return found.group().strip()


def versions() -> str:
    """Table of the peers with the versions that were tested."""
    pins = dict(
        line.strip().split("==")
        for line in (ROOT / "constraints.txt").read_text().splitlines()
        if "==" in line
    )
    rows = [f"| {name} | {pins[name]} | {what} |" for name, what in PEERS.items()]
    return "\n".join(["| package | version | compared for |", "| --- | --- | --- |", *rows])


def figures(name: str) -> str:
    """One of the short tables."""
    rows = []
    for sentence, source, pattern, form in FIGURES[name]:
        found = re.search(pattern, section(source))
        if not found:
            raise SystemExit(f"{source} does not match {pattern!r}: see docs/figures.py.")
        rows.append(f"| {sentence} | {form.format(*found.groups())} |")
    return _table(HEADINGS[name], rows)


def _table(headings: Sequence[str], rows: list[str]) -> str:
    lines = [f"| {' | '.join(headings)} |", "| --- " * len(headings) + "|", *rows]
    return "\n".join(lines)


def _at_k():
    """The module that reads at_k.json, and its records."""
    sys.path.insert(0, str(ROOT / "benchmarks" / "accuracy"))
    import at_k_tables

    return at_k_tables, json.loads((ROOT / RESULTS / "at_k.json").read_text())


def ranks() -> str:
    """Mean ranks on the sets that were not used for tuning, with equal heads where possible."""
    at_k, records = _at_k()
    scores = at_k.Scores(records)
    pairs = [pair for pair in _RANKED if pair in scores.found]
    of_set = defaultdict(list)
    for (name, k), values in scores.common(pairs).items():
        if k in at_k.JUDGED and name not in at_k.TUNED:
            of_set[name].append(at_k.stats.rankdata(-values))
    means = {name: sum(cells) / len(cells) for name, cells in of_set.items()}
    columns = [list(means)] + [[n for n in means if scores.group(n) == g] for g in at_k.GROUPS]
    mean = [
        [sum(means[n][i] for n in some) / len(some) for some in columns] for i in range(len(pairs))
    ]
    rows = [
        f"| {_RANKED[pairs[i]]} | " + " | ".join(f"{value:.1f}" for value in mean[i]) + " |"
        for i in sorted(range(len(pairs)), key=lambda i: mean[i][0])
    ]
    sizes = [len(some) for some in columns]
    groups = ["all sets", *at_k.GROUPS]
    return _table(["selection", *(f"{g} ({n})" for g, n in zip(groups, sizes, strict=True))], rows)


_RANKED = {
    ("panel", "own"): "**panel**",
    ("Logistic-RFE", "auto"): "RFE, the panel's head",
    ("abess", "auto"): "abess, the panel's head",
    ("relaxed l1", "auto"): "relaxed lasso, the panel's head",
    ("mRMR", "auto"): "mRMR, the panel's head",
    ("ANOVA", "auto"): "ANOVA (`SelectKBest`), the panel's head",
    ("forest", "own"): "random forest on its most important features",
    ("primal-dual", "own"): "**primal-dual**",
    ("sparse centers", "own"): "**sparse centers**",
}


def _beside_lasso() -> tuple[list[float], list[float]]:
    """Differences of score in points and ratios of features, one per set not used for tuning.

    Breast cancer is left out as well: the rule of choice was looked at on its halves.
    """
    at_k, _ = _at_k()
    records = json.loads((ROOT / RESULTS / "halves.json").read_text())
    of_set = defaultdict(list)
    for key, found in records.items():
        name = key.rsplit(" ", 1)[0]
        if name not in {*at_k.TUNED, "breast cancer"}:
            of_set[name].append([found["tamis"], found["l1, error of log loss"]])
    gaps, ratios = [], []
    for halvings in of_set.values():
        ours, theirs = zip(*halvings, strict=True)
        gaps.append(100 * (_mean(ours, "score") - _mean(theirs, "score")))
        ratios.append(_mean(ours, "n_features") / _mean(theirs, "n_features"))
    return gaps, ratios


def _difference(gaps: list[float]) -> str:
    error = statistics.stdev(gaps) / len(gaps) ** 0.5
    return f"{statistics.mean(gaps):+.2f} ± {error:.2f}"


def results() -> str:
    """The README's table."""
    gaps, ratios = _beside_lasso()
    row = (
        "| Features of the model that `tamis fit` recommends, relative to a **lasso** chosen as "
        f"in glmnet ({len(gaps)} sets, trained on half of the rows): median ratio; points of "
        f"balanced accuracy on the other half | {statistics.median(ratios):.2f}; "
        f"{_difference(gaps)} (lower on {sum(gap < 0 for gap in gaps)} of {len(gaps)} sets) |"
    )
    first, rest = figures("results").rsplit("\n", 2)[0], figures("results").rsplit("\n", 2)[1:]
    return "\n".join([first, row, *rest])


def recommended() -> str:
    """`tamis fit` beside the lasso of glmnet's rule, on the sets that were not used for tuning."""
    gaps, ratios = _beside_lasso()
    rows = [
        f"| data sets, halved three times | {len(gaps)} |",
        f"| fewer features than the lasso; more | {sum(r < 1 for r in ratios)}; "
        f"{sum(r > 1 for r in ratios)} |",
        f"| number of features relative to the lasso, median over sets | "
        f"{statistics.median(ratios):.2f} |",
        f"| higher score than the lasso; lower | {sum(g > 0 for g in gaps)}; "
        f"{sum(g < 0 for g in gaps)} |",
        f"| difference of balanced accuracy in points, mean over sets ± standard error | "
        f"{_difference(gaps)} |",
    ]
    return _table(("`tamis fit` beside the lasso chosen as in glmnet", "result"), rows)


def guarantees() -> str:
    """Verdicts of the simulations, of all procedures and of `tamis fit`."""
    cells = [
        [cell.strip() for cell in line.strip("| ").split(" | ")]
        for line in first_table(section("guarantees.md#Guarantees")).splitlines()[2:]
    ]
    rows = []
    for title, start in (("all procedures", ""), ("`tamis fit` itself", "`tamis fit`")):
        verdicts = [row[-1] for row in cells if row[0].startswith(start)]
        counts = [str(verdicts.count(word)) for word in ("pass", "fail", "not finished")]
        rows.append(f"| {title} | " + " | ".join([str(len(verdicts)), *counts]) + " |")
    headings = ("guarantees of", "simulated", "passed", "failed", "need more repetitions")
    return _table(headings, rows)


def visits() -> str:
    """The first lines of the table of Getting started."""
    lines = (ROOT / "docs" / "data" / "visits.csv").read_text(encoding="utf-8").splitlines()
    return "\n".join(["```text", *lines[:3], "```"])


def _mean(entries, key):
    return statistics.mean(entry[key] for entry in entries)


def options() -> str:
    """Options of `tamis fit` and parameters of `compare`, from their declarations."""
    from dataclasses import MISSING, fields

    from tamis.comparison.options import Options, switch

    lines = ["| option | parameter of `compare` | default | |", "| --- | --- | --- | --- |"]
    for one in fields(Options):
        about = one.metadata
        if about["group"] is not None:
            is_bare = one.default in (None, MISSING, (), False)
            default = "" if is_bare else f"`{one.default}`"
            told = str(about["help"]).split(" (default")[0]
            parameter = about["parameter"] or one.name
            lines.append(f"| `{switch(one)}` | `{parameter}` | {default} | {told} |")
    return "\n".join(lines)


def excerpt(what: str) -> str:
    """What stands between the marks of one excerpt."""
    if what in _TABLES:
        return _TABLES[what]()
    return _rename(first_table(section(what.removeprefix(RESULTS + "/"))))


# Names in the logs, and the usual ones.
_USUAL = {
    "| Logistic-RFE |": "| RFE |",
    "| forward |": "| the panel's forward steps alone |",
    "| relaxed l1 |": "| relaxed lasso |",
    "| l1, error of log loss |": "| lasso, error of log loss |",
    "| l1, error of accuracy |": "| lasso, error of accuracy |",
}


def _rename(table: str) -> str:
    for name, usual in _USUAL.items():
        table = table.replace(name, usual)
    return table


_TABLES = {
    "options": options,
    "versions": versions,
    "ranks": ranks,
    "recommended": recommended,
    "guarantees": guarantees,
    "visits": visits,
    **{name: functools.partial(figures, name) for name in FIGURES},
    "results": results,
}


def refresh(page: str) -> str:
    """The page with all excerpts as they are in the results."""
    return _EXCERPT.sub(lambda m: f"{m[1]}\n{excerpt(m[2])}\n\n{m[3]}", page)


def pages() -> list[Path]:
    """Pages that may have excerpts."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def main(arguments: list[str]) -> int:
    """Rewrite the pages, or with ``--check`` name those that differ."""
    stale = []
    for path in pages():
        page = path.read_text(encoding="utf-8")
        fresh = refresh(page)
        if fresh != page:
            stale.append(path.name)
            if "--check" not in arguments:
                path.write_text(fresh, encoding="utf-8")
    if stale:
        print(
            "differs from benchmarks/results:" if "--check" in arguments else "rewritten:", *stale
        )
    return int(bool(stale) and "--check" in arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
