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
        if options.to == "onnx":
            from tamis.models import export_onnx

            export_onnx(model, output)
        else:
            from tamis.models import save_model

            save_model(model, output, format=options.to)
    for line in dict.fromkeys(str(warning.message) for warning in caught):
        say(line)
    return 0
