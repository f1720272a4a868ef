"""The command line: `tamis ...`.

The commands import heavy modules when they run, so that `tamis --help` is fast.
"""

__all__ = ["main"]


def main(argv=None):
    """Run a command; returns the exit code: 0 success, 1 failure, 2 invalid options or input."""
    from tamis.cli.app import run

    return run(argv)
