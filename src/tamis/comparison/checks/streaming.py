"""What a user must know about a table that was streamed."""

from collections.abc import Iterator
from typing import Any

from tamis.comparison.checks.check import Check

__all__ = ["tell_streaming"]


def tell_streaming(told: dict[str, Any]) -> Iterator[Check]:
    """The sample, and the score outside it.

    `told`: from `Streamed.finish`.
    """
    final = told["parts"]["final model"].replace("streamed: ", "").replace("sample: ", "")
    yield Check(
        "streamed",
        "note",
        f"Methods were compared on a random sample of {told['sampled_rows']:,} of the "
        f"{told['rows']:,} rows; the final model was trained on {final}.",
        "With enough memory, --stream off compares the methods on all rows.",
    )
    verified = told["outside_sample"]
    if verified is None:
        return
    name = verified["scoring"].replace("_", " ")
    low, high = verified["interval_95"]
    copies = verified["duplicates_left_out"]
    without = f"; {copies:,} duplicates of rows of the sample are left out" if copies else ""
    is_final = told["parts"]["final model"].startswith("sample")
    which = "This is the final model." if is_final else (
        "The final model has the same number of features, and was trained on these rows as well."
    )  # fmt: skip
    yield Check(
        "outside-sample",
        "note",
        f"On the {verified['rows']:,} rows outside the sample, the model trained on the sample "
        f"has a {name} of {verified['score']:.3f}, 95 % interval {low:.3f} to {high:.3f}"
        f"{without}.",
        f"These rows were not used for any choice. {which}",
    )
