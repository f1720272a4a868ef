"""Run the command that the arguments name, and turn errors into one clear line."""

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
        Arguments after the program's name; None: those of the process.

    Returns
    -------
    code : int
        0 success, 1 failure, 2 invalid options or input.
    """
    _prepare_streams()
    try:
        options = _parse(argv)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else _WRONG
    from tamis.cli.spool import spooled
    from tamis.tables.errors import Failure, InputError

    try:
        command = import_module(f"tamis.cli.{options.command.replace('-', '_')}_command")
        with _sigterm_as_ctrl_c(), spooled(options):
            code = command.run(options) or _DONE
        # Here, not when Python exits: a full disk is reported, and counts as a failure.
        sys.stdout.flush()
        return code
    except InputError as error:
        return _say(f"error: {error}", _WRONG)
    except Failure as error:
        return _say(f"error: {error}", _FAILED)
    except BrokenPipeError:
        # The reader of the output has closed it (`| head`).
        _silence(sys.stdout)
        return _DONE
    except KeyboardInterrupt:
        return _say("stopped.", _FAILED)
    except MemoryError:
        return _say("error: not enough memory. Use fewer rows or columns.", _FAILED)
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


def _parse(words=None):
    """Options from arguments, by default those of the process.

    Raises SystemExit after --help, for invalid arguments and if no command is named.
    """
    option, words = "--missing-values", list(sys.argv[1:] if words is None else words)
    if option in words[:-1]:  # its value may begin like an option, such as "-,?"
        place = words.index(option)
        words[place : place + 2] = [f"{option}={words[place + 1]}"]
    parser = make_parser()
    options = parser.parse_args(words)
    if options.command is None:
        parser.print_help()
        parser.exit(2)
    return options


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
    """Let SIGTERM end a command as Ctrl-C does: report finished work and end the workers."""

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
    """Make sure that writing to the standard streams cannot fail."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by the parent process
            nowhere = os.open(os.devnull, os.O_WRONLY)
            setattr(sys, name, os.fdopen(nowhere, "w", encoding="utf-8"))
        elif hasattr(stream, "reconfigure"):
            # Names of features may have letters that the terminal cannot show.
            stream.reconfigure(errors="backslashreplace")


def _silence(stream):
    """Discard what is still in the buffer and everything after it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
