"""What is compared, and how, on some data: settings that follow from the options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tamis.comparison.methods.baselines import BASELINES, KEPT_ALONE, find_method
from tamis.comparison.methods.families import METHODS
from tamis.comparison.options import Options
from tamis.comparison.problem.problem import Problem
from tamis.paths.folds import default_folds, default_repeats, leave_one_batch_out
from tamis.paths.rule import TOLERANCE
from tamis.tables.columns.spelling import hint_alike
from tamis.tables.errors import InputError, nearest

__all__ = [
    "Settings",
    "find_beside",
    "find_device",
    "find_methods",
    "find_named",
    "make_settings",
    "tell_device",
]

# A name that stands for all methods that are trained with it.
_PANEL = "panel"


@dataclass(frozen=True)
class Settings:
    """What is compared, and how, on some data."""

    methods: tuple  # names of methods and baselines
    n_folds: int = 5
    n_repeats: int = 1
    seed: int = 0
    scoring: str = "balanced_accuracy"
    minimize: str = "overall"  # "overall", "per-sample"
    tolerance: float = TOLERANCE  # difference in score that is not worth another feature
    max_features: int | None = None  # largest number of features of a model
    positive: int | None = None  # index of the class that `min_sensitivity` is about
    min_sensitivity: float | None = None
    permutations: int = 0  # how often everything is repeated with shuffled labels
    beside: tuple[str, ...] = ()  # sparse baselines that are compared, and not recommended
    # Cost of predicting each class (columns) for rows of each class (rows).
    misclassification: tuple[tuple[float, ...], ...] | None = None
    learning_curve: bool = False
    # assay_error, assay_errors: measurement errors: of all features, and of single ones.
    assay_error: float | None = None
    assay_errors: Mapping[str, float] = field(default_factory=dict)
    proof_seconds: float | None = None  # how long to prove the fit of a panel; None: briefly


def find_named(options: Options) -> tuple[str, ...]:
    """Methods that the user named; panel stands for those of both kinds of heads."""
    given = options.methods.split(",") if isinstance(options.methods, str) else options.methods
    names = [name for name in map(str.strip, map(str, given)) if name]
    if _PANEL in names:
        at = names.index(_PANEL) + 1
        names[at:at] = [
            method.name
            for method in METHODS
            if method.trains_with == _PANEL and method.name not in names
        ]
    return tuple(names)


def find_methods(options: Options) -> tuple[str, ...]:
    """Names of the methods to compare; baselines are added if none is named.

    The kept columns alone are always among the baselines.
    """
    names, wanted = [method.name for method in (*METHODS, *BASELINES)], find_named(options)
    kept = (KEPT_ALONE.name,) if options.keep else ()
    if wanted in (("auto",), ("all",)):
        return (*names, *kept)
    unknown = [name for name in wanted if name not in names]
    if unknown or not wanted:
        near = nearest(unknown[0], names, most=1, cutoff=0.6) if unknown else []
        raise InputError(
            f"--methods {unknown[0] if unknown else options.methods}: the methods are "
            f"{', '.join(names)}; or auto, or all.{f' Did you mean {near[0]}?' if near else ''}"
        )
    beside = find_beside(options)
    if all(find_method(name, beside).is_baseline for name in wanted):
        able = ", ".join(name for name in names if not find_method(name, beside).is_baseline)
        raise InputError(
            f"--methods: none of the methods named may be recommended. Add one of: {able}."
        )
    ours = [method.name for method in METHODS if method.name in wanted]
    baselines = [method.name for method in BASELINES if method.name in wanted]
    return (*ours, *(baselines or [method.name for method in BASELINES]), *kept)


def find_beside(options: Options) -> tuple[str, ...]:
    """Sparse baselines that are only compared: those that the user did not name, or none of them.

    If methods are named, a baseline that is added to them is not recommended in their place.
    """
    wanted = find_named(options)
    is_open = options.baselines and wanted in (("auto",), ("all",))
    return tuple(
        method.name
        for method in BASELINES
        if method.is_sparse_baseline
        and not (is_open or (options.baselines and method.name in wanted))
    )


def find_device(device: str | None) -> str | None:
    """The device to train on, after a trial; None for the processor.

    InputError is raised if torch cannot compute there.
    """
    if device in (None, "cpu"):
        return None
    if not isinstance(device, str):
        raise InputError(f"--device: expected the name of a device of torch, got {device!r}.")
    processor = "Leave out --device to train on the processor"
    try:
        import torch
    except ImportError as error:
        raise InputError(
            f"--device {device} needs torch: pip install torch. {processor}."
        ) from error
    try:
        torch.zeros(1, dtype=torch.float64, device=device).item()
    except (RuntimeError, AssertionError, TypeError) as error:
        reason = str(error).partition("\n")[0].rstrip(".")
        raise InputError(
            f"--device {device} cannot be used here ({reason}). {processor}, or name a device "
            "that torch finds."
        ) from error
    return device


def tell_device(problem: Problem, methods: Sequence[str]) -> list[str]:
    """A message about which methods train on the device of a problem, if it has one."""
    if problem.device is None:
        return []
    able = [name for name in methods if find_method(name).uses_device(problem)]
    if not able:
        return [f"none of the methods can train on {problem.device}: all run on the processor"]
    return [f"trained on {problem.device}: {', '.join(able)}; all others run on the processor"]


def make_settings(options: Options, problem, notes: list[str]) -> Settings:
    """The settings for some data.

    `notes`: receives messages for the user.
    """
    if options.min_sensitivity is not None and options.positive is None:
        raise InputError(
            "--min-sensitivity: name the class whose sensitivity is meant with --positive CLASS."
        )
    methods, beside = find_methods(options), find_beside(options)
    if problem.weights is not None:
        methods = _weighted_methods(methods, beside, notes)
    methods = _suitable_methods(methods, options, problem, notes)
    if options.readable:
        methods = _readable_methods(methods, beside, notes)
    return Settings(
        methods=methods,
        n_folds=_count_folds(options, problem, notes),
        n_repeats=options.repeats or default_repeats(problem.n_rows),
        seed=options.seed,
        scoring=options.scoring,
        minimize=options.minimize,
        tolerance=options.tolerance,
        max_features=options.max_features,
        positive=_find_positive(options, problem),
        min_sensitivity=options.min_sensitivity,
        permutations=options.permutations,
        beside=beside,
        learning_curve=options.learning_curve,
        assay_error=options.assay_error,
        assay_errors=options.assay_errors,
        proof_seconds=options.proof_seconds,
    )


def _count_folds(options, problem, notes):
    """Number of folds: at most the number of rows, or sample groups, of the smallest class."""
    codes, groups, batches = problem.codes, problem.groups, problem.batches
    if batches is not None and batches.max() < 1:
        raise InputError(
            "--batch: there is only one site or batch, so none can be left out in turn."
        )
    if batches is not None and groups is not None:
        for fold in leave_one_batch_out(batches, groups, options.seed):
            if not fold.train.size:
                raise InputError(
                    "--batch: one site or batch has rows of every sample group, which leaves no "
                    "rows for training."
                )
    counts = np.bincount(codes)
    smallest = int(counts.min())
    if groups is not None:
        of_class = [np.unique(groups[codes == c]).size for c in range(counts.size)]
        smallest = min(of_class)
        if smallest < 2:
            _refuse_one_group(problem, int(np.argmin(of_class)))
    wanted = options.folds or default_folds(codes.size, smallest)
    if smallest >= wanted:
        return wanted
    what = "groups" if groups is not None else "rows"
    n_folds = max(2, smallest)
    notes.append(f"the smallest class has {smallest} {what}: {n_folds} folds, not {wanted}")
    return n_folds


def _refuse_one_group(problem, c):
    """Raise the error about a class all of whose rows belong together."""
    label, n_rows = problem.classes[c], int(np.count_nonzero(problem.codes == c))
    merge = "Collect other rows of this class, or merge it with another class"
    labels, counts = map(str, problem.classes.tolist()), np.bincount(problem.codes).tolist()
    merge += hint_alike(str(label), dict(zip(labels, counts, strict=True)))
    if problem.times is not None and (problem.times[problem.codes == c] >= n_rows).all():
        raise InputError(
            f"class {label}: its {n_rows} rows are duplicates of one row, so there is only one "
            f"sample of it, which cannot be both in training and in test. {merge}. If these are "
            "different samples with the same values, use --duplicates keep."
        )
    raise InputError(
        f"class {label}: its {n_rows} rows belong to one sample group, which cannot be both in "
        f"training and in test. {merge}."
    )


def _weighted_methods(methods, beside, notes):
    """Methods that use sample weights exactly; the others are skipped, with a message."""
    exact = tuple(name for name in methods if find_method(name).takes_weights)
    if all(find_method(name, beside).is_baseline for name in exact):
        able = ", ".join(method.name for method in METHODS if method.takes_weights)
        raise InputError(
            "--weights: none of the methods named can use sample weights exactly; "
            f"these can: {able}."
        )
    skipped = [name for name in methods if name not in exact]
    if skipped:
        notes.append(
            f"skipped because they cannot use sample weights exactly: {', '.join(skipped)}"
        )
    return exact


def _suitable_methods(methods, options, problem, notes):
    """Methods that can be used for the data; others are skipped, with a message if named."""
    skipped = [name for name in methods if not find_method(name).suits(problem)]
    left = tuple(name for name in methods if name not in skipped)
    beside = find_beside(options)
    if all(find_method(name, beside).is_baseline for name in left):
        raise InputError(
            f"--methods {skipped[0]}: kernels are not used for sparse data; use panel."
        )
    written = options.methods.split(",") if isinstance(options.methods, str) else options.methods
    for name in skipped:
        if name in [word.strip() for word in written]:
            notes.append(f"{name} is not run: kernels are not used for sparse data")
    return left


def _readable_methods(methods, beside, notes):
    """Methods whose models can be read, and the baselines; others are left out with a message."""
    allowed = [find_method(name, beside) for name in methods]
    left = tuple(m.name for m in allowed if m.is_readable or m.is_baseline)
    if all(method.is_baseline for method in allowed if method.name in left):
        able = ", ".join(method.name for method in METHODS if method.is_readable)
        raise InputError(
            f"--readable: the models of none of the methods named can be read; these can: {able}."
        )
    skipped = [name for name in methods if name not in left]
    if skipped:
        notes.append(
            "left out because their models cannot be explained, asked, turned into a card and "
            f"exported to SQL (--readable): {', '.join(skipped)}"
        )
    return left


def _find_positive(options, problem):
    if options.positive is None:
        return None
    labels = [str(label) for label in problem.classes.tolist()]
    if str(options.positive) not in labels:
        raise InputError(
            f"--positive {options.positive}: the classes are {', '.join(labels[:10])}."
        )
    return labels.index(str(options.positive))
