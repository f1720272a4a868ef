"""Models as ONNX graphs, for other languages and runtimes."""

import json
import os
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

import tamis
from tamis.models._onnx_graph import OPSET, Graph
from tamis.models._onnx_models import add_classifier, columns_of
from tamis.models._registry import as_model
from tamis.models.files import write_atomically
from tamis.models.linear_form import inputs_of
from tamis.tables.classifying.table_model import TableModel
from tamis.tables.errors import InputError, load

_IR_VERSION = 9
_OUTPUTS = ("label", "probabilities")
_REGISTERED = (
    "LandmarkClassifier",
    "LandmarkSearchCV",
    "PanelClassifier",
    "PanelClassifierCV",
    "PrimalDualClassifier",
    "PrimalDualClassifierCV",
    "SparseCenterClassifier",
    "SparseCenterClassifierCV",
)


def export_onnx(model: TableModel | BaseEstimator, path: str | os.PathLike[str]) -> None:
    """Write a fitted classifier as an ONNX graph whose inputs are its selected features only.

    The graph has one input of shape (n, 1) for each feature that the model uses, by name (x0, x1,
    ... if features have no names): doubles, or strings for categorical columns of a table, ""
    where missing. Its outputs are "label", int64 or string, and "probabilities", doubles of shape
    (n, n_classes). It computes in double precision; equal decisions go to the first class.

    Parameters
    ----------
    model : classifier or TableModel
        SparseCenterClassifier(CV), PrimalDualClassifier(CV), PanelClassifier(CV), or
        LandmarkClassifier or LandmarkSearchCV; a classifier of tables with one of these and
        without free text.
    path : str or path-like
        File to write.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import onnxruntime
    >>> from sklearn.datasets import load_iris
    >>> from tamis import SparseCenterClassifier
    >>> from tamis.models import export_onnx
    >>> data = load_iris(as_frame=True)
    >>> model = SparseCenterClassifier(2).fit(data.data, data.target)
    >>> path = Path(tempfile.mkdtemp()) / "model.onnx"
    >>> export_onnx(model, path)
    >>> session = onnxruntime.InferenceSession(path)
    >>> columns = {item.name: data.data[[item.name]].to_numpy() for item in session.get_inputs()}
    >>> sorted(columns)
    ['petal length (cm)', 'petal width (cm)']
    >>> label, probabilities = session.run(None, columns)
    >>> bool((label == model.predict(data.data)).all())
    True
    """
    onnx = _require("onnx", "export_onnx")
    path = os.fspath(path)
    model = as_model(model, "exported to ONNX")
    estimator: Any = model.estimator if isinstance(model, TableModel) else model
    columns = columns_of(estimator)
    if not columns.size:
        raise InputError("the model uses no feature, and an ONNX graph needs at least one input.")
    if model is estimator:
        sources = _Sources(estimator._feature_names()[columns].tolist())
        graph = Graph(sources.taken)
        x = sources.join(graph, [(name, "number", None, None, None) for name in sources.given])
        decisions, probabilities = add_classifier(graph, estimator, x)
    else:
        parts = _table_parts(model, columns)
        sources = _Sources([name for name, *_ in parts])
        graph = Graph(sources.taken)
        x = sources.join(graph, parts)
        decisions, probabilities = add_classifier(graph, estimator, x)
        if model.temperature != 1.0:
            logs = graph("Div", graph("Log", probabilities), np.float64(model.temperature))
            probabilities = decisions = graph("Softmax", logs, axis=1)
        if model.threshold is not None:
            decisions = _with_threshold(graph, probabilities, model)
        if model.recalibration is not None:
            site = model.recalibration
            logs = graph("Div", graph("Log", probabilities), np.float64(site.temperature))
            probabilities = graph("Softmax", graph("Add", logs, site.intercept), axis=1)
            decisions = probabilities if model.threshold is None else decisions
        if model.decision_costs is not None:
            decisions = graph("MatMul", probabilities, -model.decision_costs)
    labels, label_type = _label_values(estimator.classes_)
    best = graph("ArgMax", decisions, axis=1, keepdims=0)
    graph("Gather", labels, best, output=_OUTPUTS[0], axis=0)
    graph("Identity", probabilities, output=_OUTPUTS[1])
    helper, kinds = onnx.helper, onnx.TensorProto
    outputs = [
        helper.make_tensor_value_info(_OUTPUTS[0], getattr(kinds, label_type), ["n"]),
        helper.make_tensor_value_info(_OUTPUTS[1], kinds.DOUBLE, ["n", len(labels)]),
    ]
    document = helper.make_model(
        helper.make_graph(
            graph.nodes, "tamis", sources.value_infos(onnx), outputs, graph.constants
        ),
        opset_imports=[helper.make_opsetid("", OPSET)],
        producer_name="tamis",
        producer_version=tamis.__version__,
        ir_version=_IR_VERSION,
    )
    helper.set_model_props(
        document,
        {
            "model": type(estimator).__name__,
            "classes": json.dumps(estimator.classes_.tolist()),
            "inputs": json.dumps(dict(zip(sources.names, sources.given, strict=True))),
        },
    )
    try:
        onnx.checker.check_model(document, full_check=True)
        raw = document.SerializeToString()
    except ValueError as error:
        raise InputError(f"{path} would be too large for an ONNX file (2 GiB).") from error
    with write_atomically(path) as file:
        file.write(raw)


