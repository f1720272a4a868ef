"""Make the pictures of the README and the start page: python docs/make_picture.py.

curve.svg is drawn by tamis from the embedded data. report.png and card.png are pictures of the
pages that `tamis fit` and `tamis export --to card` write, taken by a headless Chromium: those of
Getting started, from the run that `python docs/outputs.py` leaves in build/outputs/run. If that is
missing, it is made here.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from sklearn.datasets import load_breast_cancer

ROOT = Path(__file__).parents[1]
PICTURES = Path(__file__).parent / "pictures"
RUN = ROOT / "build" / "outputs" / "run"
DATA = ROOT / "docs" / "data" / "visits.csv"
NAMES = ("curve", "report", "card")
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def main(arguments: list[str] | None = None) -> None:
    """Make the pictures that are named, or all of them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pictures", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}")
    wanted = parser.parse_args(arguments).pictures or NAMES
    if not set(wanted) <= set(NAMES):
        parser.error(f"pictures are {', '.join(NAMES)}; got {', '.join(wanted)}.")
    PICTURES.mkdir(exist_ok=True)
    if {"report", "card"} & set(wanted) and not (RUN / "model.json").exists():
        tamis("fit", str(DATA), "--target", "outcome", "-o", str(RUN))
    if "curve" in wanted:
        draw_curve()
    if "report" in wanted:
        photograph(RUN / "report.html", PICTURES / "report.png", width=1000, height=900)
    if "card" in wanted:
        with tempfile.TemporaryDirectory() as folder:
            card = Path(folder, "card.html")
            options = ("--to", "card", "--positive", "admitted", "--data", str(DATA))
            tamis("export", str(RUN), *options, "-o", str(card))
            photograph(card, PICTURES / "card.png", width=820, height=1000)


def tamis(*arguments: str) -> None:
    """Run the command; stops if it fails."""
    if subprocess.run([sys.executable, "-m", "tamis", *arguments], check=False).returncode:
        raise SystemExit(f"tamis {' '.join(arguments)} failed: see above.")


def draw_curve() -> None:
    """Compare as `tamis fit` does on its embedded data, and draw the curves."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "tamis"  # the same file every time
    import matplotlib.pyplot as plt

    from tamis import compare
    from tamis.inspection import SparsityPathDisplay

    data = load_breast_cancer(as_frame=True)
    comparison = compare(data.data, data.target_names[data.target])
    figure, ax = plt.subplots(figsize=(7.5, 4.5), layout="constrained")
    SparsityPathDisplay.from_comparison(comparison, ax=ax)
    figure.savefig(PICTURES / "curve.svg", metadata={"Date": None}, facecolor="white")


def photograph(page: Path, picture: Path, *, width: int, height: int) -> None:
    """Save the top of a page as a PNG of few colours."""
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        raise SystemExit(
            f"{picture.name} needs Chromium, which is missing: install the package chromium."
        )
    with tempfile.TemporaryDirectory() as folder:
        taken = Path(folder, "taken.png")
        subprocess.run(
            [
                *(browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"),
                *(f"--user-data-dir={folder}/profile", f"--window-size={width},{height}"),
                *(f"--screenshot={taken}", page.resolve().as_uri()),
            ],
            check=True,
            capture_output=True,
        )
        shrink(taken, picture)
    print(f"{picture.relative_to(ROOT)}: {picture.stat().st_size // 1024} KB")


def shrink(taken: Path, picture: Path) -> None:
    """Write the picture with 64 colours, a third of the bytes (pillow comes with matplotlib)."""
    from PIL import Image

    with Image.open(taken) as image:
        image.convert("RGB").quantize(64, dither=Image.Dither.NONE).save(picture, optimize=True)


if __name__ == "__main__":
    main()
