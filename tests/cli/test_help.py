"""Help texts: every command, argument and option has one, in words that the docs use."""

import argparse
import re

import pytest

from tamis.cli.parser import make_parser


def commands():
    """Every command's parser, by name."""
    parser = make_parser()
    (subparsers,) = (a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    return subparsers.choices


def arguments():
    """Every argument of every command, with a readable name for the test."""
    for name, command in commands().items():
        for action in command._actions:
            yield pytest.param(
                action, id=f"{name} {'/'.join(action.option_strings) or action.dest}"
            )


@pytest.mark.parametrize("action", arguments())
def test_every_argument_has_a_help_text(action):
    assert action.help and len(action.help) > 5


@pytest.mark.parametrize("command", commands().values(), ids=commands())
def test_descriptions_are_sentences(command):
    assert command.description[0].isupper()
    assert command.description.endswith(".")


# Words that docs/vocabulary.md lists as not used, and turns of phrase that readers stumble over.
_AVOIDED = (
    r"\b(prices?|references?|blocks?|gaps?|found out|left out of|for free|told|copies|promises?|"
    r"screening|levels?)\b"
)


@pytest.mark.parametrize("command", commands().values(), ids=commands())
def test_help_keeps_to_the_vocabulary(command):
    text = " ".join(command.format_help().split()).replace("left out of training", "")
    assert re.findall(_AVOIDED, text) == []
