"""A comparison in a notebook: the recommendation and one row per method."""

import html

from tamis.comparison.fitted.metrics import path_table
from tamis.comparison.methods.naming import bracket, explain_marks, mark_method

__all__ = ["notebook_view"]


def notebook_view(comparison):
    """HTML of a comparison."""
    rows = []
    paths = {
        result.method.name: path_table(result, comparison.candidates, comparison.recommended)
        for result in comparison.results
    }
    for name, path in paths.items():
        best, sparse = path["best"], path["good_enough"]
        cells = [
            html.escape(mark_method(name, path)),
            f"{sparse['features_overall']:.3g}",
            bracket(f"{sparse['score']:.3f} ± {sparse['standard_error']:.3f}", sparse),
            f"{best['features_overall']:.3g}",
            bracket(f"{best['score']:.3f}", best),
        ]
        rows.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    heads = ("method", "features", "score", "features at best", "best score")
    header = "".join(f"<th>{head}</th>" for head in heads)
    marks = explain_marks(paths)
    warnings = "".join(
        f"<li>{html.escape(check.sentence)} {html.escape(check.advice)}</li>"
        for check in comparison.checks
    )
    return (
        f"<p><strong>{html.escape(repr(comparison))}</strong></p>"
        f"<table><thead><tr>{header}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
        + (f"<p>{html.escape(marks)}</p>" if marks else "")
        + (f"<ul>{warnings}</ul>" if warnings else "")
    )
