"""The script of the page and Python hold the same conversations."""

import json

import pytest

from tests.report.forms import ESTIMATORS, conversations, replay_all

VARIANTS = [
    {},
    {"settings": {"max_questions": 2, "reject": 0.7}},
    {"settings": {"reject": 0.8}, "threshold": 0.3, "recalibrated": True},
    {"settings": {"reject": 0.9, "prevalence": 0.2}, "n_classes": 2, "threshold": 0.3},
    {"settings": {"prevalence": 0.05}, "n_classes": 2, "recalibrated": True},
    {"settings": {"prevalence": {"ill": 0.6}}, "costly": True},
]


def check(found, n):
    assert found["wrong"] == []
    assert found["worst"] < 1e-9
    assert found["steps"] >= n


@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_script_holds_the_same_conversations(name, tmp_path):
    pairs = [conversations(name, 4, seed, **v) for seed, v in enumerate(VARIANTS)]
    for found in replay_all(pairs, tmp_path):
        check(found, 4)


@pytest.mark.slow
@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_script_holds_hundreds_of_the_same_conversations(name, tmp_path):
    pairs = [conversations(name, 100, seed, **v) for seed, v in enumerate(VARIANTS, 100)]
    for found in replay_all(pairs, tmp_path):
        check(found, 100)


def test_a_flip_risk_stops_both_at_the_same_question(tmp_path):
    pair = conversations("projection", 40, settings={"flip_risk": 0.02})
    check(replay_all([pair], tmp_path)[0], 40)
    lengths = {len(actions) for actions, _ in pair[1]}
    assert min(lengths) < len(pair[0]["questions"])


def test_the_script_reads_trees_that_are_bytes(tmp_path, monkeypatch):
    monkeypatch.setattr("tamis.datumwise.record._MOST_NODES", 8)
    pair = conversations("forest", 12)
    assert '"of"' in json.dumps(pair[0]) and '"int8"' in json.dumps(pair[0])
    check(replay_all([pair], tmp_path)[0], 12)
