"""How far the fit of a panel is from that of the best panel of as many features.

`tamis.panel.certify` on all rows of the comparison. A number of nodes ends the search, so that
results do not depend on the machine: as many as an ordinary machine has done in a given time, by
the size of the data. The clock ends it only on a machine that is several times slower. The fit is
that of ridge-logistic regression, whatever head the panel has.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

import numpy as np

from tamis._base import decided
from tamis.comparison.methods.method import Method, Trained
from tamis.panel import Certificate, certify
from tamis.panel.proof.nodes import MOST_LISTED
from tamis.panel.proof.search import ProofProgress
from tamis.panel.selection import MOST_ROWS, is_rare

__all__ = ["in_best_fits", "limit_in_percent", "prove_panel"]

# Rough seconds of a node: of each; of each row of a problem, alone, by the squared number of
# listed groups, and by that of columns.
_NODE, _ROW, _PAIR, _VALUE = 5e-4, 1.2e-6, 8e-10, 3e-9
# Rough seconds that a proof may take by default, and the fewest nodes that are worth it.
_TIME, _FEWEST = 0.7, 5
# How many times as long it may take by the clock.
_SLOWEST = 20.0
# Numbers of panels that are kept and that are mentioned, and of exchanged features named.
_LISTED, _TOLD, _NAMED = 10, 3, 3
_SPREAD = 2.0  # units of deviance


def prove_panel(
    method: Method,
    trained: Trained,
    place: int,
    seconds: float | None = None,
    n_rows: int | None = None,
    callbacks: Iterable[Callable[[ProofProgress], object]] = (),
) -> dict[str, Any]:
    """Prove how well a panel fits.

    `trained`: the path on all rows; `place`: place of the level; `seconds`: how much work the
    search may do, in seconds of an ordinary machine; None: less than one; `n_rows`: rows of the
    table, if those of `trained` are a sample; `callbacks`: as in `certify`. Returns `told`: plain
    values with a "statement", or the "reason" why there is none.
    """
    part = trained.part
    if method.ranks not in ("forward", "path"):
        return {"reason": "only panels, the lasso and RFE are compared with all others of a size"}
    if is_rare(part.X):
        return {"reason": "words are too many for a search of all panels"}
    n_nodes = _count_nodes(part, _TIME if seconds is None else seconds)
    if seconds is None and n_nodes < _FEWEST:
        return {"reason": "a search of data of this size takes --proof-seconds"}
    X = part.X if trained.columns is None else part.X[:, trained.columns]
    certificate = certify(
        trained.model(place),
        X,
        part.codes,
        sample_weight=decided(part.weights),
        max_seconds=_SLOWEST * (_TIME if seconds is None else seconds),
        max_nodes=n_nodes,
        callbacks=callbacks,
    )
    feature_of = part.feature_of if trained.columns is None else part.feature_of[trained.columns]
    return _tell(certificate, feature_of, part, trained.features(place), n_rows)


def in_best_fits(told: dict[str, Any], name: str) -> str:
    """Whether a feature is in "all", "some" or "none" of the best fits; empty if not known."""
    if not told.get("is_complete"):
        return ""
    if name in told["in_all"]:
        return "all"
    if name in told["model_features_in_none"]:
        return "none"
    return "some"


def _count_nodes(part, seconds):
    """How many nodes an ordinary machine does in some seconds; at least one."""
    n_problems = 1 if part.known.size == 2 else part.known.size
    n_rows, n_columns = part.X.shape
    pairs = min(n_columns, MOST_LISTED) ** 2
    each = _NODE + n_problems * n_rows * (_ROW + _PAIR * pairs + _VALUE * n_columns)
    return max(1, int(seconds / each))


def _tell(certificate: Certificate, feature_of, part, features, n_rows) -> dict[str, Any]:
    names, best = part.problem.names, certificate.best
    panels = [[names[f] for f in np.unique(feature_of[panel])] for panel in best.panels]
    mine = sorted(names[f] for f in features if not part.problem.kept[f])
    none = {names[f] for f in np.unique(feature_of[best.in_none])}
    told: dict[str, Any] = {
        "loss": certificate.loss,
        "lower_bound": certificate.lower_bound,
        "gap": certificate.gap,
        "is_best": certificate.is_proved,
        "is_proved": best.is_proved,
        "is_complete": best.is_complete,
        "best_loss": float(best.losses[0]),
        "of": len(mine),
        "panels": best.n_panels,
        "as_good": best.n_within,
        "first": panels[:_LISTED],
        "in_all": [names[f] for f in np.unique(feature_of[best.in_all])],
        "model_features_in_none": [name for name in mine if name in none],
        "rows": int(part.codes.size),
        "of_rows": int(part.codes.size) if n_rows is None else n_rows,
        "nodes": best.n_nodes,
    }
    if best.n_panels < 2:
        return told | {"reason": "there is no other panel of the size"}
    if told["lower_bound"] <= 0.0 and told["best_loss"] >= told["loss"]:
        return told | {"reason": "the search ended before anything was proved"}
    return told | {"statement": _state(told, mine)}


def limit_in_percent(share: float) -> str:
    """A share that is not exceeded, in per cent: rounded up, and below 100 if it is."""
    if share >= 1.0:
        return "100"
    return _in_percent(share, math.ceil)


def _in_percent(share, whole):
    """Per cent with two digits, at most two decimals; more where it would become 100.

    `whole`: rounds up or down.
    """
    percent = Decimal(repr(float(share))) * 100
    n_decimals = 2 if percent < 1 else 1 if percent < 10 else 0
    while True:
        rounded = whole(percent.scaleb(n_decimals)) / Decimal(10) ** n_decimals
        if rounded < 100 or percent >= 100:
            return (
                f"{rounded:.{n_decimals}f}".rstrip("0").rstrip(".") if n_decimals else f"{rounded}"
            )
        n_decimals += 1


def _state(told: dict[str, Any], mine: list[str]) -> str:
    """One sentence on how good the fit is and on others, and one on what this is about."""
    size = f"{told['of']} feature{'' if told['of'] == 1 else 's'}"
    panels = f"{told['panels']:,} panels of {size}"
    limit = (
        f"no panel of {size} can fit these rows better by more than "
        f"{limit_in_percent(told['gap'])} % of its loss"
    )
    named = [mine]
    if told["is_best"]:
        first = f"Proved: none of the {panels} fits these rows better"
    elif told["best_loss"] < told["loss"]:
        better = _in_percent(1 - told["best_loss"] / told["loss"], math.floor)
        better = "less than 0.01" if better == "0" else better
        exchange = _capitalized(_exchange(mine, told["first"][0]))
        first = f"{exchange}, the panel fits these rows better: its loss is {better} % smaller"
        if told["is_proved"]:
            first += f", the smallest of all {panels} (proved)"
        elif told["lower_bound"] > 0.0:
            first += f"; {limit}"
        named.append(sorted(told["first"][0]))
    else:
        first = _capitalized(limit)
    others = [panel for panel in told["first"] if sorted(panel) not in named]
    is_near = told["loss"] <= told["best_loss"] + _SPREAD / 2
    n = told["as_good"] - is_near - (len(named) > 1)
    within = f"within {_SPREAD:g} units of deviance of the best fit"
    if n:
        few = others[: min(n, _TOLD)]
        listed = "; ".join(_exchange(mine, panel) for panel in few)
        left = n - len(few)
        more = f"; and {left:,} other{'' if left == 1 else 's'}" if few and left else ""
        at_least = "" if told["is_complete"] else "at least "
        verb = "other panel is" if n == 1 else "other panels are"
        told_all = f"{at_least}{n:,} {verb} {within}" + (f": {listed}{more}" if few else "")
        first += f". {_capitalized(told_all)}"
    elif told["is_complete"]:
        first += f". No other panel is {within}"
    return (
        f"{first}. This is about the fit of ridge-logistic regression to {_name_rows(told)}, not "
        "about new rows."
    )


def _name_rows(told):
    if told["rows"] < told["of_rows"]:
        return f"the sample of {told['rows']:,} rows (of {told['of_rows']:,}) that chose the panel"
    return f"{'all' if told['rows'] > MOST_ROWS else 'these'} {told['rows']:,} rows"


def _exchange(mine, panel):
    """What another panel has instead of some features of this one."""
    new = [str(name) for name in panel if name not in mine]
    if len(new) > _NAMED:
        return f"with {len(new)} of the {len(panel)} features exchanged"
    out = [str(name) for name in mine if name not in panel]
    return f"with {', '.join(new)} instead of {', '.join(out)}"


def _capitalized(text):
    return text[:1].upper() + text[1:]
