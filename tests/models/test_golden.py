"""Models that earlier versions wrote predict what they predicted then."""

import json
from functools import cache

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tamis.models import load_model
from tests.models.families import MODELS
from tests.models.golden_files import FOLDER, predictions

FILES = [f"{path.parent.name}/{path.name}" for path in sorted(FOLDER.glob("*/*.json.gz"))]


@cache
def expected(version):
    return json.loads((FOLDER / version / "predictions.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("file", FILES)
def test_a_model_of_an_earlier_version_predicts_what_it_did(file):
    version, _, name = file.partition("/")
    known = dict(expected(version)["predictions"][name])
    rows = pd.DataFrame(expected(version)["rows"][known.pop("rows")])
    found = predictions(load_model(FOLDER / file), rows)
    assert set(known) <= set(found)
    for what, values in known.items():
        if np.asarray(values).dtype.kind == "f":
            # Other platforms add in another order.
            assert_allclose(found[what], values, rtol=1e-9, atol=1e-12, err_msg=what)
        else:
            assert_array_equal(found[what], values, err_msg=what)


def test_every_class_of_model_has_a_golden_file():
    classes = {type(load_model(FOLDER / file)).__name__ for file in FILES}
    assert classes == {*(type(model).__name__ for model in MODELS.values()), "TableClassifier"}
