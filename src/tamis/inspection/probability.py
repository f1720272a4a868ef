"""The distribution of predicted probabilities by class."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tamis.inspection._binary import BinaryDisplay
from tamis.inspection._style import COLORS, SMALL, ink, make_axes, shorten

if TYPE_CHECKING:
    pass


@dataclass(eq=False, repr=False)
class ProbabilityDisplay(BinaryDisplay):
    """Predicted probabilities of a class: its own rows upwards, the others downwards.

    Parameters
    ----------
    edges : ndarray of shape (n_bins + 1,)
        Edges of the bins.
    positive, negative : ndarray of shape (n_bins,)
        Proportion of the rows of the class, and of the others, in each bin.
    n_rows : tuple of int
        Number of rows of the class, and of the others.
    prevalence : float
        Proportion of the class that the probabilities assume.
    pos_label, other : str
        Names of the class and of the others.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    bars_ : tuple of matplotlib BarContainer
        Of the class and of the others.

    Notes
    -----
    Option of the functions that make one: `n_bins`, number of bins of equal width (20). Others are
    for the bars.

    Examples
    --------
    >>> from tamis.inspection import ProbabilityDisplay
    >>> y, p = ["ill", "ill", "well", "well"], [0.9, 0.6, 0.4, 0.2]
    >>> display = ProbabilityDisplay.from_predictions(y, p, pos_label="ill", n_bins=2)
    >>> display.positive.tolist(), display.negative.tolist()
    ([0.0, 1.0], [1.0, 0.0])
    """

    _options = ("n_bins",)

    edges: NDArray
    positive: NDArray
    negative: NDArray
    _: KW_ONLY
    n_rows: tuple[int, int]
    prevalence: float
    pos_label: str
    other: str = "others"

    @classmethod
    def _of(cls, data, n_bins=20):
        edges = np.linspace(0, 1, n_bins + 1)
        shares = []
        for rows in (data.is_positive, ~data.is_positive):
            weights = data.weights[rows]
            counts = np.histogram(data.probabilities[rows], edges, weights=weights)[0]
            shares.append(counts / weights.sum())
        n_positive = int(np.count_nonzero(data.is_positive))
        return cls(
            edges,
            *shares,
            n_rows=(n_positive, data.is_positive.size - n_positive),
            prevalence=data.prevalence,
            pos_label=data.name,
            other=data.other,
        )

    def _plot(self, ax, kwargs):
        """Draw the bars."""
        self.ax_, self.figure_ = make_axes(type(self).__name__, ax)
        names = self.pos_label, self.other
        bars = []
        for place, (heights, sign) in enumerate([(self.positive, 1), (self.negative, -1)]):
            n = self.n_rows[place]
            label = f"{shorten(names[place], 20)} ({n:,} row{'' if n == 1 else 's'})"
            style: dict[str, Any] = {"color": COLORS[place], "linewidth": 0} | kwargs
            bars.append(
                self.ax_.bar(
                    self.edges[:-1], sign * heights, np.diff(self.edges), align="edge", **style
                )
            )
            self.ax_.text(
                0.5,
                0.5 + 0.48 * sign,
                label,
                transform=self.ax_.transAxes,
                ha="center",
                va="top" if sign > 0 else "bottom",
                fontsize=SMALL,
                color=ink(),
            )
        self.bars_ = tuple(bars)
        self.ax_.axhline(0, color=ink(), linewidth=0.8)
        top = 1.35 * max(self.positive.max(), self.negative.max())
        self.ax_.set(xlim=(0, 1), ylim=(-top, top), ylabel="proportion of the class")
        self.ax_.yaxis.set_major_formatter(lambda y, _: f"{abs(y):.10g}")
        self.ax_.set_xlabel(
            f"predicted probability of {shorten(self.pos_label, 20)}\n"
            f"(prevalence {self.prevalence:.2g})"
        )
