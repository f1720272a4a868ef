"""Model files that are not quite what they should be: one line from the command."""

import copy
import json
from pathlib import Path

import numpy as np
import pytest

ODD = (None, True, 0, -1, 2**70, 0.5, "", "x", [], [None], {}, {"$float": "nan"}, [[]])


def changed(path, folder, **fields):
    """A copy of a model file with other fields at its top level."""
    document = {**json.loads(Path(path).read_text(encoding="utf-8")), **fields}
    (folder / "changed.json").write_text(json.dumps(document), encoding="utf-8")
    return folder / "changed.json"


@pytest.mark.parametrize("value", ODD, ids=repr)
def test_a_field_that_no_model_has_is_one_line(models, new, tmp_path, refuses, value):
    path = changed(models["centers"], tmp_path, note=value)
    refuses("predict", path, new, match="it has 'note', which does not belong there")


def test_odd_values_at_the_top_of_a_model_file_are_one_line(models, new, tmp_path, refuses):
    document = json.loads(Path(models["centers"]).read_text(encoding="utf-8"))
    fine = [("tamis_version", ""), ("tamis_version", "x"), ("shared", [])]
    pairs = [(name, odd) for name in document for odd in ODD if (name, odd) not in fine]
    assert len(pairs) > 100
    for name, odd in pairs:
        path = changed(models["centers"], tmp_path, **{name: odd})
        refuses("predict", path, new, match="not a usable tamis model")


def test_fields_that_are_lost_or_exchanged_are_one_line(models, new, tmp_path, refuses):
    rng = np.random.default_rng(0)
    document = json.loads(Path(models["centers"]).read_text(encoding="utf-8"))
    names = [name for name in document if name != "shared"]
    path = tmp_path / "changed.json"
    for name in names:
        lost = {key: value for key, value in document.items() if key != name}
        path.write_text(json.dumps(lost), encoding="utf-8")
        refuses("predict", path, new, match="not a usable tamis model")
    for _ in range(100):
        one, other = rng.choice(names, 2, replace=False)
        exchanged = copy.deepcopy(document)
        exchanged[one], exchanged[other] = exchanged[other], exchanged[one]
        path.write_text(json.dumps(exchanged), encoding="utf-8")
        refuses("predict", path, new, match="not a usable tamis model")
