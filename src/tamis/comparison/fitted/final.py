"""The model of one level, trained on all rows and reduced to its columns, and its features."""

from functools import partial

import numpy as np
from scipy import sparse

from tamis import __version__
from tamis._array import is_sparse
from tamis._base.threads import limit_threads
from tamis.comparison.attempts import attempt
from tamis.comparison.choosing.results import calibrate
from tamis.comparison.fitted.f_tests import feature_p_values, p_values_of_features
from tamis.comparison.fitted.feature_centers import class_centers
from tamis.comparison.fitted.interchangeable import replace_features
from tamis.comparison.fitted.panel_guarantees import guarantee_features
from tamis.comparison.fitted.proof import in_best_fits, prove_panel
from tamis.comparison.methods.baselines import find_method
from tamis.comparison.problem.redundancy import correlations
from tamis.tables.classifying.table_model import TableModel
from tamis.tables.classifying.unusual import observe

__all__ = [
    "SUBSTITUTE",
    "describe_features",
    "find_batch_features",
    "fit_final",
    "make_model",
    "outline_features",
    "train_final",
]

# Features this much correlated with a selected one could replace it.
SUBSTITUTE = 0.8
_N_SUBSTITUTES = 3
_N_DESCRIBED = 200
_SUBSTITUTE_ROWS = 20_000
# A feature reveals the batch if this share of its variance is between batches.
_BATCH_SHARE = 0.1


def find_batch_features(X, batches, feature_of, features):
    """Find the features, among those given, that reveal the batch of a row.

    Those with a q-value below 0.05 of which at least a tenth of the variance is between batches.
    """
    columns = np.flatnonzero(np.isin(feature_of, features))
    position = np.searchsorted(np.sort(features), feature_of[columns])
    part = X[:, columns]
    part = part.toarray() if is_sparse(part) else part
    _, q_values = feature_p_values(part, batches, position, len(features))
    means = part.mean(axis=0)
    total = ((part - means) ** 2).sum(axis=0)
    between = sum(
        (batches == b).sum() * (part[batches == b].mean(axis=0) - means) ** 2
        for b in np.unique(batches)
    )
    share = np.divide(between, total, out=np.zeros_like(total), where=total > 0)
    largest = np.zeros(len(features))
    np.maximum.at(largest, position, share)
    return np.sort(features)[(q_values < 0.05) & (largest >= _BATCH_SHARE)].tolist()


def _tested_metric(comparison):
    """Medians are tested if only they rank features one by one, else means.

    Of all methods of the comparison, whatever is excluded later.
    """
    methods = [find_method(name) for name in comparison.settings.methods]
    metrics = {method.metric for method in methods if method.ranks == "one by one"}
    return "l1" if metrics == {"l1"} else "l2"


def outline_features(comparison, choice, trained):
    """The features of a model, best first, with what needs no work.

    `trained`: the path on all rows, of `fit_final`. Returns `records`: as of `describe_features`;
    None (or nothing) for what is not known yet.
    """
    problem, result, place = trained.part.problem, comparison.result(choice.method), choice.place
    sources = problem.preparation.sources
    records = []
    for rank, (feature, gain) in enumerate(_ordered(result, trained, place), 1):
        columns = np.flatnonzero(problem.feature_of == feature)
        record = {
            "rank": rank,
            "feature": problem.names[feature],
            "source": ";".join(dict.fromkeys(sources[j] for j in columns)),
            result.method.importance_name: float(gain),
            "centers": {},
            "stands_out": "",
            "stability": float(result.selected[place, feature]),
            "frequency": None,
            "frequency_with_substitutes": None,
            "p": None,
            "q": None,
            "adjusted_p": None,
            "in_best_fits": "",
            **_tell_substitutes(problem.names, [], None),
            "kept": bool(problem.kept[feature]),
        }
        if problem.batches is not None:
            record["tells_batch"] = None
        records.append(record)
    return records


def _ordered(result, trained, place):
    """The features of a level with their gains, best first."""
    features = trained.features(place)
    gains = result.method.gains(trained, place)[features]
    order = np.argsort(-gains, kind="stable")
    return list(zip(features[order], gains[order], strict=True))


