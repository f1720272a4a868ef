"""Every public name says which types it takes and gives."""

import ast
import inspect
import pkgutil
from importlib import import_module
from pathlib import Path

import pytest

import tamis


def plain_function(member):
    """The function behind a method, a property or a decorator; None for anything else."""
    if isinstance(member, (staticmethod, classmethod)):
        member = member.__func__
    member = getattr(member, "func", member)  # functools.cached_property
    member = getattr(member, "fget", member)  # property
    member = getattr(member, "fn", member)  # sklearn.utils.metaestimators.available_if
    member = getattr(member, "py_func", member)  # numba
    member = inspect.unwrap(member) if callable(member) else member
    return member if inspect.isfunction(member) else None


def lacking(function, *, is_method=False):
    """What has no annotation: names of parameters, and "return"."""
    parameters = list(inspect.signature(function).parameters.values())[is_method:]
    names = [p.name for p in parameters if p.annotation is p.empty]
    returns = function.__name__ == "__init__" or "return" in function.__annotations__
    return names + ["return"] * (not returns)


def methods_of(cls):
    """Public methods, properties and the constructor, as far as tamis defines them."""
    for owner in cls.__mro__:
        if not owner.__module__.startswith("tamis"):
            continue
        for name, member in vars(owner).items():
            function = plain_function(member)
            if function is None or not function.__module__.startswith("tamis"):
                continue
            if name == "__init__" or not name.startswith("_"):
                is_method = not isinstance(member, staticmethod)
                yield f"{owner.__module__}.{owner.__qualname__}.{name}", function, is_method


def public_functions():
    """Each public function and method of a public class, with its full name."""
    below = [m.name for m in pkgutil.iter_modules(tamis.__path__) if not m.name.startswith("_")]
    found = {}
    for module in [tamis, *(import_module(f"tamis.{name}") for name in below)]:
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isclass(value):
                for full_name, function, is_method in methods_of(value):
                    found[full_name] = function, is_method
            elif (function := plain_function(value)) is not None:
                found[f"{function.__module__}.{function.__qualname__}"] = function, False
    return found


def test_public_names_have_annotations():
    offenders = [
        f"{name}: {', '.join(missing)}"
        for name, (function, is_method) in public_functions().items()
        if (missing := lacking(function, is_method=is_method))
    ]
    assert not offenders, "without annotations:\n" + "\n".join(sorted(offenders))


def test_the_walk_sees_what_is_public():
    names = public_functions()
    for name in (
        "tamis.projections.l1.project_l1_ball",
        "tamis.centers.classifier.SparseCenterClassifier.__init__",
        "tamis.centers.classifier.SparseCenterClassifier.fit",
        "tamis.models.saving.load_model",
    ):
        assert name in names


def test_what_lacks_is_named():
    class Example:
        def __init__(self, a: int, b=1):
            pass

        @property
        def wide(self):
            return 1

        @staticmethod
        def half(x: float) -> float:
            return x / 2

    assert lacking(Example.__init__, is_method=True) == ["b"]
    assert lacking(plain_function(vars(Example)["wide"]), is_method=True) == ["return"]
    assert lacking(plain_function(vars(Example)["half"])) == []


LAZY = [
    "tamis",
    "tamis.centers",
    "tamis.comparison",
    "tamis.landmarks",
    "tamis.models",
    "tamis.tables",
]


@pytest.mark.parametrize("name", LAZY)
def test_type_checkers_see_names_that_are_loaded_on_first_use(name):
    module = import_module(name)
    (block,) = (
        statement
        for statement in ast.parse(Path(module.__file__).read_text()).body
        if isinstance(statement, ast.If) and ast.unparse(statement.test) == "TYPE_CHECKING"
    )
    seen = {alias.name: line.module for line in block.body for alias in line.names}
    assert set(seen) == set(module.__all__) - {"__version__"}
    for public, home in seen.items():
        assert getattr(module, public) is getattr(import_module(home), public)


def test_every_room_that_loads_on_first_use_is_tested():
    rooms = [m.name for m in pkgutil.walk_packages(tamis.__path__, "tamis.") if m.ispkg]
    lazy = [room for room in ["tamis", *rooms] if "__getattr__" in vars(import_module(room))]
    assert sorted(lazy) == LAZY


def test_type_checkers_are_told():
    assert (Path(tamis.__file__).parent / "py.typed").exists()


EXAMPLE = """
import numpy as np

from tamis import PanelClassifier, compare, load_model

X, y = np.zeros((40, 3)), np.arange(40) % 2
comparison = compare(X, y, methods=["centers"])
method: str = comparison.choice.method
score: float = comparison.honest_score.score
labels = comparison.model.predict(X).tolist()
model = load_model("run")
required: list[str] = model.required_
sets = model.predict_set(X, 0.9)
panel = load_model("panel.json", kind=PanelClassifier)
support: np.ndarray = panel.support_
"""


@pytest.mark.slow
def test_documented_examples_pass_a_type_checker(tmp_path, monkeypatch):
    api = pytest.importorskip("mypy.api")
    path = tmp_path / "example.py"
    path.write_text(EXAMPLE, encoding="utf-8")
    monkeypatch.setenv("MYPYPATH", str(Path(tamis.__file__).parents[1]))
    words = ["--config-file=", "--follow-imports=silent", "--no-error-summary"]
    out, err, code = api.run([*words, "--cache-dir", str(tmp_path / "cache"), str(path)])
    assert (out, err, code) == ("", "", 0)
