"""The command line: `tamis ...`.

Heavy imports are inside of the commands, so that `tamis --help` answers at once.
"""

from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; the exit code is 0 when done, 1 when it failed, 2 for a wrong call."""
    from tamis.cli.app import run

    return run(argv)
