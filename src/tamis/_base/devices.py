"""Data on a device: torch tensors on a GPU, and arrays of other libraries of the array API.

Estimators that can compute where X is do so under scikit-learn's array-API dispatch; arrays of the
kind of X come back. All others compute in numpy.
"""

import numpy as np
from sklearn import get_config  # type: ignore[attr-defined]
from sklearn.utils.validation import check_consistent_length

from tamis._array import from_host, is_on_device, namespace, to_host

__all__ = [
    "bring_to_numpy",
    "check_device",
    "is_dispatching",
    "like_input",
    "send_to_device",
    "validate_on_device",
]


def is_dispatching():
    """Whether scikit-learn computes where the data are."""
    return bool(get_config()["array_api_dispatch"])


def bring_to_numpy(estimator, X, on_device):
    """X as an array of numpy; one in the memory of a device is refused instead of copied."""
    device = getattr(X, "device", "cpu")
    if getattr(device, "type", str(device)).lower().startswith(("cuda", "mps", "xpu", "<cuda")):
        cure = "Pass X.cpu()."
        if on_device:
            cure = (
                "Call sklearn.set_config(array_api_dispatch=True) to compute where X is, or pass "
                "X.cpu()."
            )
        name = type(estimator).__name__
        raise TypeError(f"X is on the device {device}, and {name} computes in numpy. {cure}")
    return to_host(X)


def validate_on_device(estimator, X, y, options):
    """Check X where it is: two dimensions, numbers, the right number of features, finite.

    `estimator`: gets `n_features_in_` with ``reset=True``, the default. `options`: options of
    `validate_data`; "reset" and "ensure_all_finite" are used.
    """
    name, xp = type(estimator).__name__, namespace(X)
    if X.ndim != 2 or getattr(X, "is_sparse", False) or getattr(X, "is_sparse_csr", False):
        kind = f"{X.ndim} dimensions" if X.ndim != 2 else "a sparse layout"
        raise ValueError(f"X must be a dense array with 2 dimensions on its device, got {kind}.")
    if X.shape[0] == 0 or X.shape[1] == 0:
        raise ValueError(f"Found array with shape {tuple(X.shape)}: at least 1 row and 1 column.")
    if X.dtype not in (xp.float32, xp.float64):
        X = xp.astype(X, xp.float64)
    if options.get("reset", True):
        estimator.n_features_in_ = X.shape[1]
        vars(estimator).pop("feature_names_in_", None)
    elif X.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"X has {X.shape[1]} features, but {name} is expecting {estimator.n_features_in_} "
            "features as input."
        )
    if options.get("ensure_all_finite", True) is True and not bool(xp.all(xp.isfinite(X))):
        raise ValueError(f"Input X contains NaN or infinity. {name} needs finite numbers.")
    if isinstance(y, str):
        return X
    y = to_host(y) if is_on_device(y) else y
    check_consistent_length(np.empty(X.shape[0]), y)
    return X, y


def check_device(device):
    """Raise unless `device` can name one."""
    if not (device is None or isinstance(device, str)):
        raise ValueError(f"device must be None or the name of a device of torch, got {device!r}.")


def send_to_device(X, device):
    """An array of numpy as a torch tensor on a device; other arrays stay where they are."""
    if device is None or is_on_device(X):
        return X
    if not isinstance(X, np.ndarray):
        raise ValueError(
            f"device={device!r} needs a dense array, got sparse data. Use device=None, which "
            "reads only what is stored, or pass X.toarray() if it fits."
        )
    try:
        import torch
    except ImportError as error:
        raise ImportError(f"device={device!r} needs torch: pip install torch.") from error
    try:
        return torch.as_tensor(X, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).partition("\n")[0]
        raise ValueError(
            f"device={device!r} is not available here ({reason}). Use device=None, or a device "
            "that torch finds."
        ) from error


def like_input(values, X):
    """Numbers for samples as an array of the kind of X; labels of text stay in numpy."""
    if not (is_on_device(X) and is_dispatching()) or values.dtype.kind not in "biuf":
        return values
    return from_host(values, X)
