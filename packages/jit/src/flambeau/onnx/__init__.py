"""ONNX both ways: ``export`` writes programs for other runtimes, ``load`` reads models."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from flambeau import jit
from flambeau.onnx.errors import ExportError, ImportedError, OnnxError

__all__ = ["ExportError", "ImportedError", "OnnxError", "export", "load"]

#: Versions of ONNX's operators that are written.
OPSETS = range(18, 24)

_ACCEPTED = {"do_constant_folding", "dynamo", "export_modules_as_functions", "export_params",
             "external_data", "fallback", "keep_initializers_as_inputs", "operator_export_type",
             "optimize", "report", "training", "verbose", "verify"}


def export(
    model: Any,
    args: Any = (),
    f: str | os.PathLike[str] | None = None,
    *,
    kwargs: Mapping[str, Any] | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    opset_version: int | None = None,
    dynamic_axes: Any = None,
    dynamic_shapes: Any = None,
    **accepted: Any,
) -> Any:
    """Write a module or a function as an ONNX model, whose operators ONNX's checker has seen.

    It is recorded by ``jit.trace``, so Python's control flow is followed once. Sizes of inputs
    vary as ``jit.trace`` lets them: named here, or all that nothing in the program decides on.

    Args:
        model: A module in evaluation mode, a function, or a program of ``jit.trace``.
        args: A tensor, or a tuple of what ``model`` is called with.
        f: Where the model is written; ``None`` only returns it.
        kwargs: Keyword arguments of the call.
        input_names: What inputs are called in the file, in order.
        output_names: The same for outputs.
        opset_version: The version of ONNX's operators, 18 to 23; 20 where nothing is said. Older
            ones are not written: 18 is, with a warning.
        dynamic_axes: Dimensions that vary, ``{input name: {dim: name}}``.
        dynamic_shapes: The same by argument, as ``jit.trace`` takes ``dynamic=``.
        accepted: What PyTorch's function takes besides and changes nothing here, such as
            ``do_constant_folding``, ``export_params`` and ``dynamo``.

    Returns:
        The ``onnx.ModelProto``.

    Raises:
        ModuleNotFoundError: The package onnx is not installed.
        ExportError: The program has something that ONNX has no form for; the message names the
            operator and the line.
        ValueError: ``opset_version`` is above those written.
        TypeError: An argument that PyTorch's function does not take either.

    Example:
        >>> import flambeau
        >>> from flambeau import nn, onnx
        >>> model = nn.Sequential(nn.Linear(3, 4), nn.ReLU()).eval()
        >>> written = onnx.export(model, flambeau.ones(2, 3), input_names=["x"])
        >>> [node.op_type for node in written.graph.node]
        ['Gemm', 'Relu', 'Identity']
    """
    if unknown := accepted.keys() - _ACCEPTED:
        raise TypeError(f"onnx.export() got unexpected arguments: {', '.join(sorted(unknown))}")
    opset = _opset(opset_version)
    checker, model_of = _writer()
    names = tuple(input_names or ())
    graph = _program(model, args, kwargs, _dynamic(names, dynamic_axes, dynamic_shapes)).graph
    written = model_of(graph, opset, names, tuple(output_names or ()))
    checker.check_model(written, full_check=True)
    if f is not None:
        _save(written, os.fspath(f))
    return written


def load(f: Any) -> Any:
    """Read an ONNX model as a module.

    Its tensors of floating numbers are parameters, called as in the file, so it can be fine-tuned;
    ``jit.trace`` makes a program of it. Operators are computed as ONNX defines them for the
    model's version; those that ONNX itself defines by others, and the model's own functions, by
    these. Strings, sparse tensors and ONNX's training operators are not read.

    Args:
        f: A path, a binary file, the bytes of a model, or an ``onnx.ModelProto``. Only a path's
            model may have data in further files, in its own folder.

    Returns:
        An ``nn.Module``: called with the inputs in order, by name, or as one mapping, it returns
        the output or the tuple of them. ``input_names`` and ``output_names`` say which.

    Raises:
        ModuleNotFoundError: The package onnx or flambeau-nn is not installed.
        ImportedError: The file is damaged, or has something that cannot be computed here; the
            message names the operator and the node.

    Example:
        >>> import flambeau
        >>> from flambeau import nn, onnx
        >>> model = nn.Sequential(nn.Linear(3, 4), nn.ReLU()).eval()
        >>> x = flambeau.ones(2, 3)
        >>> read = onnx.load(onnx.export(model, x, input_names=["x"]))
        >>> read.input_names
        ('x',)
        >>> bool((read(x) == model(x)).all())
        True
    """
    from flambeau.onnx.importing.reading import read_model

    model, folder = read_model(f)
    from flambeau.onnx.importing.module import OnnxModule
    from flambeau.onnx.importing.plan import UNFIT

    try:
        return OnnxModule(model, folder).eval()
    except (*UNFIT, RecursionError) as error:
        raise ImportedError(f"onnx.load(): this is no valid ONNX model: {type(error).__name__}: "
                            f"{error}") from error


def _opset(version: int | None) -> int:
    if version is None:
        return 20
    if version >= OPSETS.stop:
        raise ValueError(f"onnx.export(): opset_version is {version}; {OPSETS.start} to "
                         f"{OPSETS.stop - 1} are written")
    if version < OPSETS.start:
        warnings.warn(f"onnx.export(): opset_version {version} is not written; the model has "
                      f"{OPSETS.start}", stacklevel=3)
    return max(version, OPSETS.start)


def _writer() -> tuple[Any, Any]:
    try:
        from onnx import checker
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("flambeau.onnx writes through the package onnx; install it with "
                                  "pip install 'flambeau-jit[onnx]'", name="onnx") from error
    from flambeau.onnx.exporting.program import model_of

    return checker, model_of


def _program(model: Any, args: Any, kwargs: Mapping[str, Any] | None, dynamic: Any) -> Any:
    if isinstance(model, jit.Program):
        return model
    given = args if isinstance(args, tuple) else (args,)
    if kwargs:
        raise ExportError("onnx.export(): give keyword arguments as positional ones, or export a "
                          "function that passes them on")
    options = {} if dynamic is None else {"dynamic": dynamic}
    return jit.trace(model, given if len(given) > 1 else given[0], **options)


def _dynamic(names: Sequence[str], axes: Any, shapes: Any) -> Any:
    if axes is None:
        return shapes
    found = {}
    for name, dims in axes.items():
        if name in names:
            named = dims if isinstance(dims, Mapping) else {d: f"{name}_{d}" for d in dims}
            found[list(names).index(name)] = dict(named)
    return found


def _save(model: Any, path: str) -> None:
    import onnx

    big = model.ByteSize() >= 2**31
    onnx.save(model, path, save_as_external_data=big)
