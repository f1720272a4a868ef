"""`compare`: all methods on the same folds, a recommendation, and its honest score."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any

import joblib
from numpy.typing import ArrayLike

from tamis.comparison.attempts import attempt
from tamis.comparison.callbacks import Callback, Start
from tamis.comparison.checks import check_model, check_result
from tamis.comparison.choosing.error_costs import cost_matrix
from tamis.comparison.comparison import Comparison
from tamis.comparison.fitted.promises import ASKING, check_promises
from tamis.comparison.methods.baselines import estimate_seconds
from tamis.comparison.options import Options
from tamis.comparison.parameters import PARAMETERS, name_parameters
from tamis.comparison.prepare import prepare, set_aside
from tamis.comparison.run import Work, drop_slow, plan, recommend, run
from tamis.comparison.running.checkpoints import open_store
from tamis.comparison.settings import find_device, find_named, make_settings, tell_device
from tamis.paths.rule import TOLERANCE
from tamis.paths.seeds import as_seed
from tamis.tables.columns.table import Table
from tamis.tables.errors import InputError, in_python
from tamis.tables.reading.frames import as_table

if TYPE_CHECKING:
    from tamis.comparison.streaming.streamed import Streamed

__all__ = ["Callback", "Start", "compare", "compare_table"]


def compare(
    X: Any,
    y: ArrayLike | str | None = None,
    *,
    methods: str | Sequence[str] = "auto",
    scoring: str = "balanced_accuracy",
    cv: int | None = None,
    repeats: int | None = None,
    groups: ArrayLike | str | None = None,
    batches: ArrayLike | str | None = None,
    sample_weight: ArrayLike | str | None = None,
    time: ArrayLike | str | None = None,
    subgroups: Mapping[str, ArrayLike] | Sequence[str] | str = (),
    costs: Mapping[str, float] | None = None,
    feature_groups: Mapping[str, Sequence[str]] | None = None,
    keep: Sequence[str] | None = None,
    max_features: int | None = None,
    tolerance: float = TOLERANCE,
    minimize: str = "overall",
    positive: str | int | bool | None = None,
    min_sensitivity: float | None = None,
    calibration_share: float | None = None,
    confidence: float | None = None,
    max_error: float | None = None,
    max_miss: float | None = None,
    misclassification: Mapping[tuple[Any, Any], float] | None = None,
    permutations: int = 0,
    proof_seconds: float | None = None,
    learning_curve: bool = False,
    assay_error: float | Mapping[str, float] | None = None,
    redundancy: float | None = None,
    duplicates: str = "group",
    text: Sequence[str] = (),
    categorical: str | Sequence[str] = "auto",
    drop: Sequence[str] = (),
    include: Sequence[str] = (),
    missing: str = "impute",
    below_detection: str = "half",
    vectorizer: str = "counts",
    ngrams: tuple[int, int] = (1, 1),
    baselines: bool = True,
    readable: bool = False,
    checkpoints: str | PathLike | None = None,
    force: bool = False,
    max_seconds: float | None = None,
    callbacks: Sequence[Callback] = (),
    n_jobs: int | None = None,
    random_state: int | None = 0,
    device: str | None = None,
) -> Comparison:
    """Compare all methods on the same folds, and recommend the sparsest good model.

    Its score (`honest_score`) is selection-corrected: it includes the choice of the method and of
    the number of features.

    Parameters
    ----------
    X : frame, AnnData, Table, array-like or sparse matrix of shape (n_samples, n_columns)
        Samples. Frames may be of pandas, polars or pyarrow, with strings, categories and missing
        values; a `Table` comes from `tamis.read_table`.
    y : array-like of shape (n_samples,) or str
        Labels, or the name of their column. Not needed for a `Table` that has labels.
    methods : "auto", "all", or sequence of str
        Names that `tamis methods` lists; "auto" skips those that take over about ten minutes.
    scoring : {"balanced_accuracy", "accuracy", "f1_macro", "mcc", "roc_auc"}
        Score to maximise.
    cv : int or None
        Number of stratified folds; None: 5, or 2 above 100,000 rows with at least 10,000 of each
        class.
    repeats : int or None
        How often the folds are made; None: more often for fewer rows.
    groups, batches : array-like of shape (n_samples,), str or None
        Sample groups, kept in one fold (patients); sites or batches (hospitals, laboratories),
        each left out in turn.
    sample_weight : array-like of shape (n_samples,), str or None
        Sample weights: counts if all are whole numbers (2 is the row twice), otherwise relative,
        scaled to sum to the number of rows with positive weight. Methods that cannot use them
        exactly are skipped.
    time : array-like of shape (n_samples,), str or None
        When rows were measured (numbers or dates): adds the score of predicting later rows from
        earlier ones.
    subgroups : sequence of str, or mapping of str to array-like of shape (n_samples,)
        Columns (or values): adds a score for each of their values; columns remain features.
    costs : mapping of str to float, or None
        Costs of features (of feature groups by the group's name); 1 for the others.
    feature_groups : mapping of str to sequence of str, or None
        Columns that are obtained together and count as one feature, by the group's name.
    keep : sequence of str or None
        Features that are always available and not counted.
    max_features : int or None
        Largest number of features of a model.
    tolerance : float
        Difference in score that is not worth another feature.
    minimize : {"overall", "per-sample"}
        Which number of features to minimise.
    positive, min_sensitivity : label and float, or None
        The positive class, and the smallest sensitivity for it.
    calibration_share : float or None
        Proportion of the rows that is set aside before anything else, as a conformal calibration
        set: for prediction sets and for the guarantees of the next three parameters.
    confidence : float or None
        Confidence of the guarantees: of `min_sensitivity` (None: no guarantee, the threshold is
        set in the folds), and of `max_error` and `max_miss` (None: 0.95).
    max_error, max_miss : float or None
        Recommend the datum-wise model with the fewest questions for which the calibration set
        guarantees at most this error rate, or this false-negative rate of the class `positive`.
    misclassification : mapping of (label, label) to float, or None
        Costs of errors, by true and predicted class; 1 for the others. Decisions minimise the
        expected cost at the class frequencies of the data.
    permutations : int
        How often everything is repeated with shuffled labels, for a p-value.
    proof_seconds : float or None
        Seconds of an ordinary machine to prove how well a recommended panel fits, among all of as
        many features; None: less than 1. Counted work ends the search, the same on every machine.
    learning_curve : bool
        Whether to train on fewer rows, too, and estimate what twice the rows would add to the
        score.
    assay_error : float, mapping of str to float, or None
        Measurement error as a proportion of the value (coefficient of variation), of all features
        or by name: adds the score that is lost when held-out rows are measured again.
    redundancy : float or None
        Features more correlated than this with a better one are not used.
    duplicates : {"group", "keep", "drop"}
        Keep duplicate rows in one fold, treat them as independent, or drop all but the first.
    text, categorical, drop, include : sequence of str
        Columns to use as text; as categories ("auto": detected); not at all; even if they look
        like names of rows, dates or text.
    missing : {"impute", "error"}
        How to handle missing values.
    below_detection : {"half", "limit", "missing"}
        What "<0.1" is read as in a column of numbers: half of the limit, the limit, or a missing
        value; ">100" is the limit, or missing.
    vectorizer : {"counts", "tfidf", "hashing"}
        How words are counted.
    ngrams : (int, int)
        Shortest and longest sequence of words to count.
    baselines : bool
        Whether sparse baselines (lasso, relaxed lasso, RFE) may be recommended, too: all of them,
        or those that `methods` names. Otherwise they are only compared.
    readable : bool
        Whether only models may be recommended that can be explained, asked, turned into a points
        card and exported to SQL. Other methods are not run.
    checkpoints : str or path-like or None
        Folder for finished tasks: an interrupted comparison resumes when it is repeated.
    force : bool
        Whether checkpoints of a different comparison in that folder are discarded.
    max_seconds : float or None
        Start no new work after this many seconds; the cheapest method is always finished.
    callbacks : sequence of Callback
        Called before, during and after the work.
    n_jobs : int or None
        Number of processes; -1 for all cores. Results do not depend on it.
    random_state : int or None
        Seed; None draws one.
    device : str or None
        Train on this device of torch, such as "cuda", with the methods that can use it
        (primal-dual on dense data, landmarks); all others run on the processor. Landmarks are the
        same anywhere, primal-dual models to their duality gap.

    Returns
    -------
    comparison : Comparison

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from tamis import compare
    >>> data = load_breast_cancer(as_frame=True)
    >>> comparison = compare(data.data, data.target, methods=["centers"], cv=3)
    >>> comparison.choice.method, round(comparison.honest_score.score, 1)
    ('centers', 0.9)
    >>> comparison.model.predict(data.data)[:3].tolist()
    [0, 0, 0]
    """
    parameters = dict(locals())
    try:
        table, backend = as_table(
            X,
            y,
            groups=groups,
            batches=batches,
            weights=sample_weight,
            time=time,
            subgroups=subgroups,
            text=text,
            categorical=() if isinstance(categorical, str) else categorical,
            drop=drop,
            include=include,
            missing=missing,
            below_detection=below_detection,
        )
        if not isinstance(X, Table):
            _warn_of_dropped(table.notes)
        if isinstance(categorical, str) and categorical != "auto":
            raise InputError(
                f"categorical must be 'auto' or a list of columns, got {categorical!r}."
            )
        options = Options.from_parameters(
            parameters,
            costs=dict(costs or {}),
            feature_groups={
                column: name
                for name, columns in (feature_groups or {}).items()
                for column in columns
            },
            keep=tuple(keep or ()),
            positive=None if positive is None else str(positive),
            baselines=bool(baselines),
            readable=bool(readable),
            seed=as_seed(random_state),
            misclassification=dict(misclassification or {}),
            learning_curve=bool(learning_curve),
            assay_error=None if isinstance(assay_error, Mapping) else assay_error,
            assay_errors=dict(assay_error) if isinstance(assay_error, Mapping) else {},
        )
        comparison = compare_table(
            table,
            options,
            checkpoints=checkpoints,
            force=force,
            max_seconds=max_seconds,
            callbacks=callbacks,
            n_jobs=n_jobs,
        )
    except InputError as error:
        raise ValueError(in_python(error.for_command, PARAMETERS)) from error
    return name_parameters(replace(comparison, backend=backend))


def _warn_of_dropped(notes):
    """One warning about columns that were detected to be no features."""
    dropped = [in_python(note, PARAMETERS) for note in notes if note.startswith("dropped ")]
    if dropped:
        warnings.warn("; ".join(dropped), UserWarning, stacklevel=3)


def compare_table(
    table: Table,
    options: Options,
    *,
    methods: Sequence[str] | None = None,
    name: str = "data",
    descriptions: Mapping[str, dict] | None = None,
    checkpoints: str | PathLike | None = None,
    force: bool = False,
    max_seconds: float | None = None,
    only_finished: bool = False,
    callbacks: Sequence[Callback] = (),
    n_jobs: int | None = None,
    streamed: Streamed | None = None,
) -> Comparison:
    """`compare` for a table with labels.

    `methods`: exactly these methods, as an earlier comparison chose them; None: by the options.
    `name`, `descriptions`: name of the data; descriptions of the features. `checkpoints`, `force`,
    `max_seconds`, `callbacks`, `n_jobs`: as in `compare`. `only_finished`: start no task; use the
    checkpoints only. `streamed`: the table that `table` is a sample of.
    """
    start, n_jobs = time.perf_counter(), _count_jobs(n_jobs)
    check_promises(options)
    device = find_device(options.device)
    table, kept = set_aside(table, options)
    prepared = prepare(table, options, None if streamed is None else streamed.survey)
    problem, notes = replace(prepared.problem, device=device), prepared.table.notes
    settings = make_settings(options, problem, notes)
    needed = ()
    if kept is not None:
        kept = replace(kept, classes=problem.classes)
        notes += kept.announce(problem.codes, settings.methods)
        needed = (ASKING,) if kept.limits_questions else ()
    if options.misclassification:
        costs = cost_matrix(options.misclassification, problem.classes).tolist()
        settings = replace(settings, misclassification=tuple(map(tuple, costs)))
    planned, left_out = plan(problem, settings), {}
    if methods is not None:
        planned = planned.without([m for m in settings.methods if m not in methods])
    elif find_named(options) != ("all",):
        planned, left_out = drop_slow(planned, problem, find_named(options), notes, needed)
    notes += tell_device(problem, planned.settings.methods)
    store = None
    if checkpoints is not None:
        store = open_store(
            checkpoints,
            problem,
            options,
            planned.settings,
            force=force,
            only_finished=only_finished,
            callbacks=callbacks,
        )
    if callbacks:
        seconds = {name: estimate_seconds(problem, name) for name in planned.settings.methods}
        was_cleared = store is not None and store.was_cleared
        n_values = math.prod(problem.encoded.shape)
        done: frozenset[str] = frozenset()
        if store is not None:
            keys = [task.key for task in planned.tasks]
            done = frozenset(key for key in keys if store.path(key).exists())
        begun = Start(
            planned, seconds, notes, prepared.checks, n_jobs, was_cleared, n_values, done
        )
        for callback in callbacks:
            callback.on_start(begun)
    work = Work(
        problem,
        planned,
        store=store,
        n_jobs=n_jobs,
        deadline=math.inf if max_seconds is None else start + max_seconds,
        only_finished=only_finished,
        callbacks=callbacks,
    )
    outcome = run(work)
    comparison = Comparison.of(
        outcome,
        recommend(outcome, work),
        data=prepared.table,
        name=name,
        descriptions=dict(descriptions or {}),
        left_out=left_out,
        checks=list(prepared.checks),
        kept=kept,
        streamed=streamed,
        not_described=prepared.not_described,
    )
    if comparison.recommended is not None:
        if kept is not None and kept.limits_questions and not only_finished:
            comparison = comparison.with_questions()
        comparison = _check(comparison)
        if not only_finished:
            comparison.fit_choice(comparison.final_choice)
    for callback in callbacks:
        callback.on_end(comparison)
    return comparison


def _check(comparison):
    """The comparison with the checks of its result and model; stopped, if Ctrl-C ends them."""
    failed = dict(comparison.not_described)
    try:
        found = attempt(failed, "result_checks", partial(check_result, comparison), [])
        if "chance" not in [check.code for check in found]:  # else the model means nothing
            found += attempt(failed, "model_checks", partial(check_model, comparison), [])
    except KeyboardInterrupt:
        return replace(comparison, why_stopped="stopped", not_described=failed)
    return replace(comparison, checks=[*comparison.checks, *found], not_described=failed)


def _count_jobs(n_jobs):
    if n_jobs is None:
        return 1
    if n_jobs == 0 or n_jobs < -1:
        raise InputError(f"--n-jobs {n_jobs}: expected 1 or more, or -1 for all cores.")
    # Cores that this process may use: containers and batch systems may allow fewer than exist.
    return joblib.cpu_count() if n_jobs == -1 else n_jobs
