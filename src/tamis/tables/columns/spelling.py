"""Words that may be different spellings of the same."""

import re
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

# A word this much rarer than one it resembles may be a misspelling of it.
_RARER = 0.2
# Not between digits, where they make another number: 1.5, 1-2.
_PUNCTUATION = re.compile(r"(?<!\d)[\s_.,;:'\"`/\\()\[\]]+|[\s_.,;:'\"`/\\()\[\]]+(?!\d)")
# A hyphen inside a word; one at its end may be a minus, as in "HER2-".
_HYPHEN = re.compile(r"(?<=[^\W\d_])-(?=\w)|(?<=\w)-(?=[^\W\d_])")


def folded(word: str) -> str:
    """A word without case, spaces and punctuation; + and - at its ends are kept.

    Examples
    --------
    >>> [folded(w) for w in ("Non smoker", "non-smoker", "N.A.", "HER2-", "HER2+", "1-2", "1.5")]
    ['nonsmoker', 'nonsmoker', 'na', 'her2-', 'her2+', '1-2', '1.5']
    """
    plain = _HYPHEN.sub("", word.casefold())
    return _PUNCTUATION.sub("", plain) or word


def equal_pairs(rows: Mapping[str, int]) -> list[str]:
    """Words that are equal without case, spaces and punctuation: the rarer with the most frequent.

    `rows`: rows of each word.

    Examples
    --------
    >>> equal_pairs({"male": 50, "Male": 1, "female": 48, "M": 1})
    ["'Male' and 'male'"]
    """
    most: dict[str, str] = {}
    ordered = sorted(rows, key=lambda word: (-rows[word], word))
    pairs = []
    for word in ordered:
        usual = most.setdefault(folded(word), word)
        if usual != word:
            pairs.append(f"{word!r} and {usual!r}")
    return pairs


def hint_alike(word: str, rows: Mapping[str, int]) -> str:
    """Name the more frequent word that a rare one may be a misspelling of; empty if there is none.

    `rows`: rows of all words.

    Examples
    --------
    >>> hint_alike("Wel", {"Wel": 1, "well": 29, "ill": 30})
    " ('Wel' may be a misspelling of 'well', which has 29 rows)"
    """
    more = [other for other in rows if rows[other] > rows[word]]
    near = [o for o in more if _look_alike(word, o, (rows[word], rows[o]))]
    if not near:
        return ""
    best = max(near, key=lambda other: rows[other])
    return f" ({word!r} may be a misspelling of {best!r}, which has {rows[best]:,} rows)"


def alike_pairs(words: Sequence[str], rows: NDArray[np.integer]) -> list[str]:
    """Words that are equal as in `equal_pairs`, or that differ by a letter and one is rare."""
    pairs = []
    for a in range(len(words)):
        for b in range(len(words)):
            # The rarer word is named first; of equally frequent ones, the later.
            if (rows[a], -a) < (rows[b], -b) and _look_alike(words[a], words[b], rows[[a, b]]):
                pairs.append(f"{words[a]!r} and {words[b]!r}")
    return pairs


def _look_alike(one, other, rows):
    if folded(one) == folded(other):
        return True
    is_rare = rows[0] <= _RARER * rows[1]
    return is_rare and _is_misspelt(folded(one), folded(other))


def _is_misspelt(one, other):
    """Whether two words differ by one letter: changed, added, omitted or swapped with the next.

    Digits do not count as misspelt: grade1 and grade2 are different labels.
    """
    if min(len(one), len(other)) < 3 or abs(len(one) - len(other)) > 1:
        return False
    start = 0
    while start < min(len(one), len(other)) and one[start] == other[start]:
        start += 1
    end = 0
    while end < min(len(one), len(other)) - start and one[-1 - end] == other[-1 - end]:
        end += 1
    a, b = one[start : len(one) - end], other[start : len(other) - end]
    if not all(letter.isalpha() for letter in a + b):
        return False
    return max(len(a), len(b)) <= 1 or (len(a) == len(b) == 2 and a == b[::-1])
