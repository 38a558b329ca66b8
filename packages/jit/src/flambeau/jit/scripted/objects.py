"""What ``jit.script`` gives: a function or module that runs as Python and can be saved."""

from __future__ import annotations

import ast
import inspect
import os
from collections.abc import Callable
from functools import update_wrapper
from types import FunctionType
from typing import TYPE_CHECKING, Any

from flambeau.jit import bridge
from flambeau.jit.errors import ProgramError, TraceError
from flambeau.jit.recording.active import current
from flambeau.jit.scripted import calls
from flambeau.jit.scripted.copies import copied
from flambeau.jit.scripted.trees import leaves, rebuilt

if TYPE_CHECKING:
    from flambeau.jit.programs.program import Program

#: Arguments of a first call that are kept for recording, in bytes.
KEPT_BYTES = 64 << 20
_classes: dict[tuple[type, type], type] = {}


class _Offered:
    """A name that scripted objects have, unless the module that was scripted has it itself.

    A module's own parameter, buffer, submodule, attribute or method of this name is what its
    ``forward`` means by it.
    """

    def __init__(self, give: Callable[..., Any]) -> None:
        self.give = give
        self.__doc__ = give.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        for table in ("_parameters", "_buffers", "_modules"):
            own = vars(instance).get(table) or {}
            if self.name in own:
                return own[self.name]
        return self.give(instance)


def offered(function: Callable[..., Any]) -> _Offered:
    """A method that a module's own parameter or attribute of its name hides."""
    made = _Offered(function.__get__)
    made.__doc__ = function.__doc__
    return made


class Scripted:
    """What scripted functions and modules have in common.

    The arguments of the first call are the example that a program is recorded with: what a file
    holds has to know their dtypes and numbers of dimensions.
    """

    _script_example: Any = None

    @offered
    def program(self, example_inputs: Any = None) -> Program:
        """The program that is saved, with branches and loops on values as they are written.

        Args:
            example_inputs: a tensor, or a tuple of arguments; the first call's, if left out.

        Returns:
            The program. Sizes along the first dimension may vary; Python's numbers are fixed.

        Raises:
            ProgramError: there was no call, and there is no example.
            TraceError: Python does what a program cannot hold; the message names the line.
        """
        return program_of(self, example_inputs)

    @offered
    def save(self, f: str | os.PathLike[str], example_inputs: Any = None) -> None:
        """Write the program to a file, which ``jit.load`` reads without the Python that made it.

        Args:
            f: where.
            example_inputs: see ``program``.
        """
        program_of(self, example_inputs).save(f)

    @_Offered
    def graph(self) -> Any:
        """The program's graph."""
        return program_of(self).graph

    @_Offered
    def code(self) -> str:
        """The source that the program was recorded from."""
        from flambeau.jit.replay.source import tree_of

        return ast.unparse(tree_of(_source(self))[0])


def program_of(script: Any, example_inputs: Any = None) -> Program:
    """What `Scripted.program` gives, whatever the scripted module calls its own parts."""
    from flambeau.jit.recording.tracing import trace

    if example_inputs is not None:
        return trace(script, example_inputs)
    if script._script_example is None:
        raise ProgramError(
            "what jit.script() gave was not called yet, and a program has to know dtypes and "
            "dimensions: call it once, or write save(path, example_inputs=(x,))")
    args, kwargs = script._script_example
    return trace(script, args, example_kwarg_inputs=kwargs)


def _source(script: Any) -> FunctionType:
    found: FunctionType = script._fn if isinstance(script, ScriptFunction) else (
        type(script).forward)
    return found


def _keep(script: Any, args: Any, kwargs: Any) -> None:
    every = leaves((args, kwargs))
    tensors = [leaf for leaf in every if bridge.is_tensor(leaf)]
    try:
        if sum(tensor.nbytes for tensor in tensors) > KEPT_BYTES:
            return
        new = [_copy(leaf) if bridge.is_tensor(leaf) else leaf for leaf in every]
    except (TypeError, NotImplementedError):    # sparse tensors and others of classes of their own
        return
    object.__setattr__(script, "_script_example", rebuilt((args, kwargs), new))


