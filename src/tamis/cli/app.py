"""From words to a command, and from errors to one clear line."""

import contextlib
import errno
import os
import signal
import sys
import threading
from importlib import import_module

from tamis.cli.parser import make_parser
from tamis.cli.printing import print_lines

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
    _prepare_streams()
    parser = make_parser()
    try:
        options = parser.parse_args(argv)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else _WRONG
    if options.command is None:
        parser.print_help()
        return _WRONG
    from tamis.cli.spool import spooled
    from tamis.tables.errors import Failure, InputError

    try:
        command = import_module(f"tamis.cli.{options.command.replace('-', '_')}_command")
        with _sigterm_as_ctrl_c(), spooled(options):
            code = command.run(options) or _DONE
        # Here, and not when Python ends: a full disk is told, and counts as a failure.
        sys.stdout.flush()
        return code
    except InputError as error:
        return _say(f"error: {error}", _WRONG)
    except Failure as error:
        return _say(f"error: {error}", _FAILED)
    except BrokenPipeError:
        # Whoever read the output has seen enough.
        _silence(sys.stdout)
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
    try:
        sys.stdout.flush()
    except OSError:
        _silence(sys.stdout)
    with contextlib.suppress(OSError):
        print_lines([f"tamis: {line}"], sys.stderr)
    return code


@contextlib.contextmanager
def _sigterm_as_ctrl_c():
    """Let SIGTERM end a command as Ctrl-C does: what is finished is told, and workers end."""

    def stop(number, frame):
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _prepare_streams():
    """Make streams that always take what is written."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by who started us
            nowhere = os.open(os.devnull, os.O_WRONLY)
            setattr(sys, name, os.fdopen(nowhere, "w", encoding="utf-8"))
        elif hasattr(stream, "reconfigure"):
            # Names of features have letters that some terminals lack.
            stream.reconfigure(errors="backslashreplace")


def _silence(stream):
    """Send the rest, also what is still in the buffer, nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
