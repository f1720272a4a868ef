"""What a comparison tells while it runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tamis.comparison.running.tasks import Task

if TYPE_CHECKING:
    from tamis.comparison.comparison import Comparison
    from tamis.comparison.run import Plan

__all__ = ["Callback", "Start"]


@dataclass(frozen=True)
class Start:
    """What is known before the first task starts."""

    plan: Plan  # settings, folds and tasks
    seconds: dict  # rough seconds of one task of every method, by the rules that skip slow methods
    # notes, checks: what was recognised, dropped or changed; findings about the data.
    notes: list
    checks: list
    n_jobs: int  # tasks that run at the same time
    # Whether checkpoints of another comparison were discarded.
    was_cleared: bool = field(default=False)
    n_values: int = 0  # rows times columns of the encoded table
    done: frozenset[str] = frozenset()  # keys of tasks that have a checkpoint


class Callback:
    """Base class for callbacks of `compare`; override the methods you need."""

    def on_start(self, start: Start) -> None:
        """Called once, before the first task."""

    def on_task_begin(self, task: Task) -> None:
        """Called when a task (`method`, `fold`, `stage`) starts."""

    def on_task_end(self, task: Task, seconds: float | None) -> bool | None:
        """Called when a task finishes; return True to start no more tasks.

        `seconds` is None if the task failed. Tasks found in checkpoints end without beginning.
        """

    def on_message(self, message: str) -> None:
        """Called with what should be known at once, such as a damaged checkpoint."""

    def on_end(self, comparison: Comparison) -> None:
        """Called once, when everything is done."""