class _Sources:
    """The inputs of a graph: one per name, whatever characters it contains."""

    def __init__(self, names):
        self.given, self.names = names, []
        self.taken = set(_OUTPUTS)
        for name in names:
            unique = str(name)
            while unique == "" or unique in self.taken:
                unique += "_input"
            self.taken.add(unique)
            self.names.append(unique)
        self.kinds = ["number"] * len(names)

    def join(self, graph, parts):
        """One matrix of all inputs; see `_table_parts`."""
        columns = []
        self.kinds = [kind for _, kind, *_ in parts]
        for name, (_, kind, fill, known, words) in zip(self.names, parts, strict=True):
            values = name
            if kind == "category":
                missing = graph("Equal", name, np.array([""]))
                if words is not None:
                    one_of = graph("Equal", name, np.array(words, dtype=object)[None])
                    n_equal = graph.sum(graph.double(one_of), 1, keepdims=1)
                    missing = graph("Equal", n_equal, np.float64(0.0))
                same = graph("Equal", name, np.array(known, dtype=object)[None])
                values = graph.double(same)
                values = graph("Where", missing, fill[None], values)
            elif fill is not None:
                values = graph("Where", graph("IsNaN", name), np.float64(fill), name)
            columns.append(values)
        return graph("Concat", *columns, axis=1)

    def value_infos(self, onnx):
        types = {"number": onnx.TensorProto.DOUBLE, "category": onnx.TensorProto.STRING}
        return [
            onnx.helper.make_tensor_value_info(name, types[kind], ["n", 1])
            for name, kind in zip(self.names, self.kinds, strict=True)
        ]


def _table_parts(model, columns):
    """(name, kind, fill, categories, all words) of the raw columns behind some of the matrix."""
    if model.preparation.texts:
        name = next(iter(model.preparation.texts))
        raise InputError(
            f"{name!r} is free text, which cannot be the input of an ONNX graph. Use --to python."
        )
    parts = []
    for one in inputs_of(model, columns):
        fill = np.array(one.fill)
        if one.categories is None:
            parts.append((one.name, "number", fill[0], None, None))
        else:
            parts.append((one.name, "category", fill, one.categories, one.words))
    return parts


def _with_threshold(graph, probabilities, model):
    """Make the positive class the largest decision where its probability reaches a threshold."""
    place = np.arange(len(model.classes_))[None] == model.positive_index
    probability = graph.sum(graph("Mul", probabilities, place.astype(np.float64)), 1, keepdims=1)
    reached = graph("GreaterOrEqual", probability, np.float64(model.threshold))
    named = graph("Where", reached, np.float64(2.0), np.float64(-1.0))
    return graph("Where", place, named, probabilities)


