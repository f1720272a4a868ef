"""`tamis methods`: what is compared, and when a method is skipped."""

import textwrap

from tamis.cli.layout import WIDTH
from tamis.cli.output import write_json
from tamis.cli.printing import print_lines
from tamis.comparison.methods.baselines import BASELINES
from tamis.comparison.methods.families import METHODS
from tamis.comparison.run import PATIENCE

_CENTERS = 'Calafiore and Fracastoro, "Sparse l1 and l2 Center Classifiers", arXiv 1911.07320'
_PANEL = (
    "the two stages of the experiments in arXiv 1911.07320 (prefilter by sparse centers, then a "
    "classifier on the features left), with forward selection in between"
)
_PAPERS = {
    "centers": _CENTERS,
    "medians": _CENTERS,
    "primal-dual": 'Barlaud, Chambolle and Caillau, "Classification and feature selection using a '
    'primal-dual method and projection on structured constraints", arXiv 1902.01600',
    "panel": _PANEL,
    "panel-kernel": _PANEL,
    "landmarks": 'Ortiz-Bejar, Tellez and Graff, "Improving classification performance by feature '
    'space transformations and model selection", arXiv 1907.06258',
    "datum-wise": 'Dulac-Arnold, Denoyer, Preux and Gallinari, "Datum-wise classification: a '
    'sequential approach to sparsity", ECML PKDD 2011',
    "most-frequent": "scikit-learn, DummyClassifier",
    "l1-logistic": "scikit-learn, LogisticRegression",
    "relaxed-l1": "scikit-learn, LogisticRegression; refitted with a ridge",
    "rfe": "scikit-learn, LogisticRegression; the smallest weights are dropped step by step",
    "random-forest": "scikit-learn, RandomForestClassifier",
}
_LEVELS = {
    "features": "number of features",
    "cost weight": "cost of a feature, in errors",
}
# Sizes that seconds are given for: rows, columns.
_EXAMPLES = ((1_000, 100), (100, 10_000), (100_000, 100))


def run(options):
    """Run the command; returns the exit code."""
    described = describe_methods()
    if options.json:
        write_json(None, described)
    else:
        print_lines(show_methods(described))
    return 0


def describe_methods():
    """All methods and baselines, as plain JSON."""
    return {
        "format": "tamis-methods",
        "format_version": 1,
        "patience_seconds": PATIENCE,
        "methods": [
            {
                "name": method.name,
                "title": method.title,
                "is_baseline": method.is_baseline,
                "is_readable": method.is_readable,
                "head": method.head_name,
                "level_is": _LEVELS.get(method.level_name, method.level_name),
                "paper": _PAPERS.get(method.name, ""),
                "effort": " ".join((type(method).seconds.__doc__ or "").split()),
                "seconds": [
                    {
                        "rows": n_rows,
                        "columns": n_columns,
                        "classes": 2,
                        "seconds": float(method.seconds(n_rows, n_columns, n_rows * n_columns, 2)),
                    }
                    for n_rows, n_columns in _EXAMPLES
                ],
            }
            for method in (*METHODS, *BASELINES)
        ],
    }


def show_methods(described):
    """Lines for standard output."""
    lines = []
    for method in described["methods"]:
        title = f"({method['title']})" if method["is_baseline"] else method["title"]
        sizes = ", ".join(
            f"{size['rows']:,} x {size['columns']:,}: {_seconds(size['seconds'])}"
            for size in method["seconds"]
        )
        lines.append(f"{method['name']:<14} {title}")
        for what, text in (
            ("model size is set by", f"the {method['level_is']}"),
            ("readable", "yes" if method["is_readable"] else "no"),
            ("paper" if not method["is_baseline"] else "from", method["paper"]),
            ("effort", method["effort"]),
            ("one training", sizes),
        ):
            lines += textwrap.wrap(
                f"{what}: {text}", WIDTH, initial_indent=" " * 15, subsequent_indent=" " * 17
            )
    lines += [
        "",
        *textwrap.wrap(
            "In parentheses: baselines that are not recommended. Readable models can be "
            "explained, asked, turned into a points card and exported to SQL. Seconds "
            "are rough estimates for one training on rows x columns of numbers with two classes, "
            "on one core; a comparison trains once per fold and repeat. "
            "`tamis fit` skips a method, with a message, if all its trainings together would take "
            "more than "
            f"{described['patience_seconds']:.0f} s on the available cores; name it in --methods "
            "to run it anyway.",
            WIDTH,
        ),
    ]
    return lines


def _seconds(value):
    return f"{value:.1f} s" if value < 10 else f"{value:,.0f} s"