def describe_features(comparison, choice, trained, failed, proof_callbacks=()):
    """Describe the features of a model, and what is guaranteed about them.

    `trained`: the path on all rows, of `fit_final`; `failed`: receives the parts that fail, with
    the reason; `proof_callbacks`: hear of the proof of a panel. Returns `records`: one per
    feature, best first: "rank", "feature", "source", its importance (see `importance`),
    "centers" (by class a number, or a dict from categories to proportions), "stands_out",
    "stability" (proportion of folds), "frequency" and "frequency_with_substitutes" (proportions
    of half-samples), "p", "q", "adjusted_p" (Westfall-Young), "in_best_fits" ("all", "some" or
    "none" of the panels that fit best; empty if not known), "substitutes", "interchangeable",
    "loss_if_replaced" and "kept"; None where a number is not known; `guarantees`: statements
    about the model: see
    `tamis.comparison.fitted.panel_guarantees`.
    """
    part, problem, settings = trained.part, trained.part.problem, comparison.settings
    result, place = comparison.result(choice.method), choice.place
    features = np.array([f for f, _ in _ordered(result, trained, place)], dtype=np.intp)
    streamed = comparison.streamed
    prove = partial(
        prove_panel,
        seconds=settings.proof_seconds,
        n_rows=None if streamed is None else streamed.n_rows,
        callbacks=proof_callbacks,
    )
    promised = guarantee_features(
        problem,
        result.method,
        trained,
        place,
        result.levels,
        settings.seed,
        SUBSTITUTE,
        _tested_metric(comparison),
        comparison.memo.tested,
        failed,
        prove,
    )

    def replace():
        return replace_features(
            problem,
            result.method,
            trained,
            place,
            comparison.folds,
            balanced=settings.scoring != "accuracy",
            tolerance=settings.tolerance,
            correlation=SUBSTITUTE,
        )

    def test():
        if all_rows is not None and problem.groups is None:
            return p_values_of_features(all_rows.p, part.feature_of, len(problem.names))
        X, codes = _one_row_a_group(part.X, part.codes, problem.groups)
        return feature_p_values(X, codes, part.feature_of, len(problem.names))

    def find_revealing():
        return set(find_batch_features(part.X, problem.batches, part.feature_of, features))

    all_rows = find = None
    if streamed is not None:
        describe = partial(streamed.describe_columns, comparison.kept, part, features)
        all_rows = attempt(failed, "centers", partial(describe, result.method.has_medians))
        find = None if all_rows is None else all_rows.centers
    unknown = np.full(len(problem.names), np.nan)
    replaced = attempt(failed, "interchangeable", replace, {})
    p_values, q_values = attempt(failed, "p_values", test, (unknown, unknown))
    others = attempt(failed, "substitutes", lambda: _substitutes(part, features, SUBSTITUTE), {})
    revealing = set()
    if problem.batches is not None and features.size:
        revealing = attempt(failed, "tells_batch", find_revealing)
    centers = attempt(
        failed,
        "centers",
        lambda: class_centers(part, features, result.method.has_medians, find),
        {},
    )
    records = outline_features(comparison, choice, trained)
    for feature, record in zip(features, records, strict=True):
        record |= centers.get(int(feature), {})
        record |= {
            "frequency": _known(promised.frequency[feature]),
            "frequency_with_substitutes": _known(promised.with_substitutes[feature]),
            "p": _known(p_values[feature]),
            "q": _known(q_values[feature]),
            "adjusted_p": _known(promised.adjusted_p[feature]),
            "in_best_fits": in_best_fits(promised.told.get("fit", {}), record["feature"]),
            **_tell_substitutes(
                problem.names, others.get(feature, []), replaced.get(int(feature))
            ),
        }
        if problem.batches is not None and revealing is not None:
            record["tells_batch"] = int(feature) in revealing
    return records, promised.told


def _known(number):
    return None if np.isnan(number) else float(number)


def _tell_substitutes(names, correlated, replacement):
    """Correlated features, which of them is interchangeable, and what replacing loses at most."""
    exchanged = None
    if replacement is not None and replacement.is_interchangeable:
        exchanged = replacement.substitutes[0]
    told = [
        f"{names[f]} ({r:.2f}, interchangeable)" if f == exchanged else f"{names[f]} ({r:.2f})"
        for f, r in correlated
    ]
    return {
        "substitutes": "; ".join(told),
        "interchangeable": "" if exchanged is None else names[exchanged],
        "loss_if_replaced": None if replacement is None else replacement.limit,
    }


