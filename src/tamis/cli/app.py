"""From words to a command, and from errors to one clear line."""

import errno
import os
import sys
from importlib import import_module

from tamis.cli.parser import make_parser

__all__ = ["run"]

_DONE, _FAILED, _WRONG = 0, 1, 2


def run(argv=None):
    """Run the command that `argv` names.

    Parameters
    ----------
    argv : list of str or None
        Words after the program's name; None: those of the process.

    Returns
    -------
    code : int
        0 done, 1 failed, 2 wrong call or bad input.
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal that has no "±" still gets the rest
    parser = make_parser()
    try:
        options = parser.parse_args(argv)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else _WRONG
    if options.command is None:
        parser.print_help()
        return _WRONG
    command = import_module(f"tamis.cli.{options.command.replace('-', '_')}_command")
    from tamis.io.errors import InputError

    try:
        return command.run(options) or _DONE
    except InputError as error:
        return _say(f"error: {error}", _WRONG)
    except BrokenPipeError:
        # Whoever read the output has seen enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _DONE
    except KeyboardInterrupt:
        return _say("stopped.", _FAILED)
    except MemoryError:
        return _say("error: not enough memory. Take fewer rows or columns.", _FAILED)
    except OSError as error:
        return _say(f"error: {_tell(error)}", _FAILED)
    except Exception as error:
        if os.environ.get("TAMIS_DEBUG"):
            raise
        kind = type(error).__name__
        line = " ".join(str(error).split()) or "no message"
        return _say(
            f"error: {line} ({kind}; set TAMIS_DEBUG=1 to see where it comes from)", _FAILED
        )


def _tell(error):
    if error.errno == errno.ENOSPC:
        return (
            f"no space left on the disk{_named(error)}. Finished work is kept: make room, and run "
            "the same command again."
        )
    return f"{error.strerror or error}{_named(error)}"


def _named(error):
    return f" ({error.filename})" if error.filename else ""


def _say(line, code):
    sys.stdout.flush()
    print(f"tamis: {line}", file=sys.stderr)
    return code
