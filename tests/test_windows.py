"""The package asks nothing of the system that Windows does not have, as far as its text tells."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
# What only POSIX has. A fallback is a handler of AttributeError, or of ImportError for a module.
MODULES = {
    "fcntl",
    "grp",
    "posix",
    "pty",
    "pwd",
    "readline",
    "resource",
    "syslog",
    "termios",
    "tty",
}
OF_OS = {
    "fork",
    "forkpty",
    "getuid",
    "geteuid",
    "getgid",
    "getpgid",
    "getpgrp",
    "setsid",
    "killpg",
}
OF_OS |= {"sched_getaffinity", "sched_setaffinity", "sysconf", "statvfs", "mkfifo", "mknod"}
OF_OS |= {"chown", "lchown", "nice", "getloadavg", "uname", "pread", "pwrite", "wait", "WNOHANG"}
OF_SIGNAL = {"SIGKILL", "SIGHUP", "SIGALRM", "SIGPIPE", "SIGUSR1", "SIGUSR2", "SIGQUIT", "alarm"}
OF_SIGNAL |= {"setitimer", "pthread_sigmask", "pause", "SIGCHLD", "SIGSTOP", "SIGCONT"}
POSIX = {"os": OF_OS, "signal": OF_SIGNAL}
OPTIONS = {"preexec_fn", "start_new_session", "process_group"}
PLACES = re.compile(r"^/(tmp|dev|var|usr|bin|home)\b")
FORBIDDEN = re.compile(r'[<>:"|?*\\\x00-\x1f]|[. ]$')
RESERVED = {
    "con",
    "prn",
    "aux",
    "nul",
    *(f"{port}{i}" for port in ("com", "lpt") for i in range(10)),
}


def find_problems(text):
    """What a source needs that Windows lacks, as lines with their numbers."""
    tree = ast.parse(text)
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    found = []
    for node in ast.walk(tree):
        for message in _look(node, parents):
            found.append(f"{node.lineno}: {message}")
    return found


def _look(node, parents):
    if isinstance(node, ast.Import | ast.ImportFrom):
        names = [alias.name for alias in node.names]
        names = [node.module] if isinstance(node, ast.ImportFrom) else names
        if MODULES & set(names) and not _catches(node, parents, "ImportError"):
            yield f"{names[0]} is not on Windows, and ImportError is not caught"
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        known = node.attr in POSIX.get(node.value.id, ())
        if known and not _catches(node, parents, "AttributeError"):
            yield f"{node.value.id}.{node.attr} is not on Windows, without a fallback"
        if (node.value.id, node.attr) == ("os", "rename"):
            yield "os.rename replaces no file on Windows: use os.replace"
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        if PLACES.match(node.value):
            yield f"{node.value!r} is not a place on Windows"
        if node.value in ("fork", "forkserver"):
            yield "Windows starts processes by spawn alone"
    elif isinstance(node, ast.Call):
        yield from _look_at_call(node, parents)


def _look_at_call(call, parents):
    options = {one.arg for one in call.keywords}
    if OPTIONS & options:
        yield f"{', '.join(OPTIONS & options)} is not on Windows"
    name = ast.unparse(call.func)
    method = name.rpartition(".")[2]
    if name.endswith("TemporaryDirectory") and "ignore_cleanup_errors" not in options:
        yield "Windows removes no file that is open or mapped: ignore_cleanup_errors=True"
    is_data = name == "os.open" and "devnull" not in ast.unparse(call)
    if is_data and "_BINARY" not in ast.unparse(_function(call, parents)):
        yield "os.open changes the ends of lines on Windows: add O_BINARY"
    is_text = method in ("read_text", "write_text") or name.endswith("TextIOWrapper")
    if name in ("open", "io.open", "os.fdopen"):
        mode = next((one.value for one in call.keywords if one.arg == "mode"), None)
        mode = call.args[1] if len(call.args) > 1 else mode
        is_text = not (isinstance(mode, ast.Constant) and "b" in mode.value)
        reads_csv = re.search(r"\bcsv\.", ast.unparse(_function(call, parents)))
        if is_text and reads_csv and "newline" not in options:
            yield 'a file of the module csv needs newline=""'
    if is_text and "encoding" not in options:
        yield f"{name} without encoding= has another one on Windows"


def _function(node, parents):
    """The function that a node is in, or the node itself."""
    at = node
    while at in parents and not isinstance(at, ast.FunctionDef):
        at = parents[at]
    return at if isinstance(at, ast.FunctionDef) else node


def _catches(node, parents, error):
    """Whether a `try` around a node has a handler for an error, or its name was asked for."""
    at = node
    while at in parents:
        above = parents[at]
        if isinstance(above, ast.Try) and at in above.body:
            for handler in above.handlers:
                if handler.type is None or re.search(
                    rf"\b({error}|Exception)\b", ast.unparse(handler.type)
                ):
                    return True
        if isinstance(above, ast.If) and re.search(
            r"hasattr|os\.name|sys\.platform", ast.unparse(above.test)
        ):
            return True
        at = above
    return False


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT / "src")))
def test_a_source_needs_nothing_that_windows_lacks(path):
    assert find_problems(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("import fcntl", "fcntl is not on Windows"),
        ("try:\n    import resource\nexcept OSError:\n    pass", "resource is not on Windows"),
        ("import os\nos.fork()", "os.fork is not on Windows"),
        ("try:\n    n = len(os.sched_getaffinity(0))\nexcept OSError:\n    n = 1", "affinity"),
        ("os.kill(1, signal.SIGKILL)", "signal.SIGKILL is not on Windows"),
        ("os.rename('a', 'b')", "use os.replace"),
        ("path = '/tmp/a'", "not a place on Windows"),
        ("get_context('fork')", "spawn alone"),
        ("Popen(words, start_new_session=True)", "start_new_session is not on Windows"),
        ("open('a')", "without encoding="),
        ("Path('a').read_text()", "without encoding="),
        ("def f():\n    csv.writer(open('a', 'w', encoding='utf-8'))", 'needs newline=""'),
        ("os.open('a', os.O_WRONLY)", "add O_BINARY"),
        ("with TemporaryDirectory() as place: pass", "ignore_cleanup_errors"),
    ],
)
def test_what_windows_lacks_is_noticed(text, told):
    (found,) = find_problems(text)
    assert told in found


@pytest.mark.parametrize(
    "text",
    [
        "try:\n    import resource\nexcept ImportError:\n    resource = None",
        "try:\n    n = os.sysconf('SC_PAGE_SIZE')\nexcept (AttributeError, OSError):\n    n = 0",
        "if hasattr(os, 'sched_getaffinity'):\n    n = len(os.sched_getaffinity(0))",
        "open('a', 'rb')",
        "open('a', encoding='utf-8')",
        "'see /tmp'",
    ],
)
def test_what_has_a_fallback_is_accepted(text):
    assert find_problems(text) == []


def test_windows_can_hold_every_file_of_the_project():
    folders = ("src", "tests", "benchmarks", "changelog.d", "docs", "examples", "recipe", "tools")
    found = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file()]
    names = [path.relative_to(ROOT).as_posix() for path in found if path.suffix != ".pyc"]
    assert len(names) > 900
    parts = {part for name in names for part in name.split("/")}
    assert [part for part in parts if FORBIDDEN.search(part)] == []
    assert [part for part in parts if part.partition(".")[0].lower() in RESERVED] == []
    assert len({name.lower() for name in names}) == len(names)
    assert max(map(len, names)) < 160


@pytest.mark.parametrize("folder", ["tests", "tools", "docs", "examples"])
def test_other_sources_can_be_imported_on_windows(folder):
    found = []
    for path in sorted((ROOT / folder).rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) else []
            found += [f"{path.name} imports {name}" for name in names if name in MODULES]
    assert found == []
