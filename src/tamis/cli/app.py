"""Run the command that the arguments name; data from pipes, and errors as one clear line."""

import contextlib
import errno
import logging
import os
import signal
import stat
import sys
import tempfile
import threading
import warnings
from collections.abc import Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

from tamis.cli.parser import make_parser
from tamis.cli.printing import STANDARD_INPUT, print_lines, silence

_DONE, _FAILED, _WRONG = 0, 1, 2
_BLOCK = 1 << 20


def main(argv: Sequence[str] | None = None) -> int:
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
    # pyarrow's other allocators reserve a gigabyte, which counts where memory is limited.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    with _quiet_libraries():
        return _run(options)


def _run(options):
    """Run a command: its exit code, after one line about an error."""
    from tamis.tables.errors import Failure, InputError, NotReadable, is_about_memory

    try:
        command = import_module(f"tamis.cli.{options.command.replace('-', '_')}_command")
        with _sigterm_as_ctrl_c(), _spooled(options):
            code = command.run(options) or _DONE
        # Here, not when Python exits: a full disk is reported, and counts as a failure.
        sys.stdout.flush()
        return code
    except NotReadable as error:
        from tamis.cli.offers import offer_readable

        _say(f"error: {error.for_command}", _WRONG)
        with contextlib.suppress(Exception):  # an offer that fails costs nothing else
            offers = offer_readable(options)
            if offers:
                print_lines(offers, sys.stderr)
        return _WRONG
    except InputError as error:
        return _say(f"error: {error.for_command}", _WRONG)
    except Failure as error:
        return _say(f"error: {error}", _FAILED)
    except BrokenPipeError:
        # The reader of the output has closed it (`| head`).
        silence(sys.stdout)
        return _DONE
    except KeyboardInterrupt:
        return _say("stopped.", _FAILED)
    except Exception as error:
        if is_about_memory(error):
            return _say(
                "error: not enough memory. Finished work is kept: repeat the command, "
                "use fewer rows or columns, or tamis fit --stream on with a smaller --max-size.",
                _FAILED,
            )
        if isinstance(error, OSError):
            return _say(f"error: {_tell(error)}", _FAILED)
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
    options.argv = [str(word) for word in words]
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
        silence(sys.stdout)
    with contextlib.suppress(OSError):
        print_lines([f"tamis: {line}"], sys.stderr)
    return code


@contextlib.contextmanager
def _quiet_libraries():
    """Keep warnings and log lines of other libraries, in any process, out of the output.

    They name internals, and may repeat names and labels with characters that a terminal acts on.
    What a user must know, the commands say themselves. With TAMIS_DEBUG they are shown.
    """
    if os.environ.get("TAMIS_DEBUG"):
        yield
        return
    before, nowhere = os.environ.get("PYTHONWARNINGS"), logging.NullHandler()
    logging.getLogger().addHandler(nowhere)
    os.environ["PYTHONWARNINGS"] = "ignore"  # of workers
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_nothing
            yield
    finally:
        logging.getLogger().removeHandler(nowhere)
        os.environ.pop("PYTHONWARNINGS")
        if before is not None:
            os.environ["PYTHONWARNINGS"] = before


def _show_nothing(message, category, filename, lineno, file=None, line=None):
    """In place of `warnings.showwarning`: filters that turn warnings into errors still work."""


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
            # Names of features may have letters that the terminal cannot show. On Windows, pipes
            # and files would have another encoding than all files that are read and written.
            encoding = "utf-8" if os.name == "nt" else None
            stream.reconfigure(encoding=encoding, errors="backslashreplace")


class _Spooled(os.PathLike):
    """A temporary file that messages call standard input."""

    def __init__(self, path):
        self.path = path

    def __fspath__(self):
        return str(self.path)

    def __str__(self):
        return STANDARD_INPUT


@contextmanager
def _spooled(options):
    """Return options whose `data` can be read as often as needed.

    Standard input ("-"), a named pipe or a process substitution can be read only once, so it is
    copied to a temporary file, within the limit of `--max-size`.
    """
    data = getattr(options, "data", None)
    if data is None or not _is_pipe(data):
        yield options
        return
    from tamis.tables.errors import InputError
    from tamis.tables.formats.source import Budget

    if data == "-" and sys.stdin.isatty():
        raise InputError("standard input is a terminal: pipe the data into the command")
    # The extension of a file tells its format; "-" and /dev/fd/63 have none.
    name = Path(data).name if Path(data).suffix else "standard-input"
    # Windows removes no file that is still mapped into memory.
    with tempfile.TemporaryDirectory(prefix="tamis-", ignore_cleanup_errors=True) as folder:
        path = Path(folder, name)
        budget = Budget(STANDARD_INPUT, getattr(options, "max_size", None))
        with _open_pipe(data) as source, open(path, "wb") as file:
            while block := source.read(_BLOCK):
                budget.spend(len(block))
                file.write(block)
        options.data = _Spooled(path)
        yield options


def _is_pipe(data):
    if data == "-":
        return True
    try:
        mode = os.stat(data).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _open_pipe(data):
    return open(sys.stdin.fileno(), "rb", closefd=False) if data == "-" else open(data, "rb")
