"""Tables and a picture of `at_k.py`, also from records of an unfinished run.

A cell is one number of features on one data set. Scores of a cell are means over the splits that
all methods of a comparison share. Sets are the observations: a difference is averaged over the
cells of a set first, and standard errors and limits are over sets (t distribution).
"""

from collections import defaultdict

import numpy as np
from at_k_data import TUNED, group_of
from scipy import stats

PANEL = "panel"
# The numbers of features that the targets are about.
JUDGED = (2, 3, 5, 8, 12)
# A set is lost if the panel is certainly behind by more than so many points.
LOST = -2
GROUPS = ("many classes", "genes", "tabular")
RFE = "Logistic-RFE"
FORWARD = "forward"
# A method takes part in the tables over common cells if it has at least this share of the splits
# of the panel.
_SHARE = 0.5
_NONE = "-"


class Scores:
    """Scores of the records.

    Attributes
    ----------
    found : dict
        ``found[method, head][set name, k][split]`` is a score; methods with a classifier of their
        own have the head "own".
    shapes : dict
        The "shape" of each set.
    """

    def __init__(self, records):
        self.found = defaultdict(lambda: defaultdict(dict))
        self.shapes = {}
        for key, record in records.items():
            name, split = key.rsplit(" ", 1)
            self.shapes[name] = record["shape"]
            for method, entry in record.items():
                for head, scores in entry.get("scores", {}).items():
                    for k, score in scores.items():
                        if int(k) < record["shape"]["columns"]:
                            self.found[method, head][name, int(k)][int(split)] = score

    def methods(self, head):
        """Names of the methods that have a head."""
        return [method for method, own in self.found if own == head]

    def group(self, name):
        return group_of(name, self.shapes[name]["classes"])

    def common(self, pairs):
        """Mean scores of several methods: {(set name, k): array}, where all have a split."""
        cells = {}
        for cell, splits in self.found[pairs[0]].items():
            shared = set(splits).intersection(*(self.found[p].get(cell, ()) for p in pairs))
            if shared:
                cells[cell] = np.array(
                    [np.mean([self.found[p][cell][s] for s in shared]) for p in pairs]
                )
        return cells


class Differences:
    """Scores of one method minus those of another.

    Attributes
    ----------
    cells : dict
        ``cells[set name, k]`` is the mean difference and its standard error by Nadeau and Bengio,
        NaN for a single split.
    splits : dict
        ``splits[set name]`` is the standard error's factor and, for each split, the differences at
        all k.
    """

    def __init__(self, scores, ours, theirs, names=None):
        self.cells, self.splits = {}, {}
        for cell, splits in scores.found[ours].items():
            shared = sorted(set(splits) & set(scores.found[theirs].get(cell, ())))
            if not shared or cell[1] not in JUDGED or (names is not None and cell[0] not in names):
                continue
            gap = np.array([splits[s] - scores.found[theirs][cell][s] for s in shared])
            shape = scores.shapes[cell[0]]
            factor = 1 / gap.size + shape["test"] / shape["rows"]
            error = np.sqrt(gap.var(ddof=1) * factor) if gap.size > 1 else np.nan
            self.cells[cell] = gap.mean(), error
            of_splits = self.splits.setdefault(cell[0], (shape["test"] / shape["rows"], {}))[1]
            for split, value in zip(shared, gap, strict=True):
                of_splits.setdefault(split, []).append(value)

    def only(self, keep):
        """The same for some cells: ``keep(set name, k)``."""
        part = object.__new__(Differences)
        part.cells = {cell: value for cell, value in self.cells.items() if keep(*cell)}
        return part

    def of_sets(self):
        """Mean difference of each set, over its cells."""
        sets = defaultdict(list)
        for (name, _), (gap, _) in self.cells.items():
            sets[name].append(gap)
        return np.array([np.mean(gaps) for gaps in sets.values()])

    def wins_and_losses(self):
        """Cells that are ahead, or behind, by more than one standard error."""
        values = np.array(list(self.cells.values())).reshape(-1, 2)
        if np.all(np.isnan(values[:, 1])):
            return _NONE
        ahead = np.count_nonzero(values[:, 0] > values[:, 1])
        return f"{ahead} : {np.count_nonzero(values[:, 0] < -values[:, 1])}"

    def n_lost(self):
        """How many sets are lost: the upper 95 % limit of the mean over k is below -2 points."""
        n_lost = 0
        for ratio, of_splits in self.splits.values():
            means = np.array([np.mean(gaps) for gaps in of_splits.values()])
            if means.size > 1:
                error = np.sqrt(means.var(ddof=1) * (1 / means.size + ratio))
                limit = means.mean() + stats.t.ppf(0.95, means.size - 1) * error
                n_lost += 100 * limit < LOST
        return n_lost

    def summary(self):
        """The cells of a row of `comparison`."""
        gaps = 100 * self.of_sets()
        if gaps.size == 0:
            return [0, *[_NONE] * 7]
        cells = [gaps.size, f"{gaps.mean():+.2f}"]
        if gaps.size < 2:
            return [*cells, _NONE, _NONE, _NONE, self.wins_and_losses(), _NONE, self.n_lost()]
        error = gaps.std(ddof=1) / np.sqrt(gaps.size)
        limits = [gaps.mean() - stats.t.ppf(q, gaps.size - 1) * error for q in (0.9, 0.95)]
        p = stats.wilcoxon(gaps).pvalue if np.any(gaps) else 1.0
        limits = [f"{limit:+.2f}" for limit in limits]
        wins = self.wins_and_losses()
        return [*cells, f"{error:.2f}", *limits, wins, f"{p:.4f}", self.n_lost()]

    def brief(self):
        """Mean over sets and wins : losses."""
        gaps = self.of_sets()
        return f"{100 * gaps.mean():+.2f} ({self.wins_and_losses()})" if gaps.size else _NONE


