import pytest

from tests.models.fuzzing import campaign, raw_files

FAMILIES = {
    "centers": ["centers", "centers l1", "centers groups", "centers cv"],
    "primal-dual": ["primal-dual", "primal-dual cv"],
    "panel": ["panel lda", "panel kernel", "panel cv"],
    "landmarks": ["landmarks nb", "landmarks knn", "landmarks lda", "landmark soft"],
    "datum-wise": ["datum-wise groups", "datum-wise fixed", "datum-wise cv"],
    "selectors": ["odds ratio", "naive Bayes", "landmark map"],
}


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_damaged_files_are_refused_or_can_be_used(family):
    outcomes, failures = campaign(raw_files(FAMILIES[family]), 600, seed=1)
    assert not failures
    for counts in outcomes.values():
        assert counts["refused"] > 30
