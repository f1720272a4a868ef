"""The paper's claims, checked against our numbers.

The paper says "competitive", "significantly faster", "poor"; what we take these to mean is in the
constants below. Scores of two methods are compared on the splits and the numbers of features that
both have, and averaged over the numbers of features.
"""

import numpy as np

# Accuracy that makes a difference.
MARGIN = 0.02
# How many times as long makes "significantly slower", and what is still "comparable".
FASTER = 2.0
COMPARABLE = 3.0


def check_claims(published, records, per_k=()):
    """Verdict for every claim, data set and rescaling that there are records of.

    Parameters
    ----------
    published : dict
        Content of ``published.json``.
    records : dict
        Records of all splits: see `results.Results`.
    per_k : sequence of str
        Methods whose selection is made anew for every k. The paper's times are probably those of
        one k, so theirs are divided by the number of k.

    Returns
    -------
    verdicts : list of dict
        With the keys claim, statement, dataset, rescaling, holds (None: cannot be said), numbers.
    """
    verdicts = []
    for claim in published["claims"]:
        for name in claim["datasets"]:
            for rescaling, methods in records.get(name, {}).items():
                rivals = [r for r in claim["rivals"] if methods.get(r)]
                if not methods.get(claim["method"]) or not rivals:
                    continue
                check = _CHECKS[claim["kind"]]
                holds, numbers = check(methods, claim["method"], rivals, per_k)
                verdicts.append(
                    {
                        "claim": claim["id"],
                        "statement": claim["statement"],
                        "dataset": name,
                        "rescaling": rescaling,
                        "holds": holds,
                        "numbers": numbers,
                    }
                )
    return verdicts


def compare_scores(methods, ours, rival):
    """Rival's score minus ours for every k that both have, means over the splits of both."""
    ours, rival = methods[ours], methods[rival]
    gaps = {}
    for split in ours.keys() & rival.keys():
        pairs = zip(ours[split]["scores"], rival[split]["scores"], strict=True)
        for j, (a, b) in enumerate(pairs):
            if a is not None and b is not None:
                gaps.setdefault(j, []).append(b - a)
    return [float(np.mean(gaps[j])) for j in sorted(gaps)]


def compare_seconds(methods, ours, rival):
    """How many times as long the rival's selection of all k takes, on the splits of both."""
    common = methods[ours].keys() & methods[rival].keys()
    mine = np.mean([methods[ours][s]["seconds"] for s in common])
    return float(np.mean([methods[rival][s]["seconds"] for s in common]) / mine)


def _competitive(methods, ours, rivals, per_k):
    gaps = _gaps(methods, ours, rivals)
    if not gaps:
        return None, "no common scores"
    median = float(np.median([np.mean(g) for g in gaps.values()]))
    return median <= MARGIN, f"median rival {median:+.3f} ({_listed_gaps(gaps)})"


def _poorer(methods, ours, rivals, per_k):
    gaps = _gaps(methods, ours, rivals)
    if not gaps:
        return None, "no common scores"
    return all(np.mean(g) <= -MARGIN for g in gaps.values()), _listed_gaps(gaps)


def _faster(methods, ours, rivals, per_k):
    ratios, text = _ratios(methods, ours, rivals, per_k)
    return all(ratio >= FASTER for ratio in ratios), text


def _same_time(methods, ours, rivals, per_k):
    ratios, text = _ratios(methods, ours, rivals, per_k)
    return all(1 / COMPARABLE <= ratio <= COMPARABLE for ratio in ratios), text


def _gaps(methods, ours, rivals):
    gaps = {rival: compare_scores(methods, ours, rival) for rival in rivals}
    return {rival: gap for rival, gap in gaps.items() if gap}


def _listed_gaps(gaps):
    longest = max(map(len, gaps.values()))
    parts = []
    for rival, gap in gaps.items():
        rest = "" if len(gap) == longest else f" over {len(gap)} of {longest} k"
        parts.append(f"{rival} {np.mean(gap):+.3f}{rest}")
    return ", ".join(parts)


def _ratios(methods, ours, rivals, per_k):
    ratios, parts = [], []
    for rival in rivals:
        ratio, rest = compare_seconds(methods, ours, rival), ""
        if rival in per_k:
            record = next(iter(methods[rival].values()))
            rest = f" for one k ({ratio:,.1f}x for all)"
            ratio /= len([n for n in record["selected"] if n is not None])
        ratios.append(ratio)
        parts.append(f"{rival} {ratio:,.1f}x{rest}")
    return ratios, ", ".join(parts)


_CHECKS = {
    "accuracy": _competitive,
    "poorer": _poorer,
    "faster": _faster,
    "same-time": _same_time,
}
