"""An ONNX graph while it is made: names, nodes, constants, and sizes that vary."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from flambeau.jit.dims import Dim, Size, factors
from flambeau.jit.ir import Limits, Value
from flambeau.onnx.errors import ExportError
from onnx import TensorProto, helper, numpy_helper

#: Names of dtypes here -> the numbers that ONNX gives them.
DTYPES = {
    "float32": TensorProto.FLOAT, "float64": TensorProto.DOUBLE, "float16": TensorProto.FLOAT16,
    "bfloat16": TensorProto.BFLOAT16, "int8": TensorProto.INT8, "int16": TensorProto.INT16,
    "int32": TensorProto.INT32, "int64": TensorProto.INT64, "uint8": TensorProto.UINT8,
    "uint16": TensorProto.UINT16, "uint32": TensorProto.UINT32, "uint64": TensorProto.UINT64,
    "bool": TensorProto.BOOL,
}

#: A name in the ONNX graph.
Name = str


class Builder:
    """Nodes in order, and the name of each value.

    Args:
        opset: The version of ONNX's operators.
        quantized: The form of products of int8.
    """

    def __init__(self, opset: int, quantized: str = "integers") -> None:
        self.opset = opset
        self.quantized = quantized
        self.nodes: list[Any] = []
        self.domains: set[str] = set()              # of operators that are not ONNX's
        self.initializers: list[Any] = []
        self.names: dict[Value, Name] = {}
        self.tensors: dict[Value, Any] = {}         # what the file holds
        self.used: set[Value] = set()               # what nodes and outputs read
        self.symbols: dict[str, tuple[Name, int]] = {}
        self.sizes: dict[str, Name] = {}            # what symbols stand for, where it was read
        self.examples: dict[str, int] = {}          # sizes that symbols stood for at once
        self.ranges: dict[str, range] = {}          # sizes that symbols may stand for
        self.limits: list[tuple[str, Limits]] = []  # of sizes in operators written by others
        self._constants: dict[tuple[Any, ...], Name] = {}
        self._taken: set[str] = set()

    def fresh(self, hint: str) -> Name:
        """A name that nothing has yet."""
        name, n = hint, 1
        while name in self._taken:
            name, n = f"{hint}_{n}", n + 1
        self._taken.add(name)
        return name

    def add(self, op_type: str, *inputs: Name, **attributes: Any) -> Name:
        """A node with one output, whose name it returns; an empty name leaves an input out."""
        return self.add_several(1, op_type, *inputs, **attributes)[0]

    def add_several(self, count: int, op_type: str, *inputs: Name,
                    **attributes: Any) -> list[Name]:
        """A node with several outputs."""
        outputs = [self.fresh(op_type.lower()) for _ in range(count)]
        given = {key: value for key, value in attributes.items() if value is not None}
        self.nodes.append(helper.make_node(op_type, list(inputs), outputs,
                                           name=self.fresh(f"{op_type}_node"), **given))
        return outputs

    def tensor(self, name: Name, array: np.ndarray[Any, Any]) -> Name:
        """A tensor that the file holds."""
        self.initializers.append(numpy_helper.from_array(np.asarray(array, order="C"), name))
        return name

    def constant(self, value: Any, dtype: str) -> Name:
        """A number or a list of numbers."""
        kind = helper.tensor_dtype_to_np_dtype(DTYPES[dtype])
        array = np.asarray(value).astype(kind)
        key = (dtype, array.shape, array.tobytes())
        if key not in self._constants:
            self._constants[key] = self.tensor(self.fresh("constant"), array)
        return self._constants[key]

    def whole(self, *numbers: int) -> Name:
        """A vector of int64, as ONNX takes axes and the like."""
        return self.constant(list(numbers), "int64")

    def of(self, value: Value) -> Name:
        """The name of a value."""
        return self.names[value]

    def cast(self, name: Name, dtype: str, to: str) -> Name:
        """The same numbers in another dtype."""
        return name if dtype == to else self.add("Cast", name, to=DTYPES[to])

    def operand(self, value: Any, dtype: str) -> Name:
        """A tensor or a number, in a dtype."""
        if isinstance(value, Value):
            return self.cast(self.of(value), value.dtype, dtype)
        if isinstance(value, Dim):
            return self._number_of(value, dtype)
        return self.constant(value, dtype)

    def size(self, size: Size) -> Name:
        """A size, as a vector of one int64."""
        if not isinstance(size, Dim):
            return self.whole(int(size))
        total = self.whole(size.offset) if size.offset else ""
        for symbol, factor in size.terms:
            part, *others = map(self._symbol, factors(symbol))
            for other in others:
                part = self.add("Mul", part, other)
            if factor != 1:
                part = self.add("Mul", part, self.whole(factor))
            total = self.add("Add", total, part) if total else part
        return total

    def shape(self, sizes: tuple[Size, ...]) -> Name:
        """Sizes, as a vector of int64."""
        if not any(isinstance(size, Dim) for size in sizes):
            return self.whole(*(int(size) for size in sizes if not isinstance(size, Dim)))
        return self.add("Concat", *map(self.size, sizes), axis=0)

    def knows(self, size: Size) -> bool:
        """Whether a size can be computed from what was written."""
        return not isinstance(size, Dim) or all(
            name in self.symbols or name in self.sizes for name in size.names)

    def find_sizes(self, values: Iterable[Value]) -> None:
        """Note where sizes can be read that the values of these results decide."""
        for value in values:
            for axis, size in enumerate(value.shape):
                if isinstance(size, Dim) and str(size) in self.ranges and value in self.names:
                    self.symbols.setdefault(str(size), (self.names[value], axis))

    def read_symbols(self) -> None:
        """Have all sizes read here, so that what is written into graphs inside may use them."""
        for symbol in self.symbols:
            self._symbol(symbol)

    def enter(self) -> list[Any]:
        """Begin the nodes of a graph inside; gives those of the one around it."""
        around, self.nodes = self.nodes, []
        return around

    def leave(self, around: list[Any]) -> list[Any]:
        """Go on with the nodes of the graph around; gives those inside."""
        inside, self.nodes = self.nodes, around
        return inside

    def _symbol(self, symbol: str) -> Name:
        """What a symbol stands for: read once, from the input where it appears alone."""
        if symbol not in self.sizes:
            if symbol not in self.symbols:
                raise ExportError(f"onnx.export(): the size {symbol} of a result is needed to "
                                  "compute this result, and is no sum or product of others")
            name, axis = self.symbols[symbol]
            self.sizes[symbol] = self.add("Shape", name, start=axis, end=axis + 1)
        return self.sizes[symbol]

    def _number_of(self, size: Dim, dtype: str) -> Name:
        whole = self.add("Squeeze", self.size(Dim(size.terms, size.offset)), self.whole(0))
        number = self.cast(whole, "int64", dtype)
        return self.add("Reciprocal", number) if size.form == "reciprocal" else number


def info(name: Name, value: Value) -> Any:
    """A name with a value's dtype and sizes, as inputs and outputs of graphs have them."""
    if value.dtype not in DTYPES:
        raise ExportError(f"onnx.export(): ONNX has no dtype {value.dtype}, which {name} has")
    sizes = [str(size) if isinstance(size, Dim) else int(size) for size in value.shape]
    return helper.make_tensor_value_info(name, DTYPES[value.dtype], sizes)
