"""The reference lists what exists: one section per public package, made from its `__all__`."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from pathlib import Path

import tamis

# Packages in the order in which readers need them; others follow, by name.
_FIRST = ["comparison", "panel", "centers", "primal_dual", "landmarks", "datumwise"]
_FIRST += ["guarantees", "inspection", "selectors", "projections", "stability", "metrics"]
# The command has its own page.
_LEFT_OUT = {"cli"}


def public_names() -> dict[str, list[str]]:
    """Public names of each public package; a name that `tamis` has is listed only there."""
    rooms = [m.name for m in pkgutil.iter_modules(tamis.__path__) if not m.name.startswith("_")]
    rooms = [room for room in [*_FIRST, *sorted(set(rooms) - set(_FIRST))] if room in rooms]
    names = {"tamis": [name for name in tamis.__all__ if not name.startswith("_")]}
    for room in rooms:
        if room in _LEFT_OUT:
            continue
        listed = getattr(import_module(f"tamis.{room}"), "__all__", [])
        new = [name for name in listed if name not in names["tamis"]]
        if new:
            names[f"tamis.{room}"] = new
    return names


def make_reference() -> str:
    """The page, as reStructuredText for autosummary."""
    lines = ["API reference", "=============", ""]
    lines += ["Every public name of the package. `tamis.NAME` is loaded on first use.", ""]
    for module, names in public_names().items():
        summary = (import_module(module).__doc__ or "").strip().split("\n\n")[0]
        summary = summary.removeprefix("tamis: ").replace("\n", " ")
        lines += [module, "-" * len(module), "", summary[:1].upper() + summary[1:], ""]
        lines += [f".. currentmodule:: {module}", ""]
        lines += [".. autosummary::", "   :toctree: api", "   :nosignatures:", ""]
        lines += [f"   {name}" for name in names] + [""]
    return "\n".join(lines)


def _write(app, config):
    path = Path(app.srcdir, "docs", "reference.rst")
    page = make_reference()
    if not path.exists() or path.read_text(encoding="utf-8") != page:
        path.write_text(page, encoding="utf-8")


def setup(app):
    """Write the page before sphinx looks for its sources."""
    app.connect("config-inited", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
