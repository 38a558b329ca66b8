"""Names that change nothing here, one row each: modules, a page and tests are made of them.

A row says how the name is called, what it gives, what it does here and since which version. Most
ask for what is the case anyway and are accepted silently. Where PyTorch would do something else,
``asks`` tells such a call, and it warns once per process and says what to write instead.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

Arguments = dict[str, Any]


@dataclass(frozen=True)
class Row:
    """One name: a variable of a module, or a function with a signature."""

    name: str
    signature: str      # "(tensor: object) -> bool", or ": bool" of a variable
    result: Any         # a value, or a function of the module's variables and the arguments
    here: str           # what it does here
    asks: Callable[[Any], bool] | None = None   # whether arguments, or a value, ask for more
    apply: Callable[[Any], None] | None = None  # what assigning to a variable does beside
    instead: str = ""   # what to write then
    example: str = ""   # a call; one that warns where there is such a call
    since: str = "0.1"

    @property
    def is_variable(self) -> bool:
        """Whether programs assign to the name."""
        return self.signature.startswith(":")

    @property
    def is_public(self) -> bool:
        """Whether programs may use the name; others hold what functions were told."""
        return not self.name.startswith("_")


@dataclass(frozen=True)
class Home:
    """A module below ``flambeau``, and its rows."""

    name: str
    doc: str
    rows: tuple[Row, ...]


def _row(text: str, result: Any, here: str, **more: Any) -> Row:
    """A row from ``"name(arguments) -> type"`` or ``"name: type"``."""
    cut = min(i for i in (text.find("("), text.find(":")) if i > 0)
    return Row(text[:cut], text[cut:], result, here, **more)


def _says(variable: str) -> Callable[[Arguments, Arguments], Any]:
    return lambda state, given: state[variable]


def _keeps(variable: str, fits: Callable[[Any], bool], wanted: str,
           error: type[Exception] = RuntimeError) -> Callable[[Arguments, Arguments], None]:
    """Remember the argument for the function that asks for it."""
    def keep(state: Arguments, given: Arguments) -> None:
        (name, value), = given.items()
        if not fits(value):
            raise error(f"{name} must be {wanted}, got {value!r}")
        state[variable] = value
    return keep


def _unchanged(name: str) -> Callable[[Arguments, Arguments], Any]:
    """The marked function or property itself; without one, a decorator that gives it."""
    def give(state: Arguments, given: Arguments) -> Any:
        marked = given[name]
        return marked if callable(marked) or isinstance(marked, property) else lambda found: found
    return give


def _block(prefix: str = "", instead: str = "") -> Callable[[Arguments, Arguments], Any]:
    """Variables that have other values in a ``with`` block, by the names of the arguments."""
    from contextlib import contextmanager

    @contextmanager
    def block(state: Arguments, given: Arguments) -> Any:
        before = dict(state)
        state.update({instead + name.removeprefix(prefix): value for name, value in given.items()})
        try:
            yield
        finally:
            state.update(before)
    return block


def _silence(state: Arguments, given: Arguments) -> Any:
    from contextlib import nullcontext

    return nullcontext()


def _capability(state: Arguments, given: Arguments) -> str:
    from flambeau.core import isa_level

    return {"v4": "AVX512", "v3": "AVX2"}.get(isa_level(), "DEFAULT")


def _allow_winograd(allow: Any) -> None:
    from flambeau.core import _core

    if not isinstance(allow, bool):
        raise TypeError("flambeau.backends.cpu.allow_winograd is True or False, got "
                        f"{type(allow).__name__}")
    _core._allow_winograd(allow)


def _cuda_is_built(state: Arguments, given: Arguments) -> bool:
    from flambeau import rooms

    return rooms.installed("cuda")


def _known_engine(name: Any) -> None:
    if name not in (*_ENGINES, "none"):
        raise RuntimeError(f"flambeau.backends.quantized.engine must be one of "
                           f"{', '.join(_ENGINES)} and none, got {name!r}")


def _absent(library: str, *rows: Row) -> tuple[Row, ...]:
    return (_row("is_available() -> bool", False, f"False: {library} is not used"), *rows)


def _attention(kernel: str) -> tuple[Row, ...]:
    here = "remembered; attention has one kernel, with the same results as all of PyTorch's"
    return (_row(f"{kernel}_sdp_enabled() -> bool", _says(f"_{kernel}"), "what was set"),
            _row(f"enable_{kernel}_sdp(enabled: bool) -> None",
                 _keeps(f"_{kernel}", lambda value: True, ""), here,
                 example=f"enable_{kernel}_sdp(False)"),
            Row(f"_{kernel}", ": bool", True, here))


_SPOKEN = "nothing is logged"
_PROFILE = "use flambeau.profiler.profile to see which operators run"
_NOT_USED = "remembered; the library is not used, and results are those of its exact kernels"
_PRECISIONS = ("highest", "high", "medium")
_ENGINES = ("qnnpack", "onednn", "x86", "fbgemm")
_STRATEGIES = ("file_system", "file_descriptor")

HOMES = (
    Home("backends.cpu", "The processor.", (
        _row("get_cpu_capability() -> str", _capability,
             'the instructions that kernels use: "AVX512", "AVX2" or "DEFAULT"'),
        _row("allow_winograd: bool", True,
             "has an effect: False has all convolutions computed by sums of products, also those "
             "that Winograd's transforms make faster", apply=_allow_winograd))),
    Home("backends.cuda", "CUDA's libraries, of which results do not depend.", (
        _row("is_built() -> bool", _cuda_is_built, "whether flambeau-cuda-backend is installed"),
        _row("matmul: Any", SimpleNamespace(allow_tf32=False, fp32_precision="ieee",
                                            allow_fp16_accumulation=False,
                                            allow_fp16_reduced_precision_reduction=False,
                                            allow_bf16_reduced_precision_reduction=False),
             "remembered; products are computed in the precision of their dtype"),
        *_attention("flash"), *_attention("mem_efficient"), *_attention("math"),
        *_attention("cudnn"),
        _row("sdp_kernel(enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient:"
             " bool = True, enable_cudnn: bool = True) -> AbstractContextManager[None]",
             _block("enable_", "_"), "remembered for a block; attention has one kernel"),
        _row("preferred_linalg_library(backend: str | None = None) -> str", "default",
             '"default": there is one library'))),
    Home("backends.cudnn", "cuDNN, which is not used.", _absent(
        "cuDNN",
        _row("is_acceptable(tensor: object) -> bool", False, "False: cuDNN is not used",
             example="is_acceptable(None)"),
        _row("version() -> None", None, "None: cuDNN is not used"),
        _row("enabled: bool", False, _NOT_USED), _row("benchmark: bool", False, _NOT_USED),
        _row("benchmark_limit: int", 10, _NOT_USED),
        _row("deterministic: bool", True, "remembered; operators give the same bits in any case"),
        _row("allow_tf32: bool", False, _NOT_USED),
        _row("flags(enabled: bool = False, benchmark: bool = False, benchmark_limit: int = 10, "
             "deterministic: bool = False, allow_tf32: bool = True) -> "
             "AbstractContextManager[None]", _block(), "sets the variables for a block"),
    )),
    Home("backends.mha", "Attention's layers in inference.", (
        _row("get_fastpath_enabled() -> bool", _says("_fastpath"), "what was set: True at first"),
        _row("set_fastpath_enabled(value: bool) -> None",
             _keeps("_fastpath", lambda value: isinstance(value, bool), "True or False"),
             "remembered; layers compute the same in one way",
             example="set_fastpath_enabled(False)"),
        Row("_fastpath", ": bool", True, "what was set"))),
    Home("backends.mkl", "MKL, which is not used.", _absent(
        "MKL", _row("verbose(enable: int) -> AbstractContextManager[None]", _silence, _SPOKEN,
                    asks=lambda given: bool(given["enable"]), instead=_PROFILE,
                    example="verbose(1)"))),
    Home("backends.mkldnn", "oneDNN, which is not used.", _absent(
        "oneDNN", _row("enabled: bool", False, _NOT_USED),
        _row("verbose(level: int) -> AbstractContextManager[None]", _silence, _SPOKEN,
             asks=lambda given: bool(given["level"]), instead=_PROFILE, example="verbose(1)"))),
    Home("backends.mps", "GPUs of Apple, for which there is no backend.", (
        _row("is_available() -> bool", False, "False: there is no backend for them"),
        _row("is_built() -> bool", False, "False: there is no backend for them"))),
    Home("backends.openmp", "OpenMP, which is not used.", _absent("OpenMP")),
    Home("backends.nnpack", "NNPACK, which is not used.", _absent(
        "NNPACK", _row("enabled: bool", False, _NOT_USED),
        _row("flags(enabled: bool = False) -> AbstractContextManager[None]", _block(),
             "sets the variable for a block"))),
    Home("backends.xnnpack", "XNNPACK, which is not used.", (
        _row("enabled: bool", False, _NOT_USED),)),
    Home("backends.opt_einsum", "The order of products in ``einsum``, which the core chooses.", (
        _row("is_available() -> bool", True, "True: einsum always chooses an order"),
        _row("get_opt_einsum() -> None", None, "None: the package of this name is not used"),
        _row("enabled: bool", True, "remembered; einsum always chooses an order",
             asks=lambda value: not value, example="enabled = False",
             instead="write products of two operands each to fix their order"),
        _row("strategy: str | None", "auto", "remembered; the order with the fewest products"))),
    Home("backends.quantized", "What computes layers of integers.", (
        _row("engine: str", "x86", "remembered; how layers are quantized is what their qconfig "
             "says, see ao.quantization.get_default_qconfig", apply=_known_engine),
        _row("supported_engines: list[str]", list(_ENGINES), "engines that can be named"))),
    Home("core.compat.no_effect", "Functions of ``flambeau`` itself.", (
        _row("set_float32_matmul_precision(precision: str) -> None",
             _keeps("_precision", lambda value: value in _PRECISIONS, f"one of {_PRECISIONS}"),
             "remembered; products of float32 are computed in float32, which every setting allows",
             example='set_float32_matmul_precision("high")'),
        _row("get_float32_matmul_precision() -> str", _says("_precision"),
             'what was set: "highest" at first'),
        Row("_precision", ": str", "highest", "what was set"),
        _row("set_num_interop_threads(count: int) -> None",
             _keeps("_interop", lambda value: isinstance(value, int) and value > 0,
                    "expected a positive int"),
             "remembered; operators of a thread run one after the other, each with all cores",
             example="set_num_interop_threads(2)"),
        _row("get_num_interop_threads() -> int", _says("_interop"), "what was set: 1 at first"),
        Row("_interop", ": int", 1, "what was set"),
        _row("set_flush_denormal(mode: bool) -> bool", lambda state, given: not given["mode"],
             "denormal numbers stay exact; the result says whether that was asked",
             asks=lambda given: bool(given["mode"]), example="set_flush_denormal(True)",
             instead="x.masked_fill(x.abs() < flambeau.finfo(x.dtype).tiny, 0) rounds those of "
                     "a tensor"))),
    Home("cpu", "The CPU as a device like others.", (
        _row("is_available() -> bool", True, "True"),
        _row("is_initialized() -> bool", True, "True"),
        _row("device_count() -> int", 1, "1"), _row("current_device() -> str", "cpu", '"cpu"'),
        _row("set_device(device: Any) -> None", None, "nothing: there is one CPU",
             example='set_device("cpu")'),
        _row("synchronize(device: Any = None) -> None", None,
             "nothing: operators are done when they return"))),
    Home("cuda", "Questions about GPUs where flambeau-cuda-backend is not installed.", (
        _row("is_available() -> bool", False, "False"),
        _row("is_initialized() -> bool", False, "False"),
        *(_row(f"{name}(*arguments: Any) -> int", 0, "0") for name in (
            "device_count", "memory_allocated", "max_memory_allocated", "memory_reserved",
            "max_memory_reserved")),
        *(_row(f"{name}(*arguments: Any) -> None", None, "nothing: there is no GPU")
          for name in ("manual_seed", "manual_seed_all", "empty_cache")))),
    Home("multiprocessing", "How tensors are sent to other processes.", (
        _row("get_all_sharing_strategies() -> set[str]",
             lambda state, given: set(_STRATEGIES), "the names that can be set"),
        _row("get_sharing_strategy() -> str", _says("_strategy"), "what was set"),
        Row("_strategy", ": str", "file_system", "what was set"),
        _row("set_sharing_strategy(new_strategy: str) -> None",
             _keeps("_strategy", lambda value: value in _STRATEGIES, f"one of {_STRATEGIES}",
                    ValueError),
             "nothing: shared memory is sent as an open file, and other tensors as bytes",
             example='set_sharing_strategy("file_system")'))),
    Home("compiler", "What programs say to PyTorch's compiler.", (
        _row("allow_in_graph(fn: Any) -> Any", _unchanged("fn"),
             "the function as it is: each call runs its Python in any case",
             example="allow_in_graph(print)"),
        _row("disallow_in_graph(fn: Any) -> Any", _unchanged("fn"),
             "the function as it is: no graph is made", example="disallow_in_graph(print)"),
        _row("assume_constant_result(fn: Any) -> Any", _unchanged("fn"),
             "the function as it is: it is called each time",
             example="assume_constant_result(print)"),
        _row("nested_compile_region(fn: Any = None, **options: Any) -> Any", _unchanged("fn"),
             "the function as it is: equal loops share their code in any case"),
        _row("substitute_in_graph(original_fn: Any, *, can_constant_fold_through: bool = False, "
             "skip_signature_check: bool = False) -> Any",
             lambda state, given: lambda traceable: traceable,
             "a decorator that gives the function as it is: the original is called",
             example="substitute_in_graph(print)"),
        _row("cudagraph_mark_step_begin() -> None", None, "nothing: results keep their memory"),
        _row("is_exporting() -> bool", False, "False: nothing is exported by calling it"),
        _row("save_cache_artifacts() -> None", None,
             "None: code is kept in the directory FLAMBEAU_CACHE_DIR, which can be copied"),
        _row("load_cache_artifacts(serialized_artifacts: bytes) -> None", None,
             "nothing: see save_cache_artifacts", example='load_cache_artifacts(b"")'),
        _row("set_enable_guard_collectives(enabled: bool) -> bool", False,
             "False: nothing is guarded", example="set_enable_guard_collectives(True)"))),
    Home("jit", "Marks for a compiler of Python's source. Functions run as Python.", (
        *(_row(f"{name}(fn: Any) -> Any", _unchanged("fn"), "the function as it is",
               example=f"{name}(print)")
          for name in ("script_if_tracing", "unused", "export", "interface")),
        _row("ignore(drop: Any = False, **kwargs: Any) -> Any", _unchanged("drop"),
             "the function as it is; with a flag, a decorator"),
        _row("annotate(the_type: Any, the_value: Any) -> Any",
             lambda state, given: given["the_value"], "the value", example="annotate(int, 3)"),
        _row("is_scripting() -> bool", False, "False: Python is running"))),
)
