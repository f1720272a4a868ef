"""`tamis predict`: labels and probabilities of new rows, as CSV."""

from tamis.cli.new_rows import read_new
from tamis.cli.output import check_output, number, write_rows
from tamis.cli.priors import read_priors
from tamis.cli.progress import say
from tamis.comparison.folder import find_model

__all__ = ["run"]


def run(options):
    """Run the command; returns the exit code."""
    output = check_output(options.output, options.data)
    model = find_model(options.run)
    priors = read_priors(options.priors, model.classes_)
    name, chunks = read_new(options, model)
    if model.threshold is not None:
        say(
            f"labels are {model.positive} where its probability is at least "
            f"{model.threshold:.3g}, the threshold of --min-sensitivity"
        )
    header = [name, "prediction", *(f"p_{label}" for label in model.classes_.tolist())]
    header += ["refer"] if options.reject is not None else []
    header += ["n_asked", "asked"] if model.asks else []
    write_rows(output, header, _predict(model, chunks, priors, options.reject), options.guard)
    return 0


def _predict(model, chunks, priors, reject):
    """Yield the rows of the table."""
    for table, names, _ in chunks:
        predicted = model.predict_rows(table, priors)
        columns = [names, predicted.labels.tolist()]
        columns += [list(map(number, p.tolist())) for p in predicted.probabilities.T]
        if reject is not None:
            best = predicted.probabilities.max(axis=1)
            columns.append(["yes" if p < reject else "no" for p in best.tolist()])
        if model.asks:
            columns.append([len(asked) for asked in predicted.asked])
            columns.append([";".join(asked) for asked in predicted.asked])
        yield from zip(*columns, strict=True)
