"""`torch.jit.trace`: a program where one can be recorded, Python for all other calls.

A program has the example's dtypes, and its sizes but for the first. Traces of PyTorch take others
as well, and with them the function runs as Python. What a trace of PyTorch would get wrong, such
as a branch on values, so is decided in each call.
"""
from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from flambeau import rooms
from flambeau.as_torch.stands.scripts.objects import ScriptFunction, ScriptModule
from flambeau.as_torch.stands.scripts.settings import TracerWarning
from flambeau.core import Tensor

_jit = rooms.import_module(f"{rooms.PREFIX}jit.recording.tracing")
_programs = rooms.import_module(f"{rooms.PREFIX}jit.programs.program")
_errors = rooms.import_module(f"{rooms.PREFIX}jit.errors")
_active = rooms.import_module(f"{rooms.PREFIX}jit.recording.active")
_copies = rooms.import_module(f"{rooms.PREFIX}jit.scripted.copies")
_nn = rooms.import_module(f"{rooms.PREFIX}nn")


class Traced:
    """A function with the program that was recorded of it, if there is one.

    Args:
        function: The function.
        program: That.
    """

    def __init__(self, function: Callable[..., Any], program: Any = None) -> None:
        self.function = function
        self.program = program and _programs.Program(
            program.graph, program.takes, program.gives, program.training, self._other)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.program is None or _active.current() is not None:
            return self.function(*args, **kwargs)
        return self.program(*args, **kwargs)

    def _other(self, *args: Any, **kwargs: Any) -> Callable[..., Any]:
        """What runs for arguments that the program refuses."""
        return self.function

    def __deepcopy__(self, memo: dict[int, Any]) -> Traced:
        import copy

        return Traced(copy.deepcopy(self.function, memo))

    def __reduce__(self) -> Any:
        return Traced, (self.function,)