def table(headings, rows):
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines) + "\n"


def write_tables(records, output):
    """Write at_k.md and at_k.png.

    Parameters
    ----------
    records : dict
        Of at_k.json: ``records["set name split"]``; sets, splits and methods may be missing.
    output : Path
        Folder.
    """
    (output / "at_k.md").write_text(make_report(records))
    scores = Scores(records)
    if scores.found:
        from at_k_picture import draw  # loaded last: the tables need no matplotlib

        draw(scores, compared(scores)[0], GROUPS, output / "at_k.png")


def make_report(records):
    """The text of at_k.md."""
    title = "# Balanced accuracy at equal numbers of features\n"
    scores = Scores(records)
    if not scores.found:
        return f"{title}\nNo records yet.\n"
    n_splits = len({key.rsplit(" ", 1)[1] for key in records})
    apart = {name for name in scores.shapes if name not in TUNED}
    parts = [
        title,
        f"{len(scores.shapes)} data sets, up to {n_splits} splits of each into three quarters for "
        "training and one quarter for testing. Scores are balanced accuracies in percent, "
        "differences are in points. Only cells (a set and a number of features) with fewer "
        "features than the set has. Made by `benchmarks/accuracy/at_k.py`.\n",
        "![score against the number of features](at_k.png)\n",
        *mean_scores(scores),
        *comparison(
            scores,
            "The panel minus others",
            "Selections of others have a ridge-logistic head whose ridge is tuned by inner folds.",
            "logistic",
        ),
        *comparison(
            scores,
            "The panel minus others that have its automatic head",
            "Selections of others have the automatic head of the panel.",
            "auto",
        ),
        *comparison(
            scores,
            "Sets kept apart: the panel minus others",
            f"Only the {len(apart)} sets on which no setting was tuned.",
            "logistic",
            apart,
        ),
        *comparison(
            scores,
            "Sets kept apart: the panel minus others that have its automatic head",
            f"Only the {len(apart)} sets on which no setting was tuned.",
            "auto",
            apart,
        ),
        *seconds(records, scores),
        *ranks(scores),
    ]
    return "\n".join(parts)


def own_or(scores, head):
    """Methods with a classifier of their own, and all others with one of two heads."""
    own = [(method, "own") for method in scores.methods("own")]
    return own + [(method, head) for method in scores.methods(head)]


def compared(scores):
    """The panel and the methods that have enough of its cells, the panel first."""
    known = own_or(scores, "logistic")
    first = (PANEL, "own") if (PANEL, "own") in known else known[0]
    cells = scores.found[first]
    enough = _SHARE * sum(map(len, cells.values()))
    others = sorted(
        pair
        for pair in known
        if pair != first
        and sum(len(cells[cell].keys() & scores.found[pair].get(cell, {})) for cell in cells)
        >= enough
    )
    return [first, *others], sorted(set(known) - {first, *others})


def mean_scores(scores):
    pairs, absent = compared(scores)
    cells = scores.common(pairs)
    counts = sorted({k for _, k in cells})
    rows = []
    for place, (method, _) in enumerate(pairs):
        means = [
            np.mean([v[place] for (_, other), v in cells.items() if other == k]) for k in counts
        ]
        judged = _mean_of_sets({c: v[place] for c, v in cells.items() if c[1] in JUDGED})
        rows.append([method, *(f"{100 * mean:.1f}" for mean in means), judged])
    n_sets = [sum(other == k for _, other in cells) for k in counts]
    n_judged = len({name for name, k in cells if k in JUDGED})
    rows.append(["*number of sets*", *n_sets, n_judged])
    yield "## Mean scores\n"
    yield (
        "Sets on which every method of the table has the number of features; different sets for "
        "different numbers, so compare within columns. The last column: mean over sets of the "
        f"mean over {_listed(JUDGED)} features.\n"
    )
    if absent:
        yield f"Left out, for too few splits: {', '.join(method for method, _ in absent)}.\n"
    yield table(["method", *(f"k = {k}" for k in counts), "mean"], rows)


def _mean_of_sets(cells):
    sets = defaultdict(list)
    for (name, _), score in cells.items():
        sets[name].append(score)
    return f"{100 * np.mean([np.mean(s) for s in sets.values()]):.1f}" if sets else _NONE


def _listed(counts):
    return ", ".join(map(str, counts[:-1])) + f" and {counts[-1]}"


