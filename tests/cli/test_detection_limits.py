"""Values beyond a detection limit, from the file to the answer."""

import json

import numpy as np
import pytest

from tests.cli.conftest import write_csv

FIT = ["--target", "state", "--methods", "centers,most-frequent", "--folds", "2", "--repeats", "1"]
FIT += ["--n-jobs", "1", "--no-report"]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    rng = np.random.default_rng(0)
    rows = []
    for at in range(80):
        crp = np.exp(1.5 * (at % 2) + rng.normal())
        rows.append(["<0.5" if crp < 0.5 else f"{crp:.2f}", rng.normal(), ["well", "ill"][at % 2]])
    return write_csv(tmp_path_factory.mktemp("limits") / "data.csv", ["crp", "x", "state"], rows)


@pytest.mark.parametrize(("rule", "value"), [("half", "0.25"), ("limit", "0.5"), ("missing", "")])
def test_the_rule_of_the_fit_holds_in_predict(data, rule, value, tamis, tmp_path):
    run = tmp_path / "run"
    tamis("fit", data, *FIT, "--below-detection", rule, "-o", run)
    (told,) = [
        check
        for check in json.loads((run / "metrics.json").read_text())["checks"]
        if check["code"] == "detection-limits"
    ]
    assert "(<0.5); by class: ill " in told["sentence"]
    new = write_csv(tmp_path / "new.csv", ["crp", "x"], [["<0.5", 0.0], [value, 0.0], ["4", 0.0]])
    _, out, _ = tamis("predict", run, new)
    shares = [line.split(",")[1:] for line in out.splitlines()[1:]]
    assert shares[0] == shares[1] != shares[2]
