"""The command line: `tamis ...`.

The commands import heavy modules when they run, so that `tamis --help` is fast.
"""

from tamis.cli.app import main

__all__ = ["main"]
