import pytest


@pytest.fixture(scope="package", autouse=True)
def sparse_data_stay_sparse():
    """Small examples of sparse data are hardly sparse, but here their own code is tested."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tamis._array._DENSE_SHARE", 2.0)
        patch.setattr("tamis._array._SMALLER_SHARE", 2.0)
        yield
