"""What all pictures share: colours, markers, axes, and labels that fit.

The colours are those of Okabe and Ito without yellow and black, so that they can be told apart
with every kind of colour vision, on white paper and on a dark screen. Line styles and markers
repeat what they say, for grey print. Text and axes have the colours of matplotlib's settings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
GREY = "#808080"  # 4:1 against white, 5:1 against black
SMALL = 8.0  # points: the smallest text


def require_matplotlib(name: str) -> None:
    """Raise ImportError with what to install if matplotlib is missing."""
    try:
        import matplotlib.pyplot  # noqa: F401
    except ImportError as error:
        raise ImportError(f"{name} needs matplotlib: pip install 'tamis[plot]'") from error


def make_axes(
    name: str, ax: Axes | None, size: tuple[float, float] = (6.4, 4.4)
) -> tuple[Axes, Figure]:
    """The axes given, or those of a new figure, and their figure."""
    require_matplotlib(name)
    if ax is None:
        import matplotlib.pyplot as plt

        ax = plt.subplots(figsize=size, layout="constrained")[1]
    figure = ax.get_figure(root=True)
    assert figure is not None
    return ax, figure


def ink() -> Any:
    """The colour of text, black unless the user's settings say otherwise."""
    from matplotlib import rcParams

    return rcParams["text.color"]


def line_style(place: int) -> dict[str, Any]:
    """Colour, line and marker of one of several curves; no two of the first 210 are the same."""
    return {
        "color": COLORS[place % len(COLORS)],
        "linestyle": LINES[place % len(LINES)],
        "marker": MARKERS[place % len(MARKERS)],
    }


def shorten(text: Any, length: int = 28) -> str:
    """A label of at most `length` characters, without its middle; "$" starts no formula."""
    text = " ".join(str(text).split())
    if len(text) > length:
        head = (length - 1) * 2 // 3
        text = f"{text[:head]}…{text[len(text) - (length - 1 - head) :]}"
    return text.replace("$", r"\$")


def feature_ticks(ax: Axes, counts: Iterable[float]) -> None:
    """An axis of numbers of features: logarithmic if they range widely, whole numbers at ticks."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

    values = [count for count in counts if count > 0]
    if values and max(values) > 12 * max(min(values), 1):
        ax.set_xscale("log")
        wide = max(values) > 1000 * min(values)
        ax.xaxis.set_major_locator(LogLocator(subs=(1.0,) if wide else (1.0, 2.0, 5.0)))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.10g}"))
        ax.xaxis.set_minor_formatter(NullFormatter())
    else:
        ax.xaxis.set_major_locator(MaxNLocator(nbins=8, integer=True))


def feature_names(estimator: Any) -> NDArray:
    """Names of the features of a fitted estimator; x0, x1, ... if they have none."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        names = [f"x{i}" for i in range(estimator.n_features_in_)]
    return np.asarray(names, dtype=object)


def n_fitting(ax: Axes, along: str) -> int:
    """Number of labels of 8 points that fit along an axis, "x" or "y"."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    box = ax.get_window_extent()
    points = (box.height if along == "y" else 0.85 * box.width) / figure.dpi * 72
    return max(1, int(points / 11))


def feature_labels(ax: Axes, along: str, names: Sequence[Any]) -> None:
    """One tick per name, or per few names where not all fit."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    fitting = n_fitting(ax, along)
    narrow = figure.get_figwidth() < 5
    length = (18 if along == "y" else 16) + (0 if narrow else 8)
    labels = [shorten(name, length) for name in names]
    # Letters are about 5 points wide: short labels stay level.
    level = along == "y" or sum(len(label) + 1.5 for label in labels) * 5 <= fitting * 11
    every = 1 if along == "x" and level else max(1, -(-len(names) // fitting))
    places = range(0, len(names), every)
    axis = ax.yaxis if along == "y" else ax.xaxis
    axis.set_ticks(list(places), labels[::every], fontsize=SMALL, rotation=0 if level else 90)


def note_left_out(ax: Axes, n_left_out: int) -> None:
    """Say above the axes how many features are not shown."""
    if n_left_out:
        ax.set_title(f"{n_left_out:,} more features not shown", fontsize=SMALL, loc="left")


def add_legend(ax: Axes, most_inside: int = 4, handles: Sequence[Any] | None = None) -> None:
    """A legend inside for few entries; for many beside the axes, or below if these are narrow.

    Outside needs a layout that makes room, as in the figures made here.
    """
    from matplotlib.transforms import ScaledTranslation, blended_transform_factory

    figure = ax.get_figure(root=True)
    assert figure is not None
    if handles is None:
        handles = ax.get_legend_handles_labels()[0]
    n = len(handles)
    place: dict[str, Any] = {}
    if n > most_inside and figure.get_layout_engine() is not None:
        if figure.get_figwidth() >= 6:
            place = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "borderaxespad": 0.3}
        else:
            across = figure.transFigure if len(figure.axes) == 1 else ax.transAxes
            below = blended_transform_factory(across, ax.transAxes)
            below += ScaledTranslation(0, -32 / 72, figure.dpi_scale_trans)
            place = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0)}
            longest = max(len(str(handle.get_label())) for handle in handles)
            columns = int(figure.get_figwidth() * 72 / (longest * 4.6 + 30))
            place["ncols"] = min(max(columns, 1), n)
            place |= {"bbox_transform": below, "columnspacing": 0.8, "handlelength": 1.6}
    ax.legend(handles=handles, fontsize=SMALL, frameon=False, **place)


class Display:
    """Base of the pictures: how they are drawn."""

    ax_: Any
    figure_: Any
    _plot: Callable[[Any, dict[str, Any]], None]

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw the picture.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None: those of a new figure.
        **kwargs : dict
            For what it consists of: the bars, the lines or the points.

        Returns
        -------
        self : Display
        """
        self._plot(ax, kwargs)
        return self
