"""A model's parts through the package onnx: attributes, tensors, types."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

import flambeau as fl
from flambeau.onnx.errors import ImportedError
from flambeau.onnx.importing.table import CONTRIBUTED
from flambeau.onnx.importing.values import Host

#: ONNX's numbers of element types.
DTYPES = {
    1: fl.float32, 2: fl.uint8, 3: fl.int8, 4: fl.uint16, 5: fl.int16, 6: fl.int32, 7: fl.int64,
    9: fl.bool, 10: fl.float16, 11: fl.float64, 12: fl.uint32, 13: fl.uint64, 14: fl.complex64,
    15: fl.complex128, 16: fl.bfloat16, 17: fl.float8_e4m3fn, 18: fl.float8_e4m3fnuz,
    19: fl.float8_e5m2, 20: fl.float8_e5m2fnuz, 24: fl.float8_e8m0fnu}
#: Those of 4 and 2 bits, which lie one to a byte here: container, least and greatest.
NARROW = {21: (fl.uint8, 0, 15), 22: (fl.int8, -8, 7), 25: (fl.uint8, 0, 3), 26: (fl.int8, -2, 1)}
#: Constants of integers that Python knows have so many elements at most.
MOST_KNOWN = 64

#: dtypes of the package ml_dtypes, by name: what they are viewed as, and what they are here.
_VIEWED = {
    "bfloat16": (np.uint16, fl.bfloat16), "float8_e4m3fn": (np.uint8, fl.float8_e4m3fn),
    "float8_e4m3fnuz": (np.uint8, fl.float8_e4m3fnuz), "float8_e5m2": (np.uint8, fl.float8_e5m2),
    "float8_e5m2fnuz": (np.uint8, fl.float8_e5m2fnuz),
    "float8_e8m0fnu": (np.uint8, fl.float8_e8m0fnu)}
_CONTAINED = {"int4": np.int8, "int2": np.int8, "uint4": np.uint8, "uint2": np.uint8}


def dtype_of(number: int) -> fl.dtype:
    """The dtype of an ONNX number.

    Raises:
        ImportedError: there is no such dtype here.
    """
    if number in NARROW:
        return NARROW[number][0]
    if number not in DTYPES:
        from onnx import TensorProto

        try:
            name = TensorProto.DataType.Name(number)
        except ValueError:
            name = str(number)
        raise ImportedError(f"onnx.load(): there are no tensors of {name} here")
    return DTYPES[number]


def number_of(dtype: fl.dtype) -> int:
    """ONNX's number of a dtype."""
    return next(number for number, each in DTYPES.items() if each == dtype)


def tensor_of(array: Any) -> fl.Tensor:
    """A NumPy array, of ml_dtypes' dtypes too, as a tensor that shares nothing with it."""
    name = array.dtype.name
    if name in _VIEWED:
        bits, dtype = _VIEWED[name]
        return fl.from_numpy(np.ascontiguousarray(array).view(bits).reshape(array.shape)
                             .copy()).view(dtype)
    if name in _CONTAINED:
        return fl.from_numpy(array.astype(_CONTAINED[name]))
    if array.dtype.kind in "OUS":
        raise ImportedError("onnx.load(): there are no tensors of strings here")
    if array.dtype.kind not in "biufc":
        raise ImportedError(f"onnx.load(): there are no tensors of {name} here")
    return fl.from_numpy(np.array(array, order="C"))


def constant(proto: Any, folder: str) -> fl.Tensor | Host:
    """A tensor of the file; small ones of integers are known to Python."""
    from onnx import numpy_helper

    dtype_of(proto.data_type)
    try:
        array = numpy_helper.to_array(proto, folder)
    except (ValueError, TypeError, OSError) as error:
        raise ImportedError(f"onnx.load(): the tensor {proto.name or 'of a constant'} cannot be "
                            f"read: {error}") from error
    made = tensor_of(array)
    known = array.dtype.kind in "iu" and array.ndim <= 1 and array.size <= MOST_KNOWN
    return Host(array, made.dtype, made) if known else made


def read_model(source: Any) -> tuple[Any, str]:
    """The checked ``ModelProto`` of a path, bytes, file or model, and the folder of its data.

    Raises:
        ImportedError: it is not an ONNX model, or a damaged one.
        ModuleNotFoundError: the package onnx is not installed.
    """
    try:
        from google.protobuf.message import DecodeError

        import onnx
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("flambeau.onnx reads through the package onnx; install it with "
                                  "pip install 'flambeau-jit[onnx]'", name="onnx") from error
    folder = ""
    try:
        if isinstance(source, onnx.ModelProto):
            model = source
        elif isinstance(source, bytes | bytearray | memoryview):
            model = onnx.load_model_from_string(bytes(source))
        elif hasattr(source, "read"):
            model = onnx.load_model_from_string(source.read())
        else:
            folder = os.path.dirname(os.path.abspath(os.fspath(source)))
            model = onnx.load(os.fspath(source))
        _check(model)
    except (DecodeError, onnx.checker.ValidationError, ValueError, TypeError) as error:
        raise ImportedError(f"onnx.load(): this is no valid ONNX model: {error}") from error
    return model, folder


def _check(model: Any) -> None:
    """Let ONNX check the graph; a shape that an input or output does not have is none."""
    from onnx import checker

    if model.graph.sparse_initializer:
        raise ValueError("sparse tensors are not read")
    bare = skeleton(model)
    names = {each.name for each in bare.graph.input}
    held = {each.name for each in model.graph.initializer} - names
    bare.graph.input.extend(each for each in bare.graph.value_info if each.name in held)
    for each in (*bare.graph.input, *bare.graph.output):
        if each.type.HasField("tensor_type"):
            each.type.tensor_type.shape.SetInParent()
    checker.check_model(bare)


def skeleton(model: Any) -> Any:
    """A model without its tensors, whose types it says."""
    from onnx import ModelProto, helper

    bare = ModelProto(ir_version=model.ir_version)
    bare.opset_import.extend(model.opset_import)
    bare.functions.extend(model.functions)
    graph = model.graph
    bare.graph.name = graph.name
    bare.graph.node.extend(graph.node)
    _name_domains(bare)
    bare.graph.input.extend(graph.input)
    bare.graph.output.extend(graph.output)
    held = {each.name for each in graph.initializer}
    bare.graph.value_info.extend(each for each in graph.value_info if each.name not in held)
    bare.graph.value_info.extend(
        helper.make_tensor_value_info(each.name, each.data_type, each.dims)
        for each in graph.initializer)
    return bare


def _name_domains(model: Any) -> None:
    """Say the domain of operators that onnxruntime's optimizers write as if they were ONNX's."""
    from flambeau.onnx.importing.operators import OPERATORS
    from onnx import defs

    version = next((each.version for each in model.opset_import if each.domain in ("", "ai.onnx")),
                   0)
    for node in model.graph.node:
        if node.domain or f"{CONTRIBUTED}:{node.op_type}" not in OPERATORS:
            continue
        try:
            defs.get_schema(node.op_type, version, "")
        except defs.SchemaError:
            node.domain = CONTRIBUTED
    domains = {each.domain for each in model.opset_import}
    if CONTRIBUTED not in domains and any(n.domain == CONTRIBUTED for n in model.graph.node):
        model.opset_import.add(domain=CONTRIBUTED, version=1)
