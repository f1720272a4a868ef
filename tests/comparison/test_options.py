"""Options are declared once: `compare`, the command and the checks agree with the declarations."""

import inspect
from dataclasses import MISSING, fields

import pytest

from tamis import compare
from tamis.cli.parser import make_parser
from tamis.comparison.methods.baselines import BASELINES
from tamis.comparison.methods.families import METHODS
from tamis.comparison.options import _BASELINE_NAMES, METHOD_NAMES, Number, Options
from tamis.tables import InputError

FIELDS = {one.name: one for one in fields(Options)}


@pytest.mark.parametrize("name", sorted(set(FIELDS) - {"assay_errors"}))
def test_compare_has_the_parameter_with_the_same_default(name):
    one = FIELDS[name]
    parameter = inspect.signature(compare).parameters[one.metadata["parameter"] or name]
    assert parameter.default == (None if one.default is MISSING else one.default or None) or (
        parameter.default == one.default
    )


def test_names_in_help_texts_are_those_of_the_methods():
    assert METHOD_NAMES.split(", ") == [method.name for method in METHODS]
    assert _BASELINE_NAMES.split(", ") == [method.name for method in BASELINES]


@pytest.mark.parametrize("name", sorted(n for n, one in FIELDS.items() if one.metadata["group"]))
def test_the_command_has_the_option_with_the_same_default(name):
    words = vars(make_parser().parse_args(["fit"]))
    default = FIELDS[name].default
    assert words[name] == (() if default is MISSING else default)


def test_options_of_the_command_are_those_of_a_run_read_from_json():
    words = vars(
        make_parser().parse_args(["fit", "--keep", "a,b", "--misclassification", "a:b=2"])
    )
    options = Options.from_words(words)
    assert (options.keep, options.misclassification) == (("a", "b"), {"a:b": 2.0})
    assert options == Options.from_words({**words, "keep": ["a", "b"], "ngrams": [1, 1]})
    assert Options.from_words({}) == Options()  # a run of an earlier version


@pytest.mark.parametrize(
    ("must", "inside", "outside", "told"),
    [
        (Number(2, is_whole=True), (2, 7), (1, 2.5, True, None, "2"), "an integer of at least 2"),
        (Number(0, open_low=True), (1e-9, 5), (0, float("inf"), float("nan")), "a number above 0"),
        (
            Number(0, 1, open_low=True),
            (0.5, 1),
            (0, 1.1),
            "a number above 0 and at most 1",
        ),
        (
            Number(0, 1, open_low=True, open_high=True),
            (0.5,),
            (0, 1),
            "a number between 0 and 1",
        ),
    ],
)
def test_numbers_keep_to_their_limits(must, inside, outside, told):
    assert all(map(must.holds, inside)) and not any(map(must.holds, outside))
    assert str(must) == told


def test_a_wrong_value_is_named_as_the_parameter():
    with pytest.raises(InputError, match="cv must be an integer of at least 2, got 1"):
        Options(folds=1)
    with pytest.raises(InputError, match="age: a measurement error is a proportion of the value"):
        Options(assay_errors={"age": 5})
