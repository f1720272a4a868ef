"""`tamis export`: the model in another format."""

import warnings
from dataclasses import replace
from pathlib import Path

from tamis.cli.output import check_output
from tamis.cli.predict_command import read_prevalence
from tamis.cli.printing import print_lines, say
from tamis.comparison.folder import RunFolder, find_model
from tamis.models.files import write_atomically
from tamis.models.privacy import privacy_sentences
from tamis.tables.errors import InputError

# Options that belong to one format only.
_OF_FORMAT = {"html": ("max_questions", "refer", "flip_risk"), "card": ("data", "positive")}
_OF_PERSONS = ("html", "card")


def run(options):
    """Run the command; returns the exit code."""
    output = check_output(options.output, options.run)
    for format, names in _OF_FORMAT.items():
        given = [name for name in names if getattr(options, name) is not None]
        if given and options.to != format:
            word = given[0].replace("_", "-")
            raise InputError(f"--{word} is for --to {format}, got --to {options.to}.")
    if options.prevalence is not None and options.to not in _OF_PERSONS:
        raise InputError(
            f"--prevalence is for --to html and --to card, got --to {options.to}; other formats "
            "have the probabilities of tamis predict."
        )
    told = ""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if options.to == "html":
            _write_questionnaire(options, output)
        elif options.to == "card":
            told = f"; risk of {_write_card(options, output)}"
        else:
            _write(find_model(options.run), output, options.to)
    for line in privacy_sentences(caught):
        say(line)
    print_lines([f"written: {output}{told}"])
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


def _write_questionnaire(options, output):
    from tamis.report.questionnaire.conversation import Questionnaire
    from tamis.report.questionnaire.form import make_form
    from tamis.report.questionnaire.page import make_page
    from tamis.report.questionnaire.run import open_run

    opened = open_run(options.run)
    talk = Questionnaire(
        opened.model,
        max_questions=options.max_questions,
        reject=options.refer,
        flip_risk=options.flip_risk,
        prevalence=read_prevalence(options.prevalence, opened.model),
    )
    page = make_page(make_form(talk, digest=opened.digest, about=opened.about))
    with write_atomically(output) as file:
        file.write(page.encode())


def _write_card(options, output):
    """Write the card; returns the class whose risk it gives."""
    from tamis.cli.data import find_words, load
    from tamis.report.card.card import card_fields, find_positive, make_card
    from tamis.report.card.page import make_card_page
    from tamis.report.card.run import find_experiment, score_card
    from tamis.report.questionnaire.run import open_run

    opened = open_run(options.run)
    model = opened.model
    card_fields(model)  # refuses a model without a card before anything is read
    wanted = model.positive if options.positive is None else options.positive
    positive = find_positive(model.classes_, wanted)
    if not Path(options.run).is_dir():
        raise InputError(
            f"a card needs the training data, and {options.run} is only a model; "
            "give the folder of its run."
        )
    folder = RunFolder(options.run)
    words = find_words(folder, options.data)
    say("cross-validating the card ...")
    loaded = load(words, folder)
    experiment = find_experiment(loaded.table, loaded.options, model)
    table = experiment.table
    known = replace(model, positive=positive, frequencies=experiment.problem.frequencies)
    card = make_card(
        model,
        table.columns,
        table.y,
        positive=positive,
        weights=table.weights,
        prevalence=read_prevalence(options.prevalence, known),
    )
    scores = score_card(experiment, positive)
    page = make_card_page(card, scores, digest=opened.digest, about=opened.about)
    with write_atomically(output) as file:
        file.write(page.encode())
    return positive
