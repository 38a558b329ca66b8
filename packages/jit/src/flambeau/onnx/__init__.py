"""ONNX both ways: ``export`` writes programs for other runtimes, ``load`` reads models."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from flambeau import jit
from flambeau.jit.bridge import no_grad
from flambeau.onnx.errors import ExportError, ImportedError, OnnxError
from flambeau.onnx.program import ONNXProgram

__all__ = ["ExportError", "ImportedError", "ONNXProgram", "OnnxError", "export",
           "is_in_onnx_export", "load", "register_custom_op_symbolic",
           "unregister_custom_op_symbolic"]

#: Versions of ONNX's operators that are written.
OPSETS = range(18, 24)

_ACCEPTED = {"artifacts_dir", "autograd_inlining", "custom_opsets", "do_constant_folding",
             "dump_exported_program", "export_modules_as_functions", "fallback",
             "operator_export_type", "optimize", "profile", "report", "training", "verbose",
             "verify"}

_thread = threading.local()


def export(
    model: Any,
    args: Any = (),
    f: Any = None,
    *,
    kwargs: Mapping[str, Any] | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    opset_version: int | None = None,
    dynamic_axes: Any = None,
    dynamic_shapes: Any = None,
    export_params: bool = True,
    keep_initializers_as_inputs: bool = False,
    external_data: bool = False,
    dynamo: bool = False,
    custom_translation_table: Any = None,
    quantized: str = "integers",
    **accepted: Any,
) -> Any:
    """Write a module or a function as an ONNX model, whose operators ONNX's checker has seen.

    It is recorded by ``jit.trace``, so Python's control flow is followed once. Sizes of inputs
    vary as ``jit.trace`` lets them: those named here, or the first one where the function does the
    same for all. Where values decide sizes, as with masks, those of inputs do not vary.

    Args:
        model: A module, which is put in evaluation mode meanwhile; a function; a program of
            ``jit.trace`` or of ``flambeau.export``.
        args: A tensor, or a tuple of what ``model`` is called with; a dict at its end has keyword
            arguments.
        f: Where the model is written, a path or an open file; ``None`` only returns it.
        kwargs: Keyword arguments of the call.
        input_names: What inputs are called in the file, in order; as parameters are otherwise.
        output_names: The same for outputs.
        opset_version: The version of ONNX's operators, 18 to 23; 20 where nothing is said. Older
            ones are not written: 18 is, with a warning.
        dynamic_axes: Dimensions that vary, ``{input name: {dim: name}}`` or ``{input: [dim]}``; a
            name may be another one and a number, ``"past + 1"``.
        dynamic_shapes: The same by argument, in order or by the name of the parameter, nested as
            arguments are: ``{dim: name}``, ``{dim: Dim("name")}``, ``Dim.AUTO``, or a tuple.
        export_params: False writes weights as inputs without values.
        keep_initializers_as_inputs: Whether weights are inputs, too.
        external_data: Whether weights lie in a file beside ``f``; above 2 GB they do.
        dynamo: Whether an ``ONNXProgram`` is returned, which has ``save`` and can be called.
        custom_translation_table: Must be None; see ``register_custom_op_symbolic``.
        quantized: Products of ``nn.utils.quantize_dynamic``: ``"integers"`` gives the same bits
            by ``MatMulInteger``, ``"qdq"`` writes ``QuantizeLinear`` and ``DequantizeLinear``.
        accepted: What PyTorch's function takes besides and changes nothing here, such as
            ``do_constant_folding`` and ``verbose``.

    Returns:
        The ``onnx.ModelProto``, or an ``ONNXProgram``.

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
    if custom_translation_table:
        raise TypeError("onnx.export(): custom_translation_table has functions of onnxscript; "
                        "write them for onnx.register_custom_op_symbolic()")
    if quantized not in ("integers", "qdq"):
        raise ValueError(f"onnx.export(): quantized is {quantized!r}; it is 'integers' or 'qdq'")
    opset = _opset(opset_version)
    model_of, files, check = _writer()
    wanted = dynamic_axes, dynamic_shapes

    def made(how: str) -> tuple[Any, list[str], tuple[str, ...]]:
        program, names, order = _program(model, args, kwargs, tuple(input_names or ()), *wanted,
                                         how)
        written, limits = model_of(program.graph, opset, names, tuple(output_names or ()),
                                   quantized)
        return written, _limits(limits), order

    before, _thread.exporting = is_in_onnx_export(), True
    try:
        written, limits, order = made("sums")
        if limits and wanted == (None, None) and not _is_recorded(model):
            written, limits, order = made("fixed")      # nobody asked for sizes that vary
        elif limits and not _is_recorded(model):
            with suppress(jit.TraceError, ExportError):
                of_any = made("any")
                written, limits, order = (written, limits, order) if of_any[1] else of_any
    finally:
        _thread.exporting = before
    check(written)
    for limit in limits:
        warnings.warn(limit, stacklevel=2)
    written = files.ordered(written, order)
    written = files.with_inputs(written, export_params, keep_initializers_as_inputs)
    if f is not None:
        files.save(written, f, external_data)
    return ONNXProgram(written) if dynamo else written


