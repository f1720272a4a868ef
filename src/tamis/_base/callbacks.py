"""The base class of all estimators: scikit-learn's callbacks."""

from collections.abc import Callable
from typing import TypeVar

from sklearn.base import BaseEstimator

try:  # scikit-learn >= 1.9
    from sklearn.callback import CallbackSupportMixin
    from sklearn.callback import with_callbacks as _with_callbacks
except ImportError:  # scikit-learn 1.8: fit runs without progress reports

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stand-in for scikit-learn 1.8, which has no callbacks."""

        def _init_callback_context(self, **kwargs):
            return _SilentContext()

    class _SilentContext:
        def subcontext(self, **kwargs):
            return self

        def call_on_fit_task_begin(self, **kwargs):
            return None

        def call_on_fit_task_end(self, **kwargs):
            return False

    def _with_callbacks(method):
        return method


__all__ = ["TamisEstimator", "steps", "with_callbacks"]

_Fit = TypeVar("_Fit", bound=Callable)


def with_callbacks(fit: _Fit) -> _Fit:
    """Let `fit` call the estimator's callbacks; type checkers see its own signature."""
    return _with_callbacks(fit)


class TamisEstimator(CallbackSupportMixin, BaseEstimator):
    """Base of every estimator: callbacks.

    The HTML view has no link to the documentation, because the pages have no public address:
    scikit-learn's mixin links only what its `_doc_link_module` names.
    """


def steps(estimator, names, **reported):
    """Go through `names`, reporting each as one step of `fit` to the estimator's callbacks.

    A callback that asks to stop ends the loop; what was done before is kept. `names` may be an
    iterator of unknown length.
    """
    n_steps = len(names) if hasattr(names, "__len__") else None
    context = estimator._init_callback_context(max_subtasks=n_steps)
    context.call_on_fit_task_begin(estimator=estimator, **reported)
    for name in names:
        step = context.subcontext(task_name=str(name))
        step.call_on_fit_task_begin(estimator=estimator)
        yield name
        if step.call_on_fit_task_end(estimator=estimator):
            break
    context.call_on_fit_task_end(estimator=estimator)
