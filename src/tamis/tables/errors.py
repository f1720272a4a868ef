"""The error for bad input, and what its messages share."""

import re
import shlex
from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from errno import ENOMEM
from importlib import import_module
from typing import Any

# How libraries written in C and C++ say that an allocation failed.
_LACK = ("bad_alloc", "cannot allocate memory", "unable to allocate", "malloc of size")


# An option with the word after it; or a whole command.
_OPTION = re.compile(
    r"tamis [a-z]+(?: RUN)?(?: --[a-z]+(?:-[a-z]+)*(?: [^\s-][^\s;:)]*)?)+"
    r"|--(?P<list>text|categorical|include|drop|missing-values)[ =]"
    r"(?P<names>(?:'[^']*'|\"[^\"]*\"|[^\s;:()'\"])+)"
    r"|--(?P<option>[a-z]+(?:-[a-z]+)*)(?P<space> ?)(?P<word>[^\s.,;:()=]*)"
)
_FLAGS = ("force", "learning-curve", "readable", "transpose")
_SWITCHES = {"no-baselines": "baselines"}
# Words after an option that go on with the sentence.
_NO_VALUES = re.compile(
    "and|are|at|before|both|cannot|for|if|in|instead|is|must|names|needs?|of|or|raises|states|to"
    "|when|with"
)
_NAMES = {"id": "id_column"}


class InputError(ValueError):
    """Input that cannot be used; the message is one line.

    Parameters
    ----------
    message : object
        With options of the command, such as ``--max-size``; as a string, the error names the
        parameters of functions instead.

    Attributes
    ----------
    for_command : str
        The message as it was given.
    """

    def __init__(self, message: object):
        self.for_command = " ".join(str(message).split())
        super().__init__(in_python(self.for_command))


class Failure(RuntimeError):
    """A failure that the input did not cause; the message is one line."""


class NotEnoughMemory(Failure, MemoryError):
    """More memory was needed than the system gave; the file is not to blame."""


class NotReadable(InputError):
    """A model that cannot be explained, asked, turned into a card, or exported as a formula.

    In Python the message says how to get one that can; the command offers one by its name.
    """

    def __init__(self, message: object):
        super().__init__(message)
        advice = "Pick a model that can: comparison.pick(readable=True), or tamis pick --readable."
        self.args = (f"{self} {advice}",)


class EmptyTableError(InputError):
    """A table that has columns but no rows."""


def is_about_memory(error: BaseException) -> bool:
    """Whether an error, of whichever library, says that memory was lacking."""
    if isinstance(error, MemoryError):
        return True
    if isinstance(error, OSError) and error.errno == ENOMEM:
        return True
    return any(words in str(error).lower() for words in _LACK)


def load(module: str, what: str, extra: str = "tamis[cli]") -> Any:
    """Import what an extra installs; an error says `what` needs it, and how to install it."""
    name = module.partition(".")[0]
    try:
        return import_module(name) and import_module(module)
    except ImportError as error:
        raise InputError(f"{what} needs {name}: pip install '{extra}'") from error


def counted(number: int, word: str) -> str:
    """Write a number of things: 1 row, 1,000 rows."""
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"


def listed(names: Iterable[object], most: int = 5) -> str:
    """Join the first names, and say how many more there are."""
    words = [str(name) for name in names]
    shown = ", ".join(words[:most])
    return shown if len(words) <= most else f"{shown} and {len(words) - most:,} more"


def quoted(names: Iterable[object]) -> list[str]:
    """Names for a list of names: those with a comma get quotation marks."""
    return [f'"{name}"' if "," in str(name) else str(name) for name in names]


def as_option(names: Iterable[object]) -> str:
    r"""Column names as the value of an option, for a shell; a comma in a name becomes ``\,``.

    Examples
    --------
    >>> print(as_option(["age", "Patient ID"]))
    'age,Patient ID'
    >>> print(as_option(["TNF, soluble"]))
    'TNF\, soluble'
    """
    return shlex.quote(",".join(str(name).replace(",", "\\,") for name in names))


def nearest(
    name: object, names: Iterable[object], most: int = 3, cutoff: float = 0.4
) -> list[str]:
    """Find the names that look most like `name`, ignoring case; 1 is the cutoff of equal ones."""
    spelled: dict[str, str] = {}
    for known in names:
        spelled.setdefault(str(known).lower(), str(known))
    matches = get_close_matches(str(name).lower(), list(spelled), n=most, cutoff=cutoff)
    return [spelled[match] for match in matches]


def comma_advice(near: Iterable[str]) -> str:
    """How to write the names in a list of names, if one of them has a comma."""
    hint = r" (on the command line, write \, for a comma in a name)"
    return hint if any("," in name for name in near) else ""


def require_names(wanted: Iterable[object], names: Collection[str], role: str) -> None:
    """Raise an error about absent columns that suggests the nearest names."""
    known = set(names)
    absent = [name for name in wanted if name not in known]
    if not absent:
        return
    near = nearest(absent[0], names)
    advice = f"did you mean {', '.join(near)}?" if near else f"the columns are {listed(names)}"
    advice += comma_advice(near)
    raise InputError(f"{role}: no column {listed(map(repr, absent))}; {advice}")


def in_python(message: object, names: Mapping[str, str] = _NAMES) -> str:
    """Rewrite a message about an option of the command for a parameter of a function.

    Whole commands stay as they are.

    `names`: parameters that are called differently, by the name of the option.

    Examples
    --------
    >>> in_python("use its words with --text note; or --missing-values: NA is a word")
    "use its words with text=['note']; or missing_values: NA is a word"
    >>> in_python("--confidence is about --max-error; see tamis fit --help, or use --force.")
    'confidence is about max_error; see tamis fit --help, or use force=True.'
    """

    def rewrite(match):
        if match["list"] is not None:
            words = match["names"].rstrip(".,")
            name, end = match["list"].replace("-", "_"), match["names"][len(words) :]
            if _NO_VALUES.fullmatch(words):
                return f"{name} {words}{end}"
            (text,) = shlex.split(words) or [""]
            given = [word.replace(r"\,", ",") for word in re.split(r"(?<!\\),", text)]
            return f"{name}={given}{end}"
        if match["option"] is None:
            return match[0]
        if match["option"] == "to":
            return f"export_{match['word']}"
        name = names.get(match["option"], match["option"].replace("-", "_"))
        if match["option"] in _FLAGS:
            name += "=True"
        elif match["option"] in _SWITCHES:
            name = f"{_SWITCHES[match['option']]}=False"
        elif match["space"] and match["word"] and not _NO_VALUES.fullmatch(match["word"]):
            return f"{name}={match['word']}"
        return f"{name}{match['space']}{match['word']}"

    return _OPTION.sub(rewrite, str(message))