def _one_row_a_group(X, codes, groups):
    """Means of the rows with the same sample group and class: they are not independent."""
    if groups is None:
        return X, codes
    cells, cell = np.unique(groups * (codes.max() + 1) + codes, return_inverse=True)
    sizes = np.bincount(cell)
    mean = sparse.csr_array((1.0 / sizes[cell], (cell, np.arange(cell.size))))
    return mean @ X, cells % (codes.max() + 1)


def _substitutes(part, features, limit):
    """Features that are correlated with a selected one, with their correlations.

    For the best features only, and from every n-th row if there are many.
    """
    names, feature_of = part.problem.names, part.feature_of
    sizes = np.bincount(feature_of, minlength=len(names))
    substitutes = {feature: [] for feature in features}
    single = np.array([f for f in features if sizes[f] == 1], dtype=np.intp)[:_N_DESCRIBED]
    if not single.size:
        return substitutes
    X = part.X[:: -(-part.X.shape[0] // _SUBSTITUTE_ROWS)]
    place = np.full(len(names), -1)
    place[feature_of] = np.arange(feature_of.size)
    free = np.flatnonzero(~np.isin(feature_of, features) & (sizes[feature_of] == 1))
    for start in range(0, single.size, 64):
        some = single[start : start + 64]
        r = correlations(X, place[some])[:, free]
        for feature, row in zip(some, r, strict=True):
            near = np.flatnonzero(np.abs(row) >= limit)
            near = near[np.argsort(-np.abs(row[near]), kind="stable")][:_N_SUBSTITUTES]
            substitutes[feature] = [(feature_of[free[j]], row[j]) for j in near]
    return substitutes


def train_final(comparison, result):
    """Train one method on all rows, at all its levels."""
    problem, settings = comparison.problem, comparison.settings
    part = problem.train_part(np.arange(problem.n_rows), problem.codes, settings.seed)
    # All levels, as in the folds: a level may depend on the others of its path. One thread, as
    # there, so that sums are identical; and threads only delay products of few rows.
    with limit_threads("blas"):
        return result.method.train(part, list(result.levels))


def make_model(comparison, result, place, trained, prepare=None):
    """The model of one level, reduced to its columns.

    `place`: place of the level. `trained`: from `train_final`. `prepare`: returns the preparation
    of some columns; None: learned from the rows of the comparison.
    """
    problem, settings = comparison.problem, comparison.settings
    part = trained.part
    columns, estimator = result.method.shrink(trained, place)
    estimator.classes_ = problem.classes[part.known[estimator.classes_]]
    used = part.columns[columns]
    if prepare is None:
        everything = np.union1d(problem.missing, used)
        preparation = problem.preparation.learn(problem.encoded, everything, problem.weights)
        preparation = observe(preparation.restrict(used), problem.encoded[:, used])
    else:
        preparation = prepare(used)
    descriptions = comparison.descriptions
    model = TableModel(
        method=result.method.name,
        level=float(result.levels[place]),
        target=comparison.data.target or "target",
        preparation=preparation,
        estimator=estimator,
        priors=problem.priors,
        frequencies=problem.frequencies,
        is_dense=trained.columns is not None,
        temperature=calibrate(result, place, problem),
        descriptions={k: v for k, v in descriptions.items() if k in preparation.required},
        version=__version__,
    )
    if settings.positive is not None:
        model.positive = problem.classes[settings.positive].item()
    if settings.misclassification is not None:
        model.misclassification = np.array(settings.misclassification)
    if result.thresholds is not None:
        model.threshold = _tempered(result, place, model.temperature)
    return model


def fit_final(comparison, choice, trained=None):
    """Train one method at one level on all rows.

    `trained`: the method's path, if it was trained on all rows already. Returns `model`;
    `trained`: the path on all rows, for `describe_features`.
    """
    result = next(r for r in comparison.results if r.method.name == choice.method)
    trained = trained or train_final(comparison, result)
    return make_model(comparison, result, choice.place, trained), trained


def _tempered(result, at, temperature):
    """Adjust a threshold to calibrated probabilities so that the sensitivity stays the same.

    Exact for two classes, where a temperature keeps the order of the probabilities; approximate
    for more.
    """
    p = result.thresholds[at]
    n_classes = result.probabilities.shape[3]
    with np.errstate(divide="ignore"):
        logs = np.log([max(p, 0.0), max(1 - p, 0.0) / (n_classes - 1)]) / temperature
    share, other = np.exp(logs - logs.max())
    return float(share / (share + (n_classes - 1) * other))
