r"""External validation: how good predictions for new rows are, with intervals.

Intervals of scores are percentiles over 1,000 bootstrap samples of the rows. All scores but the
area under the curve depend on the confusion matrix only, and the cells of a bootstrap sample's
matrix are multinomial with the shares of the cells, so the cells are drawn directly, whatever the
number of rows. If all rows are predicted correctly, they are so in every sample, so an interval is
at least that of `cautious_interval`. Intervals of the area under the curve are Newcombe's (with
more than two classes at least that, and that of the bootstrap), those of ratios Wilson's: both
make sense at 0 and 1 and for few rows.

Calibration: with two classes, the probability of one of them is compared with how often it occurs;
with more, the largest probability is compared with how often it is correct. The expected
calibration error is the mean distance between both over ten bins of equal width, weighted by their
rows; calibration in the large is the mean probability of a class minus its share of the rows.
"""

import numpy as np

from tamis.comparison.choosing.scores import (
    SCORINGS,
    area_under_curve,
    cautious_area,
    cautious_interval,
    class_table,
    confusion,
    score_confusion,
)
from tamis.paths.intervals import draw_rows, n_draws_for, wilson
from tamis.paths.seeds import make_generator

__all__ = ["calibration", "compare_scores", "error_cost", "score_intervals", "validate"]

N_DRAWS, N_BINS = 1000, 10


def validate(codes, labels, probabilities, classes, *, positive=None, seed=0):
    """Compare predictions with labels: scores, confusion matrix, ratios and calibration.

    `codes`, `labels` (n_rows,): True and predicted classes. `probabilities` (n_rows, n_classes).
    `classes` (n_classes,). `positive`: with two classes: the one whose probabilities are compared
    with its share; None: the second. `seed`: seed of the bootstrap. Returns `found`: plain:
    "scores", "confusion", "per_class", "calibration".
    """
    counts = confusion(codes, labels, classes.size)
    return {
        "scores": score_intervals(codes, labels, probabilities, seed),
        "confusion": {
            "classes": [str(label) for label in classes.tolist()],
            "true_in_rows": counts.tolist(),
        },
        "per_class": _with_intervals(
            class_table(codes, labels, probabilities, classes), counts, classes
        ),
        "calibration": calibration(codes, probabilities, classes, positive),
    }


def score_intervals(codes, labels, probabilities, seed=0):
    """All scores with their 95 % intervals.

    `codes`, `labels` (n_rows,); `probabilities` (n_rows, n_classes). Returns `scores`: "score" and
    "interval_95"; None for the area under the curve if only one class occurs.
    """
    n_classes = probabilities.shape[1]
    generator = make_generator(seed, "scores of new rows")
    counts = confusion(codes, labels, n_classes)
    drawn = generator.multinomial(codes.size, counts.ravel() / codes.size, size=N_DRAWS)
    drawn = drawn.reshape(N_DRAWS, n_classes, n_classes)
    scores = {}
    for scoring in SCORINGS:
        if scoring == "roc_auc":
            scores[scoring] = _area_interval(codes, probabilities, generator)
            continue
        low, high = np.percentile(score_confusion(drawn, scoring), [2.5, 97.5])
        least, most = cautious_interval(counts, scoring, seed)
        scores[scoring] = {
            "score": float(score_confusion(counts, scoring)),
            "interval_95": [float(min(low, least)), float(max(high, most))],
        }
    return scores


def error_cost(counts, costs, labels, seed=0):
    """Mean cost of errors per row, with a 95 % interval.

    `counts` (n_classes, n_classes): rows by true and predicted class; `costs` (n_classes,
    n_classes); `labels`: names of the classes. Returns `cost`: "mean_cost" and "interval_95": the
    bootstrap's; without any error, its upper end is that of Wilson's interval for the error rate,
    times the largest cost. "constant": the "class" that costs least if it is decided for every
    row, and its "mean_cost".
    """
    counts = np.asarray(counts)
    n_rows = int(counts.sum())
    generator = make_generator(seed, "cost of errors of new rows")
    drawn = generator.multinomial(n_rows, counts.ravel() / n_rows, size=N_DRAWS)
    low, high = np.percentile(drawn @ costs.ravel() / n_rows, [2.5, 97.5])
    if counts.trace() == n_rows:
        high = wilson(0, n_rows)[1] * costs.max()
    mean = float((counts * costs).sum() / n_rows)
    always = counts.sum(axis=1) @ costs / n_rows
    best = int(always.argmin())
    return {
        "mean_cost": mean,
        "interval_95": [float(low), float(high)],
        "constant": {"class": labels[best], "mean_cost": float(always[best])},
    }


