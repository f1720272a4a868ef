"""InputError: what a user gave cannot be used, and one line says why."""

__all__ = ["InputError"]


class InputError(ValueError):
    """What came, what was expected and what to do, in one line."""
