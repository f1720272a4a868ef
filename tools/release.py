"""Build the packages, check what is in them, and try them in fresh environments.

    python tools/release.py            # everything; prints a table, fails if something failed
    python tools/release.py --build    # build twice and check the contents, without installing

Sdist and wheel are built from this tree, and again from the sdist: both must be the same byte for
byte. The wheel is then installed without extras, with each extra alone and with all, on every
Python found, and with the oldest promised dependencies; `smoke.py` runs in each environment.
"""

import argparse
import email
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SMOKE = ROOT / "tools" / "smoke.py"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PYTHONS = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
FOR_DEVELOPERS = {"dev", "docs"}
EXTRAS = [name for name in PROJECT["optional-dependencies"] if name not in FOR_DEVELOPERS]
# Bytes: what users download, and what packagers do.
LARGEST = {"wheel": 2_000_000, "sdist": 6_000_000}
SECONDS = 900  # of one environment


def build(source, target):
    """Build sdist and wheel of a tree; returns their paths."""
    seconds = ""
    if shutil.which("git"):
        asked = ["git", "log", "-1", "--format=%ct"]
        seconds = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True).stdout.strip()
    known = {"SOURCE_DATE_EPOCH": os.environ.get("SOURCE_DATE_EPOCH") or seconds or "1577836800"}
    command = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-t", "wheel"]
    done = subprocess.run(
        [*command, "-d", target], cwd=source, env={**os.environ, **known}, capture_output=True
    )
    if done.returncode:
        raise SystemExit(done.stderr.decode(errors="replace"))
    return next(Path(target).glob("*.tar.gz")), next(Path(target).glob("*.whl"))


def build_twice(folder):
    """Build from this tree, and again from the sdist; returns sdist, wheel and what is wrong."""
    sdist, wheel = build(ROOT, folder / "first")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder / "unpacked", filter="data")
    (unpacked,) = (folder / "unpacked").iterdir()
    again = build(unpacked, folder / "second")
    pairs = zip((sdist, wheel), again, strict=True)
    return (
        sdist,
        wheel,
        [
            f"{one.name}: built again from the sdist, it is different"
            for one, other in pairs
            if one.name != other.name or one.read_bytes() != other.read_bytes()
        ],
    )


def sources():
    """Files of the package, from its folder."""
    found = (path for path in (ROOT / "src" / "tamis").rglob("*") if path.is_file())
    return {
        path.relative_to(ROOT / "src").as_posix()
        for path in found
        if "__pycache__" not in path.parts and path.suffix != ".pyc"
    }


def check_wheel(path):
    """What is wrong with the wheel."""
    with zipfile.ZipFile(path) as archive:
        names = set(archive.namelist())
        about = {name for name in names if ".dist-info/" in name}
        wrong = [f"is not packed: {name}" for name in sorted(sources() - names)]
        wrong += [f"should not be packed: {name}" for name in sorted(names - about - sources())]
        metadata = next(name for name in about if name.endswith("/METADATA"))
        told = email.message_from_string(archive.read(metadata).decode())
        points = archive.read(metadata.replace("METADATA", "entry_points.txt")).decode()
    if not any(name.endswith("licenses/LICENSE") for name in about):
        wrong.append("has no licence")
    if "tamis/py.typed" not in names:
        wrong.append("has no py.typed")
    if "tamis = tamis.cli:main" not in points:
        wrong.append("has no command")
    version = (ROOT / "src" / "tamis" / "__init__.py").read_text(encoding="utf-8")
    expected = {
        "Name": PROJECT["name"],
        "Version": re.search(r'__version__ = "(.+)"', version).group(1),
        "Requires-Python": PROJECT["requires-python"],
        "License-Expression": PROJECT["license"],
        "Description-Content-Type": "text/markdown",
    }
    wrong += [
        f"{name} is {told[name]}, not {value}"
        for name, value in expected.items()
        if told[name] != value
    ]
    if told.get_payload().strip() != (ROOT / "README.md").read_text(encoding="utf-8").strip():
        wrong.append("its description is not README.md")
    if set(told.get_all("Provides-Extra", [])) != set(PROJECT["optional-dependencies"]):
        wrong.append("has other extras than pyproject.toml")
    return wrong + check_size(path, "wheel")


def check_sdist(path):
    """What is wrong with the sdist."""
    with tarfile.open(path) as archive:
        files = [member.name.partition("/")[2] for member in archive if member.isfile()]
    names, wrong = set(files), []
    tests = {path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("test_*.py")}
    needed = tests | {f"src/{name}" for name in sources()}
    needed |= {"LICENSE", "README.md", "PKG-INFO", "pyproject.toml", "Makefile", "CHANGELOG.md"}
    needed |= {"constraints.txt", "constraints-oldest.txt"}
    wrong += [f"is not packed: {name}" for name in sorted(needed - names)]
    odd = [name for name in names if "__pycache__" in name or name.startswith((".venv", "build/"))]
    wrong += [f"should not be packed: {name}" for name in sorted(odd)]
    return wrong + check_size(path, "sdist")


