"""`tamis export`: the model in another format."""

import warnings

from tamis.cli.output import check_output
from tamis.cli.printing import say
from tamis.comparison.folder import find_model

__all__ = ["run"]


def run(options):
    """Run the command; returns the exit code."""
    output = check_output(options.output, options.run)
    model = find_model(options.run)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        _write(model, output, options.to)
    for line in dict.fromkeys(str(warning.message) for warning in caught):
        say(line)
    return 0


def _write(model, output, format):
    from tamis import models

    if format in ("json", "skops"):
        models.save_model(model, output, format=format)
        return
    if format in ("onnx", "python"):
        sentence = models.holds_training_rows(model)
        if sentence:
            warnings.warn(sentence, models.PrivacyWarning, stacklevel=2)
    getattr(models, f"export_{format}")(model, output)
