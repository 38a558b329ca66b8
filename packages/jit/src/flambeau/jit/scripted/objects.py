"""What ``jit.script`` gives: a function or module that runs as Python and can be saved."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable
from functools import update_wrapper
from types import FunctionType
from typing import TYPE_CHECKING, Any

from flambeau.jit import bridge
from flambeau.jit.errors import ProgramError, TraceError
from flambeau.jit.recording.active import current
from flambeau.jit.scripted import calls
from flambeau.jit.scripted.trees import leaves, rebuilt

if TYPE_CHECKING:
    from flambeau.jit.programs.program import Program

#: Arguments of a first call that are kept for recording, in bytes.
KEPT_BYTES = 64 << 20
_classes: dict[type, type] = {}


class Scripted:
    """What scripted functions and modules have in common.

    The arguments of the first call are the example that a program is recorded with: what a file
    holds has to know their dtypes and numbers of dimensions.
    """

    _script_example: Any = None

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
        from flambeau.jit.recording.tracing import trace

        if example_inputs is not None:
            return trace(self._recorded(), example_inputs)
        if self._script_example is None:
            raise ProgramError(
                "what jit.script() gave was not called yet, and a program has to know dtypes and "
                "dimensions: call it once, or write save(path, example_inputs=(x,))")
        args, kwargs = self._script_example
        return trace(self._recorded(), args, example_kwarg_inputs=kwargs)

    def save(self, f: str | os.PathLike[str], example_inputs: Any = None) -> None:
        """Write the program to a file, which ``jit.load`` reads without the Python that made it.

        Args:
            f: where.
            example_inputs: see ``program``.
        """
        self.program(example_inputs).save(f)

    @property
    def graph(self) -> Any:
        """The program's graph."""
        return self.program().graph

    @property
    def code(self) -> str:
        """The source that the program was recorded from."""
        from flambeau.jit.replay.source import tree_of

        return ast.unparse(tree_of(self._source())[0])

    def _keep(self, args: Any, kwargs: Any) -> None:
        every = leaves((args, kwargs))
        tensors = [leaf for leaf in every if bridge.is_tensor(leaf)]
        if sum(tensor.nbytes for tensor in tensors) > KEPT_BYTES:
            return
        new = [_copy(leaf) if bridge.is_tensor(leaf) else leaf for leaf in every]
        object.__setattr__(self, "_script_example", rebuilt((args, kwargs), new))

    def _recorded(self) -> Callable[..., Any]:
        return self         # type: ignore[return-value]

    def _source(self) -> FunctionType:
        raise NotImplementedError


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
            self._keep(args, kwargs)
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

    def _source(self) -> FunctionType:
        return self._fn


class ScriptModule(Scripted):
    """The base class of modules that ``jit.script`` gave, beside their own."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        run = super().__call__      # type: ignore[misc]
        if current() is not None:
            with calls.modules(self):
                return run(*args, **kwargs)
        if self._script_example is None:
            self._keep(args, kwargs)
        return run(*args, **kwargs)

    @property
    def original_name(self) -> str:
        """The name of the module's class."""
        return type(self).__bases__[1].__name__

    def __reduce_ex__(self, protocol: Any) -> Any:
        return scripted, (_with_class(self, type(self).__bases__[1]),)

    def _source(self) -> FunctionType:
        return type(self).forward       # type: ignore[attr-defined]


def _class_of(kind: type) -> type:
    found = _classes.get(kind)
    if found is None:
        facts = {"__module__": kind.__module__}
        found = _classes[kind] = type(kind.__name__, (ScriptModule, kind), facts)
    return found


def _with_class(module: Any, kind: type) -> Any:
    """Another object over the same parameters and submodules."""
    made: Any = object.__new__(kind)
    state = {name: value for name, value in vars(module).items() if name != "_script_example"}
    vars(made).update(state)
    return made


def scripted(obj: Any) -> Any:
    """A function or module as ``jit.script`` gives it; ``None`` for anything else."""
    if isinstance(obj, Scripted):
        return obj
    if isinstance(obj, FunctionType):
        return ScriptFunction(obj)
    if hasattr(obj, "forward") and hasattr(obj, "_parameters") and not isinstance(obj, type):
        return _with_class(obj, _class_of(type(obj)))
    return None


__all__ = ["ScriptFunction", "ScriptModule", "Scripted", "scripted"]
