"""Public names that are loaded on first use; imports nothing large itself."""

from importlib import import_module

__all__ = ["load_lazily"]


def load_lazily(package, module_of_name, public):
    """The `__getattr__` and `__dir__` of a package whose names are in other modules."""

    def load(name):
        if name not in module_of_name:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(module_of_name[name]), name)

    return load, lambda: public
