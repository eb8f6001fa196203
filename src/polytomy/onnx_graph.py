"""Building ONNX graphs from formulas.

Formulas are written with `Value` as with NumPy arrays, and each operation adds a node. They use
operators of ONNX's default domain, and all arithmetic is in double precision. Models from elsewhere
can be embedded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from polytomy.errors import ArgumentError

# Versions of the operators and of the file format, supported since onnx 1.12.
OPSET_VERSION, _IR_VERSION = 17, 8
# The domain of trees, and its version: thresholds in double precision.
TREES, _TREES_VERSION = "ai.onnx.ml", 3
# Protocol buffers are limited to 2 GiB. All but the constants take far less than the difference.
_MOST_BYTES = 2**31 - 2**26

Operand: TypeAlias = "Value | NDArray[Any] | float"


def import_onnx() -> ModuleType:
    """Return the package onnx; ArgumentError if it is not installed."""
    try:
        import onnx
    except ImportError as error:
        raise ArgumentError(
            'ONNX export needs onnx, which is not installed: pip install "polytomy[onnx]"'
        ) from error
    return onnx


class Value:
    """A tensor that the graph will compute; arithmetic with it adds nodes to the graph."""

    __slots__ = ("_graph", "name")
    # Otherwise an array on the left would combine each of its elements with the value.
    __array_ufunc__ = None

    def __init__(self, graph: Graph, name: str) -> None:
        self._graph = graph
        self.name = name

    def __add__(self, other: Operand) -> Value:
        return self._graph.add("Add", self, other)

    def __sub__(self, other: Operand) -> Value:
        return self._graph.add("Sub", self, other)

    def __rsub__(self, other: Operand) -> Value:
        return self._graph.add("Sub", other, self)

    def __mul__(self, other: Operand) -> Value:
        return self._graph.add("Mul", self, other)

    def __truediv__(self, other: Operand) -> Value:
        return self._graph.add("Div", self, other)

    def __matmul__(self, other: Operand) -> Value:
        return self._graph.add("MatMul", self, other)

    def take(self, indices: Operand, axis: int) -> Value:
        """Return the parts at these indices; a scalar index removes the axis."""
        return self._graph.add("Gather", self, indices, axis=axis)

    def with_axis(self, axis: int) -> Value:
        """Return the same values with an additional axis of length one."""
        return self._graph.add("Unsqueeze", self, np.array([axis]))

    def sum(self, axis: int) -> Value:
        """Return sums along an axis, which keeps length one."""
        return self._graph.add("ReduceSum", self, np.array([axis]), keepdims=1)

    def max(self, axis: int, *, keeps_axis: bool = True) -> Value:
        """Return maxima along an axis, which keeps length one or is removed."""
        return self._graph.add("ReduceMax", self, axes=[axis], keepdims=int(keeps_axis))


class Graph:
    """The nodes and constants of a graph under construction.

    Examples
    --------
    >>> graph = Graph()
    >>> X = graph.input("X", np.float64, ["n", 2])
    >>> graph.output("Y", graph.add("Exp", X * 2.0), np.float64, ["n", 2])
    >>> [node.op_type for node in graph.to_model("example", {}).graph.node]
    ['Mul', 'Exp', 'Identity']
    """

    def __init__(self, parent: Graph | None = None) -> None:
        # Nodes of our own are tuples, those of embedded models are protocol buffers.
        self._nodes: list[Any] = []
        self._inputs: list[tuple[str, Any, list[Any] | None]] = []
        self._outputs: list[tuple[str, Any, list[Any] | None]] = []
        # The body of a loop shares the constants and the names of the graph around it.
        self._root: Graph = self if parent is None else parent._root
        self._constants: dict[str, NDArray[Any]] = {}
        self._scalars: dict[tuple[str, bytes], str] = {}
        self._n_bytes = 0
        self._n_names = 0

    def input(self, name: str, dtype: Any, shape: list[Any] | None) -> Value:
        """Add an input and return it; names in the shape stand for any length."""
        self._inputs.append((name, dtype, shape))
        return Value(self, name)

    def output(self, name: str, value: Value, dtype: Any, shape: list[Any] | None) -> None:
        """Make a value an output of the graph."""
        self._nodes.append(("Identity", [value.name], [name], {}))
        self._outputs.append((name, dtype, shape))

    def add(
        self, operator: str, *operands: Operand, n_outputs: int = 1, **attributes: Any
    ) -> Value:
        """Add a node and return its first output."""
        inputs = [self.constant(each).name for each in operands]
        outputs = [self._new_name(operator) for _ in range(n_outputs)]
        self._nodes.append((operator, inputs, outputs, attributes))
        return Value(self, outputs[0])

    def cast(self, value: Value, dtype: Any) -> Value:
        """Return a value as another type."""
        kind = import_onnx().helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self.add("Cast", value, to=kind)

    def embed(self, model: Any, X: Value, number: int) -> Value:
        """Add the nodes of another model and return one of its outputs.

        Parameters
        ----------
        model : onnx.ModelProto with one input
        X : its input
        number : which of its outputs; a list of dicts is returned as the array that it is made of
        """
        from onnx import compose, numpy_helper

        graph = compose.add_prefix(model, self._new_name("model") + "_").graph
        self._nodes.append(("Identity", [X.name], [graph.input[0].name], {}))
        output = graph.output[number].name
        for node in graph.node:
            if node.op_type == "ZipMap":
                output = node.input[0] if node.output[0] == output else output
            else:
                self._nodes.append(node)
        for tensor in graph.initializer:
            self._store(tensor.name, numpy_helper.to_array(tensor))
        return Value(self, output)

    def constant(self, operand: Operand) -> Value:
        """Return an operand as a value; numbers and arrays become constants of the graph."""
        if isinstance(operand, Value):
            return operand
        array = np.asarray(operand)
        if array.dtype.kind in "iu":
            array = array.astype(np.int64)
        if array.ndim:
            return self._stored(array)
        key = array.dtype.str, array.tobytes()
        known = self._root._scalars
        if key not in known:
            known[key] = self._stored(array).name
        return Value(self, known[key])

    def repeat(self, array: NDArray[Any], like: Value) -> Value:
        """Return an array repeated for each row of a value: one more axis, in front."""
        n_rows = self.add("Shape", like, start=0, end=1)
        shape = self.add("Concat", n_rows, np.ones(array.ndim, dtype=np.int64), axis=0)
        return self.add("Expand", array[np.newaxis], shape)

    def join(self, values: list[Value]) -> Value:
        """Return values concatenated along the second axis."""
        return values[0] if len(values) == 1 else self.add("Concat", *values, axis=1)

    def pick(self, value: Value, columns: NDArray[np.intp], n_columns: int) -> Value:
        """Return some columns of a value; no node is added if these are all columns in order."""
        if np.array_equal(columns, np.arange(n_columns)):
            return value
        return value.take(columns, axis=1)

    def loop(
        self, n_times: int, start: Value, step: Callable[[Graph, Value, Value], Value]
    ) -> Value:
        """Return a value after a number of steps.

        Parameters
        ----------
        n_times : number of steps
        start : initial value, in double precision
        step : function of the graph of the loop's body, the number of the step and the value that
            returns the next value
        """
        body = Graph(self)
        number = body.input(self._new_name("step"), np.int64, [])
        continues = body.input(self._new_name("continues"), np.bool_, [])
        value = body.input(self._new_name("value"), np.float64, None)
        after = step(body, number, value)
        body.output(self._new_name("continues"), continues, np.bool_, [])
        body.output(self._new_name("value"), after, np.float64, None)
        result = self._new_name("Loop")
        inputs = [self.constant(n_times).name, "", start.name]
        self._nodes.append(("Loop", inputs, [result], {"body": body}))
        return Value(self, result)

    def to_model(self, name: str, metadata: Mapping[str, str]) -> Any:
        """Return the graph as a model that onnx has checked.

        Parameters
        ----------
        name : name of the graph
        metadata : texts to store in the model
        """
        from importlib.metadata import version

        onnx = import_onnx()
        graph = self._to_proto(onnx, name)
        versions = {"": OPSET_VERSION}
        if any(node.domain == TREES for node in graph.node):
            versions[TREES] = _TREES_VERSION
        model = onnx.helper.make_model(
            graph,
            opset_imports=[onnx.helper.make_opsetid(*each) for each in versions.items()],
            ir_version=_IR_VERSION,
            producer_name="polytomy",
            producer_version=version("polytomy"),
        )
        onnx.helper.set_model_props(model, dict(metadata))
        onnx.checker.check_model(model, full_check=True)
        return model

    def _to_proto(self, onnx: Any, name: str) -> Any:
        helper = onnx.helper

        def described(each: tuple[str, Any, list[Any] | None]) -> Any:
            label, dtype, shape = each
            kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
            return helper.make_tensor_value_info(label, kind, shape)

        nodes = []
        for each in self._nodes:
            if not isinstance(each, tuple):
                nodes.append(each)
                continue
            operator, inputs, outputs, attributes = each
            settings = {
                key: value._to_proto(onnx, "body") if isinstance(value, Graph) else value
                for key, value in attributes.items()
            }
            nodes.append(helper.make_node(operator, inputs, outputs, name=outputs[0], **settings))
        return helper.make_graph(
            nodes,
            name,
            list(map(described, self._inputs)),
            list(map(described, self._outputs)),
            [
                onnx.numpy_helper.from_array(array, label)
                for label, array in self._constants.items()
            ],
        )

    def _stored(self, array: NDArray[Any]) -> Value:
        name = self._new_name("constant")
        self._store(name, array)
        return Value(self, name)

    def _store(self, name: str, array: NDArray[Any]) -> None:
        root = self._root
        root._n_bytes += array.nbytes
        if root._n_bytes > _MOST_BYTES:
            raise ArgumentError(
                "the model would be larger than 2 GiB, the limit of the ONNX format. Fit a scheme "
                "with fewer binaries, or save the classifier with polytomy.save."
            )
        root._constants[name] = np.asarray(array, order="C")

    def _new_name(self, what: str) -> str:
        self._root._n_names += 1
        return f"{what.lower()}_{self._root._n_names}"
