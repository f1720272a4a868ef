"""The results as Markdown: the paper's claims, sizes and our numbers beside them."""

from claims import COMPARABLE, FASTER, MARGIN
from datasets import DATASETS
from methods import ALL_FEATURES, methods_for

HEADINGS = {"variance": "variance", "std": "std", "none": "own scaling"}


def write_report(results, published, verdicts):
    """The whole page."""
    summary = results.summary()
    names = [name for name in DATASETS if summary.get(name)]
    parts = [_introduction(results, published), _claims_table(verdicts)]
    parts.append(_sizes_table(names, results.shapes, published))
    parts += [_data_set(name, results.shapes[name]["ks"], summary[name]) for name in names]
    return "\n\n".join(parts) + "\n"


def _introduction(results, published):
    environment = results.environment
    versions = ", ".join(f"{n} {v}" for n, v in results.settings["versions"].items())
    return f"""# Sparse centers: the experiments of the paper

{published["paper"]}. {published["note"]}

Two stages, as there: a method selects k features, then a linear SVM (liblinear, C = 1) is trained
on them. Text: accuracy; genes: balanced accuracy; mean ± standard deviation over random 80/20
splits (split i has seed {results.settings["seed"]} + i). Features are rescaled with numbers of
the training part, in two ways: divided by the *variance*, which is what the paper says for text,
and by the standard deviation (*std*), which may be what it means; dense data are centered too.
Naive Bayes (SNB) and Odds Ratio select on the raw counts; for genes, Odds Ratio asks whether a
gene is above its median. "Alone" rows are the sparse center classifiers without an SVM. On text
l1-SC selects nothing: the class medians of words are all 0.

Seconds are those of the selection, for all k together, with one thread. Logistic-l1 and Lasso
relax their penalty until k features are in and give the k largest coefficients; Logistic-RFE is
one elimination that stops at every k. Where a method found fewer than k features, their number is
in brackets. A method stops after its time limit on a data set ({environment["max_seconds"]:g} s
here): *splits* says how many it finished.

{versions}; {environment["jobs"]} process(es) at a time on {environment["cpu_count"]} CPUs."""


def _claims_table(verdicts):
    lines = [
        "## The paper's claims",
        "",
        f"Taken to mean: competitive or as accurate, at most {MARGIN} below the median rival; "
        f"poor, at least {MARGIN} below; significantly faster, {FASTER:g} times or more against "
        f"every rival; comparable in time, up to {COMPARABLE:g} times. Scores are the rival's "
        "minus ours, over the splits and k that both have; times the rival's over ours, for SNB "
        "those of one k.",
        "",
        "| claim | data | rescaled by | verdict | rivals beside ours |",
        "| --- | --- | --- | --- | --- |",
    ]
    for v in verdicts:
        verdict = {True: "holds", False: "**does not hold**", None: "unknown"}[v["holds"]]
        cells = (v["statement"], v["dataset"], v["rescaling"], verdict, v["numbers"])
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _sizes_table(names, shapes, published):
    lines = [
        "## The data",
        "",
        "| data | paper: samples x features | ours | what differs |",
        "| --- | --- | --- | --- |",
    ]
    for name in names:
        size = published["sizes"].get(name)
        theirs = f"{size['samples']:,} x {size['features']:,}" if size else "-"
        ours = f"{shapes[name]['samples']:,} x {shapes[name]['features']:,}"
        lines.append(f"| {name} | {theirs} | {ours} | {DATASETS[name].note} |")
    return "\n".join(lines)


def _data_set(name, ks, conditions):
    info = DATASETS[name]
    columns = [*map(str, ks[:-1]), "all"] if info.score else []
    head = ["method", "rescaled by", *columns, "seconds", "splits"]
    lines = [f"## {name}", "", _row(head), _row(["---"] * len(head))]
    for rescaling in HEADINGS:
        for method, entry in conditions.get(rescaling, {}).items():
            cells = [_score(entry, j, k) for j, k in enumerate(ks)] if info.score else []
            last = [_seconds(method, entry), str(entry["n_splits"])]
            lines.append(_row([method, HEADINGS[rescaling], *cells, *last]))
    return "\n".join([*lines, "", _remarks(info, conditions)])


def _remarks(info, conditions):
    score = info.score.replace("_", " ").capitalize() if info.score else "Times only"
    remarks = [f"{score}."]
    if info.left_out:
        remarks.append(f"Left out because they take too long: {', '.join(info.left_out)}.")
    fits = sum(e["svm_fits"] for methods in conditions.values() for e in methods.values())
    failed = sum(e["svm_unconverged"] for methods in conditions.values() for e in methods.values())
    if failed:
        remarks.append(f"{failed} of {fits} scores are of an SVM that had not converged.")
    missing = [
        m.name for r in conditions for m in methods_for(info, r) if m.name not in conditions[r]
    ]
    if missing:
        remarks.append(f"Not run: {', '.join(missing)}.")
    return " ".join(remarks)


def _score(entry, j, k):
    mean, std, selected = entry["mean"][j], entry["std"][j], entry["selected"][j]
    if mean is None:
        return "no feature" if selected == 0 else ""
    text = f"{mean:.3f}" if std is None else f"{mean:.3f} ± {std:.3f}"
    # None of the methods goes over k, so fewer than k - 0.5 on average is fewer in some split.
    return text if selected > k - 0.5 else f"{text} ({selected:.0f})"


def _seconds(method, entry):
    if method == ALL_FEATURES.name:
        return ""
    if entry["seconds_std"] is None:
        return f"{entry['seconds']:.3g}"
    return f"{entry['seconds']:.3g} ± {entry['seconds_std']:.2g}"


def _row(cells):
    return f"| {' | '.join(cells)} |"
