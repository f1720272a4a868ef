"""An earlier commit of this repository: its files, and an environment that runs it."""

import subprocess
import sys
import tarfile
from pathlib import Path

__all__ = ["export_commit", "install_commit"]

ROOT = Path(__file__).parents[2]


def export_commit(commit, folder):
    """Unpack `commit` below `folder`, unless that was done before; returns the source folder."""
    folder = Path(folder)
    source, stamp = folder / "source", folder / "commit.txt"
    name = _git("rev-parse", "--verify", f"{commit}^{{commit}}").decode().strip()
    if stamp.is_file() and stamp.read_text().strip() != name:
        raise SystemExit(f"{folder} holds commit {stamp.read_text().strip()}; use another folder.")
    if not stamp.is_file():
        source.mkdir(parents=True, exist_ok=True)
        archive = folder / "source.tar"
        archive.write_bytes(_git("archive", "--format=tar", name))
        with tarfile.open(archive) as file:
            file.extractall(source, filter="data")
        archive.unlink()
        stamp.write_text(name + "\n")
    return source


def install_commit(commit, folder):
    """Install `commit` into an environment below `folder`; returns its Python.

    The versions of the dependencies are those of this checkout's `constraints.txt`.
    """
    source = export_commit(commit, folder)
    environment = Path(folder) / "venv"
    python = environment / "bin" / "python"
    installed = environment / "installed.txt"
    if not installed.is_file():
        subprocess.run([sys.executable, "-m", "venv", environment], check=True)
        constraints = ["--constraint", ROOT / "constraints.txt"]
        install = [python, "-m", "pip", "install", "--quiet", *constraints, f"{source}[cli]"]
        subprocess.run(install, check=True)
        installed.touch()
    return python


def _git(*arguments):
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True).stdout
