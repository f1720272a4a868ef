"""Questions: the cheapest member of an ordered family whose errors are shown to be rare.

The least favourable family has members whose true rate is 1.02 times the limit.
"""

from dataclasses import replace
from functools import cache

import numpy as np
from sklearn.base import BaseEstimator

from simulations.engine import Measure, Simulation, each
from simulations.features import as_seed
from tamis import DatumWiseClassifier
from tamis.guarantees import find_cheapest_model
from tamis.paths.fixed_sequence import Limit, run_sequence

LIMIT = 0.05
TOO_HIGH = 1.02 * LIMIT
N_SAFE = 3  # members before those that err too often
FRESH = 50_000


def sequence_claims(errors, n_rows):
    """Whether any member passes, from the errors of members in their order."""
    is_wrong = np.arange(n_rows) < errors[:, None]
    limits = [Limit("error rate", LIMIT, np.arange(n_rows))]
    return run_sequence(is_wrong, limits).chosen is not None


def repeat_sequence(rng):
    """200 members that err too often, independently: in a fixed order, and by their errors."""
    errors = rng.binomial(300, TOO_HIGH, size=200)
    return sequence_claims(errors, 300), sequence_claims(np.sort(errors), 300)


class Column(BaseEstimator):
    """A fitted model whose labels are a column of the data."""

    def __init__(self, column):
        self.column = column

    def predict(self, X):
        return X[:, self.column].astype(int)


def draw_labels(rng, y, rates):
    """Labels of members, (n_rows, n_members), that are wrong at these rates of the classes."""
    wrong = rng.random((y.size, len(rates))) < np.asarray(rates)[:, y].T
    return np.where(wrong, 1 - y[:, None], y[:, None])


MEMBERS = [Column(m) for m in range(N_SAFE + 20)]


def repeat_errors(rng):
    y = (rng.random(400) < 0.3).astype(int)
    rates = [[0.3 * LIMIT] * 2] * N_SAFE + [[TOO_HIGH] * 2] * 20
    found = find_cheapest_model(MEMBERS, draw_labels(rng, y, rates), y, max_error=LIMIT)
    return [found.place is not None and found.place >= N_SAFE]


def repeat_misses(rng):
    """Errors are rare enough, but too many rows of the rare class are missed."""
    y = (rng.random(400) < 0.3).astype(int)
    rates = [[0.01, 0.01]] * N_SAFE + [[0.01, 1.02 * 0.1]] * 20
    found = find_cheapest_model(
        MEMBERS, draw_labels(rng, y, rates), y, max_error=0.2, max_misses={1: 0.1}
    )
    return [found.place is not None and found.place >= N_SAFE]


def repeat_groups(rng):
    """Rows of a patient have the same labels; groups told, and withheld."""
    y = (rng.random(150) < 0.5).astype(int)
    patients = np.repeat(np.arange(150), rng.integers(1, 9, 150))
    labels = draw_labels(rng, y, [[TOO_HIGH] * 2] * len(MEMBERS))[patients]
    return [
        find_cheapest_model(
            MEMBERS, labels, y[patients], max_error=LIMIT, groups=groups, random_state=0
        ).place
        is not None
        for groups in (patients, None)
    ]


# Datum-wise models.


def draw_rows(rng, n):
    y = (rng.random(n) < 0.5).astype(int)
    X = rng.normal(size=(n, 6)) + np.linspace(1.2, 0.2, 6) * y[:, None]
    return X, y


@cache
def datum_wise():
    """A path, its training rows, and the true error rates and questions of its levels."""
    rng = np.random.default_rng(0)
    X, y = draw_rows(rng, 300)
    path = DatumWiseClassifier(n_trees=5, n_sets=10, random_state=0).fit_path(X, y, 4)
    new, labels = draw_rows(rng, FRESH)
    predicted, usage = path.labels_and_usage(new)
    return path, X, y, (predicted != labels).mean(axis=1), usage.n_features.mean(axis=1)


def reached(rng, X, y, limit):
    """What calibration on these rows finds, and the level of it."""
    path = datum_wise()[0]
    found = path.calibrate(X, y, max_error=limit, random_state=as_seed(rng))
    return found, len(path) - found.test.n_passed


def repeat_datum_wise(are_new):
    """Whether the member reached errs too often, on new rows, or on those that trained it.

    The limit makes the error rate of the third member 1.02 times too high.
    """

    def repeat(rng):
        _, X, y, rates, _ = datum_wise()
        limit = rates[::-1][2] / 1.02
        rows = rng.integers(y.size, size=200)  # drawn again with replacement
        found, level = reached(
            rng, *(draw_rows(rng, 200) if are_new else (X[rows], y[rows])), limit
        )
        return [found.model is not None and rates[level] > limit]

    return repeat


def repeat_questions(rng):
    """Whether the number of questions is outside of its interval; all members pass."""
    questions = datum_wise()[4]
    found, level = reached(rng, *draw_rows(rng, 200), 0.9)
    return [not found.n_questions.low <= questions[level] <= found.n_questions.high]


SEQUENCE = Measure("fixed sequence, a member that errs too often passes", 0.05)
CHEAPEST = replace(SEQUENCE, procedure="`find_cheapest_model`, errs too often")
WHOLE = replace(SEQUENCE, procedure="`DatumWisePath.calibrate`, errs too often")

FAMILY = "4 members, the third with 1.02 times the limit"

SIMULATIONS = (
    Simulation(
        "fixed sequence",
        "200 members with 1.02 times the limit, 300 rows",
        (
            SEQUENCE,
            replace(
                SEQUENCE, procedure="fixed sequence, order from the same rows", is_control=True
            ),
        ),
        each(repeat_sequence),
    ),
    Simulation(
        "cheapest model, errors",
        "3 safe members, then 20 with 1.02 times the limit, 400 rows",
        (CHEAPEST,),
        each(repeat_errors),
    ),
    Simulation(
        "cheapest model, misses",
        "the same members, misses of the rarer of two classes",
        (CHEAPEST,),
        each(repeat_misses),
    ),
    Simulation(
        "cheapest model, groups",
        "23 members with 1.02 times the limit, 150 patients with 1 to 8 rows",
        (
            CHEAPEST,
            replace(CHEAPEST, procedure="`find_cheapest_model`, groups withheld", is_control=True),
        ),
        each(repeat_groups),
    ),
    Simulation(
        "datum-wise",
        f"{FAMILY}, 200 rows",
        (WHOLE,),
        each(repeat_datum_wise(True)),
    ),
    Simulation(
        "datum-wise, questions",
        "4 members, all of which pass, 200 rows",
        (replace(WHOLE, procedure="`DatumWisePath.calibrate`, interval of the questions"),),
        each(repeat_questions),
    ),
    Simulation(
        "datum-wise, trained rows",
        f"{FAMILY}, 200 rows",
        (
            replace(
                WHOLE,
                procedure="`DatumWisePath.calibrate` on the rows that trained the path",
                is_control=True,
            ),
        ),
        each(repeat_datum_wise(False)),
        200,
        50,
    ),
)