def _traced(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Traced:
    try:
        program = _jit.trace(function, args, example_kwarg_inputs=kwargs)
    except (_errors.TraceError, TypeError) as error:
        name = getattr(function, "__qualname__", type(function).__name__)
        warnings.warn(f"torch.jit.trace(): {name} runs as Python in each call, for a program "
                      f"cannot hold it: {str(error).splitlines()[0]}", TracerWarning, stacklevel=4)
        program = None
    return Traced(function, program)


class _Shown:
    """The program of what was traced."""

    _methods: dict[str, Traced]

    @property
    def graph(self) -> Any:
        """The program's graph."""
        return self.recorded().graph

    inlined_graph = graph

    @property
    def code(self) -> str:
        """The program's graph as text; where there is none, the source of what runs."""
        program = self._methods["forward"].program
        function = self._methods["forward"].function
        return inspect.getsource(getattr(function, "forward", function)) if program is None else (
            str(program.graph))

    def recorded(self) -> Any:
        """The program.

        Raises:
            ProgramError: There is none.
        """
        program = self._methods["forward"].program
        if program is None:
            raise _errors.ProgramError("what torch.jit.trace() was given runs as Python: there is "
                                       "no graph; see the warning that it gave")
        return program


class TracedFunction(_Shown, ScriptFunction):
    """A function that was traced."""

    def __init__(self, traced: Traced) -> None:
        super().__init__(traced.function)
        self._methods = {"forward": traced}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._methods["forward"](*args, **kwargs)

    def __reduce__(self) -> Any:
        return TracedFunction, (self._methods["forward"],)


class TracedModule(_Shown, ScriptModule):
    """A module that was traced; it has the parameters, buffers and submodules of the module.

    What runs is a copy of the module over the same tensors, in the modes of when it was traced.

    Args:
        module: That copy.
        methods: Name -> method of it, with its program.
    """

    def __init__(self, module: Any, methods: dict[str, Traced]) -> None:
        super().__init__()
        self.__dict__.update(_runs=(module,), _methods=methods, training=module.training)
        for table in ("_parameters", "_buffers", "_modules", "_non_persistent_buffers_set"):
            self.__dict__[table] = vars(module)[table]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _nn.Module.__call__(self, *args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module gives."""
        return self._methods["forward"](*args, **kwargs)

    def train(self, mode: bool = True) -> TracedModule:
        """Set the mode, which changes nothing: what is traced has that of its module."""
        self.training = mode
        return self

    @property
    def original_name(self) -> str:
        """The name of the module's class."""
        return type(self._runs[0]).__name__

    def __getattr__(self, name: str) -> Any:
        if name in vars(self).get("_methods", ()):
            return self._methods[name]
        if name in ("_runs", "_methods"):
            raise AttributeError(name)
        return getattr(self._runs[0], name)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return TracedModule, (self._runs[0], self._methods)


TopLevelTracedModule = TracedModule


def trace(func: Any, example_inputs: Any = None, optimize: Any = None, check_trace: bool = True,
          check_inputs: Any = None, check_tolerance: float = 1e-5, strict: bool = True,
          _force_outplace: bool = False, _module_class: Any = None, _compilation_unit: Any = None,
          example_kwarg_inputs: Mapping[str, Any] | None = None, _store_inputs: bool = True,
          **own: Any) -> Any:
    """Record a function or module for an example; other calls of it run as Python.

    Args:
        func: That.
        example_inputs: Its arguments, or one tensor.
        optimize: Accepted for compatibility; the same holds for what is not listed.
        check_trace: Accepted: programs are always compared with the function.
        check_inputs: Accepted.
        check_tolerance: Accepted.
        strict: Accepted: containers may be results.
        example_kwarg_inputs: Arguments by name.
        own: What `flambeau.jit.trace` takes beside: it is called then.

    Raises:
        RuntimeError: There is no example.
    """
    if own:
        return _jit.trace(func, () if example_inputs is None else example_inputs,
                          example_kwarg_inputs=example_kwarg_inputs, **own)
    if isinstance(func, ScriptModule):
        warnings.warn("torch.jit.trace(): what is a script module already is given back as it is",
                      stacklevel=2)
        return func
    if example_inputs is None and example_kwarg_inputs is None:
        raise RuntimeError("torch.jit.trace(): give an example: example_inputs=(x,), or "
                           "example_kwarg_inputs={'x': x}")
    module = getattr(func, "__self__", None)
    if isinstance(module, _nn.Module) and func.__name__ == "forward":
        func = module
    args, kwargs = _arguments(example_inputs), dict(example_kwarg_inputs or {})
    if isinstance(func, _nn.Module):
        return _module(func, {"forward": (args, kwargs)})
    return TracedFunction(_traced(func, args, kwargs))


def trace_module(mod: Any, inputs: Mapping[str, Any], optimize: Any = None,
                 check_trace: bool = True, check_inputs: Any = None, check_tolerance: float = 1e-5,
                 strict: bool = True, _force_outplace: bool = False, _module_class: Any = None,
                 _compilation_unit: Any = None, example_inputs_is_kwarg: bool = False,
                 _store_inputs: bool = True) -> TracedModule:
    """Record methods of a module for examples.

    Args:
        mod: The module.
        inputs: Name of a method -> its arguments; see `trace` for the others.
        example_inputs_is_kwarg: Whether arguments are dictionaries by name.

    Raises:
        AttributeError: It is no module, or it has no such method.
    """
    if not isinstance(mod, _nn.Module):
        raise AttributeError("torch.jit.trace_module() takes a module, not a "
                             f"{type(mod).__name__}; write torch.jit.trace(function, example)")
    if not isinstance(inputs, dict):
        raise AttributeError("torch.jit.trace_module(): inputs is a dictionary from names of "
                             f"methods to their arguments, not a {type(inputs).__name__}")
    return _module(mod, {name: ((), given) if example_inputs_is_kwarg else (_arguments(given), {})
                         for name, given in inputs.items()})


def _module(module: Any, examples: Mapping[str, tuple[Sequence[Any], Mapping[str, Any]]]
            ) -> TracedModule:
    runs = _copies.copied(module)
    methods = {name: _traced(runs if name == "forward" else getattr(runs, name), *example)
               for name, example in examples.items()}
    methods.setdefault("forward", Traced(runs))
    return TracedModule(runs, methods)


def _arguments(given: Any) -> tuple[Any, ...]:
    if given is None:
        return ()
    return (given,) if isinstance(given, Tensor | dict) else tuple(given)
