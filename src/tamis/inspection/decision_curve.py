"""Net benefit of a model against treating all and treating none."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from tamis.inspection._binary import BinaryDisplay
from tamis.inspection._style import COLORS, SMALL, ink, make_axes, shorten

if TYPE_CHECKING:
    pass


_THRESHOLDS = np.arange(1, 100) / 100
_CHUNK = 1 << 24  # counts that are drawn at a time


@dataclass(eq=False, repr=False)
class DecisionCurveDisplay(BinaryDisplay):
    r"""Net benefit against the threshold, beside treating all and treating none.

    .. math:: \text{Se} \, \pi - (1 - \text{Sp}) (1 - \pi) \frac{t}{1 - t}

    at threshold t, where Se and Sp are the sensitivity and specificity of treating those with a
    probability of at least t, and :math:`\pi` is the stated prevalence. A model is useful at
    thresholds where its curve is above both others.

    Parameters
    ----------
    thresholds : ndarray of shape (n_thresholds,)
    net_benefit : ndarray of shape (n_thresholds,)
        Of the model.
    low, high : ndarray of shape (n_thresholds,)
        Pointwise 95 % limits, from a bootstrap of rows within each class, or of sample groups.
    prevalence : float
        Proportion of the positive class that the picture is about.
    pos_label : str
        Name of the positive class.

    Attributes
    ----------
    treat_all : ndarray of shape (n_thresholds,)
        Net benefit of treating all.
    ax_, figure_ : matplotlib Axes and Figure
    line_, all_line_, none_line_ : matplotlib Line2D
        The model, treat all, treat none.
    band_ : matplotlib PolyCollection
        The intervals.

    Notes
    -----
    Options of the functions that make one: `thresholds`, between 0 and 1 (None: 0.01, 0.02, ...
    0.99); `n_draws`, number of bootstrap draws, in which sample groups are drawn whole (1000);
    `random_state`, their seed (0). Others are for the line of the model.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis.inspection import DecisionCurveDisplay
    >>> p = np.random.default_rng(0).uniform(size=400)
    >>> y = np.random.default_rng(1).uniform(size=400) < p
    >>> display = DecisionCurveDisplay.from_predictions(y, p, thresholds=[0.2, 0.5])
    >>> (display.net_benefit - display.treat_all).round(3).tolist()
    [0.016, 0.228]
    """

    _options = ("thresholds", "n_draws", "random_state")

    thresholds: NDArray
    net_benefit: NDArray
    low: NDArray
    high: NDArray
    _: KW_ONLY
    prevalence: float
    pos_label: str

    @property
    def treat_all(self) -> NDArray[np.float64]:
        """Net benefit of treating all."""
        return _net_benefit(1.0, 1.0, self.prevalence, self.thresholds)

    @classmethod
    def _of(cls, data, thresholds=None, n_draws=1000, random_state=0):
        at = _THRESHOLDS if thresholds is None else np.unique(np.asarray(thresholds, dtype=float))
        if not ((at > 0) & (at < 1)).all() or at.size == 0:
            raise ValueError(f"thresholds must be between 0 and 1, got {thresholds!r}.")
        pi = data.prevalence
        benefit = _net_benefit(*_rates(*_totals(data, at)), pi, at)
        draws = _draw(data, at, n_draws, check_random_state(random_state))
        low, high = np.nanpercentile(_net_benefit(*draws, pi, at), [2.5, 97.5], axis=0)
        return cls(at, benefit, low, high, prevalence=pi, pos_label=data.name)

    def _plot(self, ax, kwargs):
        """Draw the three curves."""
        self.ax_, self.figure_ = make_axes(type(self).__name__, ax)
        style: dict[str, Any] = {"color": COLORS[0], "linewidth": 2}
        style |= {"label": "model, 95 % interval"} | kwargs
        self.line_ = self.ax_.plot(self.thresholds, self.net_benefit, **style)[0]
        self.band_ = self.ax_.fill_between(
            self.thresholds,
            self.low,
            self.high,
            color=self.line_.get_color(),
            alpha=0.22,
            linewidth=0,
        )
        what = shorten(self.pos_label, 20)
        self.all_line_ = self.ax_.plot(
            self.thresholds, self.treat_all, color=COLORS[1], linestyle="--", label="treat all"
        )[0]
        self.none_line_ = self.ax_.axhline(0, color=ink(), linestyle=":", label="treat none")
        top = max(self.prevalence, float(np.nanmax(self.high)))
        self.ax_.set(xlim=(0, 1), ylim=(-0.25 * top, 1.1 * top), ylabel="net benefit")
        self.ax_.set_xlabel(
            f"threshold for the probability of {what}\n(prevalence {self.prevalence:.2g})"
        )
        self.ax_.legend(  # above: the curves can be anywhere inside
            loc="lower center",
            bbox_to_anchor=(0.5, 1.0),
            ncols=3,
            columnspacing=1.2,
            handlelength=1.8,
            fontsize=SMALL,
            frameon=False,
        )


def _net_benefit(sensitivity, false_positive_rate, prevalence, thresholds):
    odds = thresholds / (1 - thresholds)
    return sensitivity * prevalence - false_positive_rate * (1 - prevalence) * odds


def _totals(data, thresholds):
    """Weight of the positive and negative rows below the first threshold, between it and so on."""
    bins = np.searchsorted(thresholds, data.probabilities, side="right")
    n = thresholds.size + 1
    weights = data.weights * data.is_positive
    return np.bincount(bins, weights, n), np.bincount(bins, data.weights - weights, n)


def _rates(positive, negative):
    """Sensitivity and false positive rate at all thresholds; NaN without rows of a class."""
    with np.errstate(invalid="ignore"):
        return tuple(
            total[..., ::-1].cumsum(axis=-1)[..., ::-1][..., 1:] / total.sum(axis=-1)[..., None]
            for total in (positive, negative)
        )


def _draw(data, thresholds, n_draws, rng):
    """Sensitivity and false positive rate of bootstrap draws, of shape (n_draws, n_thresholds)."""
    if data.groups is None and np.ptp(data.weights) == 0:
        # Rows within each class: only the counts per bin matter.
        totals = []
        for total in _totals(data, thresholds):
            counts = np.rint(total / data.weights[0])
            totals.append(rng.multinomial(int(counts.sum()), counts / counts.sum(), n_draws))
        return _rates(*totals)
    units = np.arange(data.is_positive.size) if data.groups is None else data.groups
    n_units = int(units.max()) + 1
    bins = np.searchsorted(thresholds, data.probabilities, side="right")
    totals = [np.empty((n_draws, thresholds.size + 1)) for _ in range(2)]
    step = max(1, _CHUNK // n_units)
    for start in range(0, n_draws, step):
        size = min(step, n_draws - start)
        times = rng.multinomial(n_units, np.full(n_units, 1 / n_units), size)
        for total, chosen in zip(totals, (data.is_positive, ~data.is_positive), strict=True):
            for draw, of_unit in enumerate(times, start):
                weights = data.weights[chosen] * of_unit[units[chosen]]
                total[draw] = np.bincount(bins[chosen], weights, total.shape[1])
    return _rates(*totals)