def check_size(path, kind):
    """Whether a package is too large."""
    size = path.stat().st_size
    return [f"has {size:,} bytes, more than {LARGEST[kind]:,}"] if size > LARGEST[kind] else []


def find_pythons():
    """The interpreters of the promised versions: on the PATH, else in pyenv."""
    found = {}
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    for version in PYTHONS:
        places = [shutil.which(f"python{version}"), *pyenv.glob(f"{version}.*/bin/python")]
        for place in filter(None, places):
            asked = [place, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
            said = subprocess.run(asked, capture_output=True, text=True)
            if said.stdout.strip() == version:
                found[version] = str(place)
                break
    return found


def install(python, requirement, constraints):
    """Install into an environment: by uv, which takes seconds, or by pip where it fails."""
    words = [requirement, "--constraint", str(constraints)]
    uv = shutil.which("uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if uv is not None:
        command = [uv, "pip", "install", "--quiet", "--python", python, *words]
        if subprocess.run(command, capture_output=True).returncode == 0:
            return
    command = [python, "-m", "pip", "install", "--quiet", *words]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError("cannot be installed: " + " ".join(done.stderr.split())[-500:])


def try_wheel(interpreter, wheel, extra, constraints):
    """Install the wheel into a fresh environment and use it there; returns what is wrong."""
    with tempfile.TemporaryDirectory(prefix="tamis-release-") as place:
        subprocess.run([interpreter, "-m", "venv", f"{place}/env"], check=True)
        scripts = Path(place, "env", "Scripts" if os.name == "nt" else "bin")
        python, work = str(scripts / "python"), Path(place, "work")
        work.mkdir()
        try:
            install(
                python, f"tamis{f'[{extra}]' if extra else ''} @ {wheel.as_uri()}", constraints
            )
            clean = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
            clean |= {"OMP_NUM_THREADS": "1"}
            done = subprocess.run(
                [python, "-I", str(SMOKE)],
                cwd=work,
                env=clean,
                capture_output=True,
                text=True,
                encoding="utf-8",
                timeout=SECONDS,
            )
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            return [str(error)]
    failed = [line for line in done.stdout.splitlines() if line.startswith("FAILED ")]
    if done.returncode and not failed:
        failed = done.stderr.strip().splitlines()[-3:] or [f"exit status {done.returncode}"]
    return failed


def main():
    """Run the command; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--build", action="store_true", help="build and check, install nothing")
    parser.add_argument("--output", type=Path, help="folder for sdist and wheel")
    parser.add_argument("--pythons", default=" ".join(PYTHONS), help="versions to try")
    parser.add_argument("--extras", default=None, help="extras to try, in place of all")
    options = parser.parse_args()
    rows = []

    def tell(*row):
        rows.append(row)
        print("{:<8} {:<28} {}".format(*row[:3]), flush=True)
        for line in row[3]:
            print(f"         {line}", flush=True)

    def judge(what, where, wrong, seconds=None):
        spent = "" if seconds is None else f" ({seconds:.0f} s)"
        tell("FAILED" if wrong else "passed", where, what + spent, wrong)

    with tempfile.TemporaryDirectory(prefix="tamis-release-") as place:
        sdist, wheel, wrong = build_twice(Path(place))
        judge("built twice, byte for byte", "packages", wrong)
        judge(f"contents, {wheel.stat().st_size:,} bytes", "wheel", check_wheel(wheel))
        judge(f"contents, {sdist.stat().st_size:,} bytes", "sdist", check_sdist(sdist))
        pythons = {} if options.build else find_pythons()
        wanted = EXTRAS if options.extras is None else options.extras.split()
        tries = [(v, e, "constraints.txt") for v in options.pythons.split() for e in ("", *wanted)]
        if options.extras is None:
            tries += [(PYTHONS[0], e, "constraints-oldest.txt") for e in ("", "all")]
        for version, extra, constraints in [] if options.build else tries:
            where = f"Python {version}, {extra or 'no extra'}"
            where += ", oldest" if "oldest" in constraints else ""
            if version not in pythons:
                tell("missing", where, "this Python was not found", [])
                continue
            start = time.monotonic()
            wrong = try_wheel(pythons[version], wheel, extra, ROOT / constraints)
            judge("installed and used", where, wrong, time.monotonic() - start)
        if options.output is not None:
            options.output.mkdir(parents=True, exist_ok=True)
            for path in (sdist, wheel):
                shutil.copy(path, options.output)
    count = {word: sum(row[0] == word for row in rows) for word in ("passed", "FAILED", "missing")}
    print(", ".join(f"{number} {word}" for word, number in count.items() if number))
    return 1 if count["FAILED"] or not (options.build or pythons) else 0


if __name__ == "__main__":
    raise SystemExit(main())