def _limits(limits: Sequence[tuple[str, Any]]) -> list[str]:
    """What to say of sizes for which the function does other things: a model does not know them."""
    found = []
    for name, each in limits:
        last = f"to {each.last}" if each.is_found else "on"
        why = [each.below] * each.is_found_below + [each.above] * each.is_found
        if why:
            found.append(f"onnx.export(): the model is known to be right for {name} from "
                         f"{each.first} {last} alone, and will not refuse others: "
                         f"{'; '.join(why)}")
    return found


def is_in_onnx_export() -> bool:
    """Whether ``export`` records a module in this thread.

    Example:
        >>> from flambeau import onnx
        >>> onnx.is_in_onnx_export()
        False
    """
    return getattr(_thread, "exporting", False)


def register_custom_op_symbolic(symbolic_name: str, symbolic_fn: Callable[..., Any],
                                opset_version: int = 18) -> None:
    """Say how ``export`` writes an operator, instead of its own form.

    It is asked for operators of Flambeau's and of ``core.register_op``. What ``flambeau.library``
    made is written as what its function computes, so that a form for it is not asked.

    Args:
        symbolic_name: ``aten::name``.
        symbolic_fn: Called with a graph ``g`` and the operator's arguments, tensors as values;
            returns what ``g.op("Name", *values, attribute_f=1.0)`` gives, where ``Name`` may have a
            domain (``"com.microsoft::Gelu"``).
        opset_version: Has no effect: ``g.opset`` says which version is written.

    Raises:
        ValueError: The name has no namespace.

    Example:
        >>> from flambeau import onnx
        >>> onnx.register_custom_op_symbolic("aten::twice", lambda g, x: g.op("Add", x, x))
        >>> onnx.unregister_custom_op_symbolic("aten::twice")
    """
    from flambeau.onnx.exporting.symbolics import SYMBOLICS

    if "::" not in symbolic_name:
        raise ValueError(f"register_custom_op_symbolic(): {symbolic_name!r} has no namespace; "
                         "write 'namespace::name'")
    SYMBOLICS[symbolic_name] = symbolic_fn


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int = 18) -> None:
    """Forget what ``register_custom_op_symbolic`` was told.

    Args:
        symbolic_name: As there.
        opset_version: Has no effect.

    Example:
        >>> from flambeau import onnx
        >>> onnx.unregister_custom_op_symbolic("aten::twice")
    """
    from flambeau.onnx.exporting.symbolics import SYMBOLICS

    SYMBOLICS.pop(symbolic_name, None)


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


def _writer() -> tuple[Any, Any, Any]:
    try:
        import onnx  # noqa: F401
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("flambeau.onnx writes through the package onnx; install it with "
                                  "pip install 'flambeau-jit[onnx]'", name="onnx") from error
    from flambeau.onnx.exporting import files
    from flambeau.onnx.exporting.program import check, model_of

    return model_of, files, check