def comparison(scores, title, note, head, names=None):
    """Differences of the panel and every other method."""
    ours = (PANEL, "own")
    pairs = (
        own_or(scores, head) if head == "logistic" else [(m, head) for m in scores.methods(head)]
    )
    differences = {
        pair[0]: found
        for pair in sorted(pairs)
        if not pair[0].startswith(PANEL)
        and (found := Differences(scores, ours, pair, names)).cells
    }
    if not differences:
        return
    yield f"## {title}\n"
    yield (
        f"{note} Mean over {_listed(JUDGED)} features, then over sets; limits are one-sided, over "
        "sets. Wins and losses are cells whose difference exceeds one standard error (Nadeau and "
        "Bengio; cells with a single split are neither). p: signed ranks over sets, two-sided. "
        f"Lost: sets whose upper 95 % limit (over splits, Nadeau and Bengio) is below {LOST}.\n"
    )
    headings = ["panel minus", "sets", "mean", "standard error", "lower 90 % limit"]
    headings += ["lower 95 % limit", "wins : losses", "p", "lost"]
    yield table(headings, [[method, *d.summary()] for method, d in differences.items()])
    yield "By number of features, mean over sets (wins : losses):\n"
    rows = [
        [method, *(d.only(lambda _, other, k=k: other == k).brief() for k in JUDGED)]
        for method, d in differences.items()
    ]
    yield table(["panel minus", *(f"k = {k}" for k in JUDGED)], rows)
    yield "By group of sets, mean over sets (wins : losses):\n"
    rows = [
        [method, *(d.only(lambda n, _, g=g: scores.group(n) == g).brief() for g in GROUPS)]
        for method, d in differences.items()
    ]
    yield table(["panel minus", *GROUPS], rows)


def seconds(records, scores):
    """CPU seconds of each set, medians over splits, and the ratio of selections to RFE."""
    taken = defaultdict(lambda: defaultdict(list))
    for key, record in records.items():
        for method, entry in record.items():
            for stage, value in entry.get("seconds", {}).items():
                taken[method, stage][key.rsplit(" ", 1)[0]].append(value)
    medians = {
        stage: {name: np.median(values) for name, values in sets.items()}
        for stage, sets in taken.items()
    }
    yield "## CPU seconds\n"
    yield (
        "One thread, all numbers of features, medians over splits. Methods with classifiers of "
        "their own: selection and classifiers together, for the panel with all its folds.\n"
    )
    columns = [(PANEL, "all"), (FORWARD, "selection"), (RFE, "selection")]
    columns += [(RFE, "logistic"), (RFE, "auto")]
    rows, ratios = [], []
    for name in sorted(scores.shapes):
        values = [medians.get(column, {}).get(name) for column in columns]
        ratio = None
        if values[1] is not None and values[2]:
            ratio = values[1] / values[2]
            ratios.append(ratio)
        rows.append([name, *(_NONE if v is None else f"{v:.2f}" for v in [*values, ratio])])
    headings = ["data set", "panel", "its forward steps once", f"{RFE}: selection"]
    headings += ["its tuned logistic head", "its automatic head", "forward steps / RFE selection"]
    yield table(headings, rows)
    if ratios:
        yield (
            f"Ratio of the forward steps to the selection of {RFE}: geometric mean "
            f"{np.exp(np.mean(np.log(ratios))):.2f}, median {np.median(ratios):.2f}, largest "
            f"{max(ratios):.2f}.\n"
        )
    yield "All methods, means over the sets that they have:\n"
    rows = []
    for method in sorted({method for method, _ in medians}):
        parts = [
            medians.get((method, stage)) for stage in ("all", "selection", "logistic", "auto")
        ]
        cells = [_NONE if p is None else f"{np.mean(list(p.values())):.2f}" for p in parts]
        rows.append([method, max(len(p) for p in parts if p is not None), *cells])
    headings = ["method", "sets", "selection and classifiers", "selection alone"]
    yield table([*headings, "tuned logistic head", "automatic head"], rows)


def ranks(scores):
    """Mean ranks over the common cells, sets having the same say."""
    pairs, _ = compared(scores)
    of_set = defaultdict(list)
    for (name, k), values in scores.common(pairs).items():
        if k in JUDGED:
            of_set[name].append(stats.rankdata(-values))
    if not of_set or len(pairs) < 2:
        return
    means = {name: np.mean(cells, axis=0) for name, cells in of_set.items()}
    groups = [g for g in GROUPS if any(scores.group(name) == g for name in means)]
    overall = np.mean(list(means.values()), axis=0)
    rows = []
    for place in np.argsort(overall, kind="stable"):
        row = [pairs[place][0], f"{overall[place]:.2f}"]
        for g in groups:
            row.append(
                f"{np.mean([m[place] for n, m in means.items() if scores.group(n) == g]):.2f}"
            )
        rows.append(row)
    yield "## Mean ranks\n"
    yield (
        f"1 is the best; over {_listed(JUDGED)} features, then over the {len(means)} sets on "
        "which all of these methods have a score.\n"
    )
    yield table(["method", "all sets", *groups], rows)