def _label_values(classes):
    """The labels as a constant, and their type in a graph."""
    values = classes.tolist()
    if isinstance(values[0], str):
        return np.array(values, dtype=object), "STRING"
    if isinstance(values[0], float) and not all(value.is_integer() for value in values):
        return np.array(values), "DOUBLE"
    return np.array(values).astype(np.int64), "INT64"


def _require(name, what):
    module = load(name, what, "tamis[onnx]" if name == "onnx" else name)
    if name == "onnx":
        load("onnx.checker", what), load("onnx.helper", what)
    return module


def register_skl2onnx() -> None:
    """Register the classifiers with `skl2onnx`, so that it can convert pipelines with them.

    After this call ``skl2onnx.to_onnx(pipeline, X)`` works for pipelines that end with a
    SparseCenterClassifier(CV), PrimalDualClassifier(CV), PanelClassifier(CV), LandmarkClassifier
    or LandmarkSearchCV. The classifier computes
    in double precision; its probabilities have the type of its input.
    """
    _require("onnx", "register_skl2onnx")
    skl2onnx = _require("skl2onnx", "register_skl2onnx")
    for name in _REGISTERED:
        skl2onnx.update_registered_converter(
            getattr(tamis, name),
            f"Tamis{name}",
            _set_shapes,
            _convert,
            options={
                "zipmap": [True, False, "columns"],
                "nocl": [True, False],
                "output_class_labels": [False, True],
            },
        )


def _set_shapes(operator):
    from skl2onnx.common.data_types import (
        DoubleTensorType,
        FloatTensorType,
        Int64TensorType,
        StringTensorType,
    )

    model = operator.raw_operator
    n_rows = operator.inputs[0].get_first_dimension()
    is_text = isinstance(model.classes_.tolist()[0], str)
    label = StringTensorType if is_text else Int64TensorType
    is_double = isinstance(operator.inputs[0].type, DoubleTensorType)
    shares = DoubleTensorType if is_double else FloatTensorType
    operator.outputs[0].type = label([n_rows])
    operator.outputs[1].type = shares([n_rows, len(model.classes_)])


def _convert(scope, operator, container):
    from onnx import TensorProto, helper, numpy_helper
    from skl2onnx.common.data_types import DoubleTensorType

    model = operator.raw_operator
    source = operator.inputs[0]
    opset = min(OPSET, container.target_opset)
    ends = {output.full_name for output in operator.outputs}
    graph = Graph({source.full_name, *ends}, opset=opset)
    columns = columns_of(model)
    x = graph("Cast", source.full_name, to=TensorProto.DOUBLE)
    if columns.size < model.n_features_in_:
        x = graph("Gather", x, columns.astype(np.int64), axis=1)
    decisions, probabilities = add_classifier(graph, model, x)
    labels, _ = _label_values(model.classes_)
    best = graph("ArgMax", decisions, axis=1, keepdims=0)
    graph("Gather", labels, best, output=operator.outputs[0].full_name, axis=0)
    is_double = isinstance(source.type, DoubleTensorType)
    to = TensorProto.DOUBLE if is_double else TensorProto.FLOAT
    graph("Cast", probabilities, output=operator.outputs[1].full_name, to=to)
    # Names that are unique in the pipeline.
    fresh = {}
    for tensor in graph.constants:
        fresh[tensor.name] = scope.get_unique_variable_name(tensor.name)
        if tensor.data_type == TensorProto.STRING:
            content = list(tensor.string_data)
        else:
            content = numpy_helper.to_array(tensor).ravel().tolist()
        container.add_initializer(fresh[tensor.name], tensor.data_type, list(tensor.dims), content)
    for node in graph.nodes:
        for output in node.output:
            if output not in ends:
                fresh[output] = scope.get_unique_variable_name(output)
        attributes = {item.name: helper.get_attribute_value(item) for item in node.attribute}
        container.add_node(
            node.op_type,
            [fresh.get(name, name) for name in node.input],
            [fresh.get(output, output) for output in node.output],
            op_version=opset,
            name=scope.get_unique_operator_name(node.op_type),
            **attributes,
        )