def _area_interval(codes, probabilities, generator):
    n_rows = codes.size
    score = area_under_curve(codes, probabilities, nothing=np.nan)
    if np.isnan(score):
        return {"score": None, "interval_95": None}
    least, most = cautious_area(score, np.bincount(codes))
    if probabilities.shape[1] == 2:
        return {"score": float(score), "interval_95": [least, most]}
    draws = [
        area_under_curve(codes, probabilities, drawn, nothing=np.nan)
        for drawn in draw_rows(generator, n_draws_for(n_rows), n_rows)
    ]
    low, high = np.nanpercentile(np.concatenate(draws), [2.5, 97.5])
    return {"score": float(score), "interval_95": [float(min(low, least)), float(max(high, most))]}


def _with_intervals(table, counts, classes):
    total = int(counts.sum())
    for c, label in enumerate(classes.tolist()):
        hit, true, said = int(counts[c, c]), int(counts[c].sum()), int(counts[:, c].sum())
        neither = total - true - said + hit
        table[str(label)]["interval_95"] = {
            "sensitivity": wilson(hit, true),
            "specificity": wilson(neither, total - true),
            "ppv": wilson(hit, said),
            "npv": wilson(neither, total - said),
        }
    return table


def calibration(codes, probabilities, classes, positive=None):
    """How far probabilities are from observed frequencies.

    `codes` (n_rows,); `probabilities` (n_rows, n_classes); `classes` (n_classes,); `positive`: as
    in `validate`. Returns `found`: "brier" (for two classes, of one probability; for more, the sum
    over classes), "expected_calibration_error", "of" (which probability the bins are about),
    "bins" (from, to, rows, mean_probability, share), "in_the_large" (for each class:
    mean_probability, share, difference).
    """
    n_rows, n_classes = probabilities.shape
    happened = codes[:, None] == np.arange(n_classes)
    squares = ((probabilities - happened) ** 2).sum(axis=1).mean()
    if n_classes == 2:
        at = 1 if positive is None else positive
        chance, came, of = probabilities[:, at], happened[:, at], str(classes.tolist()[at])
        of = f"probability of {of}"
    else:
        best = probabilities.argmax(axis=1)
        chance, came = probabilities[np.arange(n_rows), best], best == codes
        of = "largest probability"
    bin_of = np.minimum((chance * N_BINS).astype(np.intp), N_BINS - 1)
    rows = np.bincount(bin_of, minlength=N_BINS)
    sums = np.bincount(bin_of, weights=chance, minlength=N_BINS)
    hits = np.bincount(bin_of, weights=came, minlength=N_BINS)
    bins = [
        {
            "from": b / N_BINS,
            "to": (b + 1) / N_BINS,
            "rows": int(rows[b]),
            "mean_probability": float(sums[b] / rows[b]) if rows[b] else None,
            "share": float(hits[b] / rows[b]) if rows[b] else None,
        }
        for b in range(N_BINS)
    ]
    said, share = probabilities.mean(axis=0), happened.mean(axis=0)
    return {
        "brier": float(squares / 2 if n_classes == 2 else squares),
        "expected_calibration_error": float(np.abs(sums - hits).sum() / n_rows),
        "of": of,
        "bins": bins,
        "in_the_large": {
            str(label): {
                "mean_probability": float(said[c]),
                "share": float(share[c]),
                "difference": float(said[c] - share[c]),
            }
            for c, label in enumerate(classes.tolist())
        },
    }


def compare_scores(here, there):
    """The difference between two scores, with a sentence that describes it.

    `here`, `there`: "score" and "interval_95" on these rows, and of `tamis fit`. Returns
    `compared`: "score" and "interval_95" of `there`, "difference", "intervals_overlap",
    "sentence".
    """
    difference = here["score"] - there["score"]
    (low, high), (low_there, high_there) = here["interval_95"], there["interval_95"]
    overlap = low <= high_there and low_there <= high
    expected = f"{there['score']:.3f}"
    if f"{abs(difference):.3f}" == "0.000":
        sentence = f"the same as the honest {expected} of tamis fit"
    else:
        side = "below" if difference < 0 else "above"
        sentence = f"{abs(difference):.3f} {side} the honest {expected} of tamis fit"
    sentence += "; the intervals overlap" if overlap else "; the intervals do not overlap"
    return {
        "score": float(there["score"]),
        "interval_95": [float(low_there), float(high_there)],
        "difference": float(difference),
        "intervals_overlap": bool(overlap),
        "sentence": sentence,
    }
