"""Sums, probabilities, and arrays that a record holds as bytes."""

import base64
import math
import struct

__all__ = ["dot", "softmax", "square", "unpack"]


def dot(a, b):
    """Inner product."""
    return sum(x * y for x, y in zip(a, b, strict=True))


def square(a, b):
    """Squared distance."""
    return sum((x - y) * (x - y) for x, y in zip(a, b, strict=True))


def softmax(decisions):
    """Probabilities proportional to the exponentials of decisions."""
    top = max(decisions)
    shares = [math.exp(d - top) for d in decisions]
    total = sum(shares)
    return [share / total for share in shares]


def unpack(value):
    """Nested lists in place of arrays that are bytes."""
    if isinstance(value, list):
        return (
            value if not value or isinstance(value[0], int | float) else list(map(unpack, value))
        )
    if not isinstance(value, dict):
        return value
    if "$array" in value and "of" in value:
        rows = unpack(value["of"])
        return [rows[at] for at in unpack(value["at"])]
    if "base64" not in value:
        return {key: unpack(item) for key, item in value.items()}
    letters = {"float64": "d", "float32": "f", "int64": "q", "int32": "i", "int16": "h"}
    letter = (letters | {"int8": "b", "bool": "?"})[value["$array"]]
    flat = [one for (one,) in struct.iter_unpack(f"<{letter}", base64.b64decode(value["base64"]))]
    for size in reversed(value["shape"][1:]):
        flat = [flat[at : at + size] for at in range(0, len(flat), size)]
    return flat
