"""Folders of runs that a version wrote, with which later ones must say what they can do.

Run `python -m tests.cli.golden_runs` before a release and commit the new folders. Those of earlier
versions are never written again.
"""

import json
import re
import shutil
import tempfile
from pathlib import Path

import tamis
from tests.cli.conftest import HEADER, make_rows, write_csv
from tests.cli.processes import call_here

FOLDER = Path(__file__).parent / "golden"
DATA = "data.csv"
FIT = ("--target", "y", "--methods", "centers,most-frequent", "--folds", "2", "--repeats", "1")
FIT += ("--n-jobs", "1", "--no-report")
STREAM = ("--stream", "on", "--max-size", "20KB")
KINDS = {"memory": (60, ()), "stream": (800, STREAM)}
# All else is large or of this machine.
KEPT = ("run.json", "model.json", "features.csv", "checkpoints/*.json", "checkpoints/cv-centers-*")
KEPT += ("checkpoints/stream/manifest.json", "checkpoints/stream/rows.npz")


def write_data(kind, folder):
    """The table of a run, which is the same for all versions."""
    return write_csv(Path(folder) / DATA, HEADER, make_rows(KINDS[kind][0], 0))


def words(kind, data, run):
    """The command that makes a run, or resumes it."""
    return ("fit", data, *FIT, *KINDS[kind][1], "-o", run)


def make():
    """Write the runs of this version."""
    for kind in KINDS:
        target = FOLDER / tamis.__version__ / kind
        shutil.rmtree(target, ignore_errors=True)
        with tempfile.TemporaryDirectory() as place:
            code, _, err = call_here(*words(kind, write_data(kind, place), Path(place, "run")))
            assert code == 0, err
            for path in [one for pattern in KEPT for one in Path(place, "run").glob(pattern)]:
                copy = target / path.relative_to(Path(place, "run"))
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, copy)
            # Paths of this machine.
            text = (target / "run.json").read_text(encoding="utf-8")
            text = re.sub(f"{re.escape(json.dumps(place)[1:-1])}[/\\\\]*", "", text)
            (target / "run.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    make()