def _copy(tensor: Any) -> Any:
    made = bridge.clone(tensor.detach())
    return made.requires_grad_() if tensor.requires_grad else made


class ScriptFunction(Scripted):
    """A function whose branches and loops on values are part of programs.

    Args:
        fn: the function.
    """

    def __init__(self, fn: FunctionType) -> None:
        update_wrapper(self, fn)
        self._fn = fn

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if current() is not None:
            return self._record(args, kwargs)
        if self._script_example is None:
            _keep(self, args, kwargs)
        return self._fn(*args, **kwargs)

    def _record(self, args: Any, kwargs: Any) -> Any:
        try:
            return calls.function(self._fn)(*args, **kwargs)
        except TraceError as error:
            why = calls.why_not(self._fn)
            if why:
                error.add_note(f"jit.script() could not read {self._fn.__qualname__}(): {why}")
            raise

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else self._fn.__get__(instance, owner)

    def __reduce__(self) -> Any:
        return self.__qualname__    # type: ignore[attr-defined]

    @property
    def __code__(self) -> Any:
        return self._fn.__code__


class ScriptModule(Scripted):
    """The base class of modules that ``jit.script`` gave, beside their own."""

    _scripted_kind: type | None = None      # the class that was scripted

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        run = super().__call__      # type: ignore[misc]
        if current() is not None:
            with calls.modules(self):
                return run(*args, **kwargs)
        if self._script_example is None:
            _keep(self, args, kwargs)
        return run(*args, **kwargs)

    @_Offered
    def original_name(self) -> str:
        """The name of the module's class."""
        return (self._scripted_kind or type(self)).__name__

    def __reduce_ex__(self, protocol: Any) -> Any:
        if self._scripted_kind is None:
            return super().__reduce_ex__(protocol)
        made = type(self)
        return _again, (_with_class(self, self._scripted_kind), made.__bases__[0])


def class_of(kind: type, base: type) -> type:
    """The class of modules of a class that are scripted.

    Args:
        kind: their class.
        base: the first base of what is made.
    """
    found = _classes.get((kind, base))
    if found is None:
        names = {name for above in base.__mro__ for name, value in vars(above).items()
                 if isinstance(value, _Offered)}
        own = {name: inspect.getattr_static(kind, name) for name in names if hasattr(kind, name)}
        facts = {"__module__": kind.__module__, "_scripted_kind": kind, **own}
        found = _classes[kind, base] = type(kind.__name__, (base, kind), facts)
    return found


def _again(module: Any, base: type) -> Any:
    """The scripted module of an object that was made for nothing else."""
    return _with_class(module, class_of(type(module), base))


def _with_class(module: Any, kind: type) -> Any:
    """Another object over the same parameters and submodules."""
    made: Any = object.__new__(kind)
    state = {name: value for name, value in vars(module).items() if name != "_script_example"}
    vars(made).update(state)
    return made


def scripted(obj: Any, module_base: type = ScriptModule,
             function_base: type[ScriptFunction] = ScriptFunction) -> Any:
    """A function or module as ``jit.script`` gives it; ``None`` for anything else.

    Args:
        obj: what is scripted.
        module_base: the class that modules get beside their own.
        function_base: the class of functions.
    """
    if isinstance(obj, Scripted):
        return obj
    if isinstance(obj, FunctionType):
        return function_base(obj)
    if hasattr(obj, "forward") and hasattr(obj, "_parameters") and not isinstance(obj, type):
        return _with_class(copied(obj), class_of(type(obj), module_base))
    return None


__all__ = ["ScriptFunction", "ScriptModule", "Scripted", "class_of", "offered", "program_of",
           "scripted"]
