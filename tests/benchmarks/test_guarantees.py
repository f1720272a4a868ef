"""Small simulations of the guarantees: evidence against the controls, and none against promises.

There is evidence if the lower 99 % limit of the violation rate is above the promised rate. So few
repetitions cannot show that the upper limit is low: `benchmarks/guarantees.py` does.
"""

import itertools
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tamis.guarantees import true_features

FOLDER = Path(__file__).parents[2] / "benchmarks"
sys.path.append(str(FOLDER))
import guarantees as benchmark  # noqa: E402
from simulations.engine import FAILS, Measure, Simulation, judge  # noqa: E402

sys.path.remove(str(FOLDER))

# Repetitions of what takes more than a few milliseconds; 100 of the others.
FEWER = {
    **dict.fromkeys(("true features, mixed", "true features, mixed, medians"), 30),
    **dict.fromkeys(("true features, proxies", "true features, batches"), 30),
    **dict.fromkeys(("true features, groups", "split, groups", "cross, 200 equal"), 25),
    "cross, signal": 25,
    "stable, equal": 60,
    "sensitivity, chosen": 30,
    "stable, mixed": 10,
    "stable, mixed, medians": 10,
    "stable, scales": 20,
    "stable, groups": 10,
    "cubic IPSS": 5,
    "datum-wise": 10,
    "datum-wise, questions": 10,
    "datum-wise, trained rows": 5,
    "printed, small classes": 1,
}
LEFT_OUT = {"printed, signal", "printed, groups"}  # seconds each, as are the default methods


def findings_of(name, n):
    simulation = benchmark.SIMULATIONS[name]
    return list(judge(simulation, [simulation.run_block(0, n)]))


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in benchmark.SIMULATIONS
        if name not in LEFT_OUT and not name.startswith(("lower band", "default methods"))
    ],
)
def test_promises_hold_and_controls_fail(name):
    findings = findings_of(name, FEWER.get(name, 100))
    wrong = [(finding.measure.procedure, finding.rate) for finding in findings if finding.is_wrong]
    assert not wrong


def test_the_lower_band_holds():
    assert findings_of("lower band, nearly perfect", 20)[0].verdict != FAILS


def test_a_bound_is_too_high_for_some_set_only_if_it_is_for_all_false_features():
    """What the simulations of `true_features` rely on, against all sets."""
    rng = np.random.default_rng(0)
    y, n_false, wrong = np.arange(12) % 2, 4, set()
    for seed in range(40):
        X = rng.normal(size=(12, 6))
        X[:, n_false:] += 2 * y[:, None]
        found = true_features(X, y, alpha=0.3, n_permutations=19, random_state=seed)
        sets = itertools.chain.from_iterable(
            itertools.combinations(range(6), size) for size in range(1, 7)
        )
        too_high = any(found.at_least(s) > sum(i >= n_false for i in s) for s in sets)
        assert too_high == (found.at_least(range(n_false)) > 0)
        wrong.add(too_high)
    assert wrong == {True, False}


# The command.


@pytest.fixture
def command(monkeypatch, tmp_path, capsys):
    """Runs simulations with a given rate of violations; the exit code and what it wrote."""

    def call(*arguments, rate=0.04, is_control=False):
        simulation = Simulation(
            "coin",
            "a coin",
            (Measure("toss", 0.05, is_control),),
            lambda rng, n: rng.random((n, 1)) < rate,
            repetitions=3000,
        )
        monkeypatch.setattr(benchmark, "SIMULATIONS", {"coin": simulation})
        code = benchmark.main(["--output", str(tmp_path), *map(str, arguments)])
        return code, *capsys.readouterr()

    return call


@pytest.mark.parametrize(
    ("rate", "is_control", "code", "verdict"),
    [
        (0.04, False, 0, "| pass |"),
        (0.055, False, 1, "| **NOT SHOWN** |"),
        (0.08, False, 1, "| **FAILS** |"),
        (0.08, True, 0, "| fails, as it must |"),
        (0.05, True, 1, "| **DOES NOT FAIL** |"),
    ],
)
def test_the_exit_code_says_whether_all_is_as_it_must_be(command, rate, is_control, code, verdict):
    found, report, _ = command(rate=rate, is_control=is_control)
    assert found == code
    assert verdict in report


def test_a_second_run_resumes_and_an_interruption_changes_nothing(command, tmp_path):
    code, whole, progress = command("--repetitions", 600)
    assert code == 0 and progress.count("coin, block") == 3
    assert command("--repetitions", 600) == (0, whole, "")
    (tmp_path / "guarantees.json").unlink()
    command("--repetitions", 300)
    assert command("--repetitions", 600)[1] == whole
    assert (tmp_path / "guarantees.md").read_text() + "\n" == whole


def test_limits_are_those_of_clopper_and_pearson():
    simulation = Simulation("coin", "", (Measure("", 0.05), Measure("", 1, is_mean=True)), None)
    none, mean = judge(simulation, [[50, [0, 50], [0, 100]], [50, [0, 100], [0, 400]]])
    assert none.low == 0
    assert_allclose(none.high, 1 - 0.01 ** (1 / 100))
    assert_allclose((mean.rate, mean.high), (1.5, 1.5 + 2.3263479 * np.sqrt(2.75 / 99)))
