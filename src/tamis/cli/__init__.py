"""The command line: `tamis ...`.

The commands import heavy modules when they run, so that `tamis --help` is fast.
"""

from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code: 0 success, 1 failure, 2 invalid options or input."""
    from tamis.cli.app import run

    return run(argv)