def _is_recorded(model: Any) -> bool:
    return isinstance(model, jit.Program) or (
        hasattr(model, "graph_signature") and hasattr(model, "_program"))


def _program(model: Any, args: Any, kwargs: Mapping[str, Any] | None, names: tuple[str, ...],
             axes: Any, shapes: Any, how: str) -> tuple[Any, tuple[str, ...], tuple[str, ...]]:
    """What was recorded, the names of its inputs, and these in the order of the call.

    Args:
        how: ``"sums"`` of sizes that vary, or others where there are; ``"any"`` sizes, or
            ``"fixed"`` ones.
    """
    from flambeau.onnx.exporting.calls import Call, plain_results, refuse_state

    if isinstance(model, jit.Program):
        return model, names, ()
    if _is_recorded(model):
        return model._program, (*names, *model._names[len(names):]), ()
    call = Call(model, args, kwargs, names)
    with plain_results(model) as (function, replaced):
        try:
            named = call.dynamic(axes, shapes)
            if how == "any":
                program = _with_value_sizes(function, call, named, True)
            elif _has_sums(named):
                program = _with_value_sizes(function, call, named)
            else:
                program = _recorded(function, call, False if how == "fixed" else named)
        except jit.TraceError as error:
            if how == "any" or _has_sums(named):
                raise
            program = _of_other_sizes(function, call, axes, shapes, error)
    refuse_state(program, replaced)
    return program, tuple(call.names[k] for k in call.traced), call.names


def _has_sums(named: Mapping[int, Mapping[int, str]] | None) -> bool:
    """Whether a size is another one and a number, as in ``"past + 1"``."""
    return any("+" in name for dims in (named or {}).values() for name in dims.values())


def _of_other_sizes(function: Any, call: Any, axes: Any, shapes: Any, why: jit.TraceError
                    ) -> jit.Program:
    """A program of sizes that are no sums of multiples, or that values decide."""
    wanted = call.dynamic(axes, shapes)
    shared = call.dynamic(axes, shapes, shared=True)
    if wanted != shared:
        try:
            return _recorded(function, call, shared)
        except jit.TraceError:
            pass
    try:
        return _with_value_sizes(function, call, wanted)
    except jit.TraceError as error:
        raise (why if wanted else error) from (error if wanted else why)


def _with_value_sizes(function: Any, call: Any, named: Any, is_alike: bool = False
                      ) -> jit.Program:
    """A program of any sizes that are named, whose results may have sizes that values decide.

    Args:
        is_alike: Whether one is refused that does something else for some of them.
    """
    from flambeau.jit.recording.value_traces import trace_with_value_sizes

    with no_grad():
        found = trace_with_value_sizes(function, call.args, call.kwargs, named)
    if is_alike and (found.sizes or found.fixed or found.elements):
        raise jit.TraceError(f"other sizes are other cases{found.sizes}")
    if found.elements:
        warnings.warn(f"onnx.export(): the model is not known to be right for all numbers of "
                      f"elements that its values may choose, and will not refuse others"
                      f"{found.elements}", stacklevel=5)
    if found.sizes:
        warnings.warn(f"onnx.export(): the model is not right for all sizes of its inputs, and "
                      f"will not refuse others{found.sizes}", stacklevel=5)
    if found.fixed:
        warnings.warn(f"onnx.export(): the model does not do the same for other sizes of these "
                      f"dimensions, which do not vary: {found.fixed}", stacklevel=5)
    return found.program


def _recorded(function: Any, call: Any, dynamic: Any) -> jit.Program:
    from flambeau.jit.recording.tracing import trace  # a program always, in PyTorch's programs

    options: dict[str, Any] = {"example_kwarg_inputs": call.kwargs}
    if dynamic is not None:
        options["dynamic"] = dynamic
    try:
        with no_grad():
            return trace(function, call.args, **options)
    except jit.TraceError:      # gradients may be part of what it computes
        return trace(function, call.args, **options)
