"""Make the picture of the start page and the README: python docs/make_picture.py."""

from __future__ import annotations

from pathlib import Path

from sklearn.datasets import load_breast_cancer

from tamis import compare

PICTURE = Path(__file__).parent / "pictures" / "curve.svg"


def main() -> None:
    """Compare as `tamis fit` does on its embedded data, and draw the curves."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "tamis"  # the same file every time
    import matplotlib.pyplot as plt

    from tamis.inspection import SparsityPathDisplay

    data = load_breast_cancer(as_frame=True)
    comparison = compare(data.data, data.target_names[data.target])
    figure, ax = plt.subplots(figsize=(7.5, 4.5), layout="constrained")
    SparsityPathDisplay.from_comparison(comparison, ax=ax)
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, metadata={"Date": None}, facecolor="white")


if __name__ == "__main__":
    main()
