"""Modes below autograd: what ``__torch_dispatch__`` of a ``TorchDispatchMode`` sees.

Calls come as kernels do, after gradients were recorded, transforms taken apart and composites
written out, under the names that PyTorch gives its operators where it has one with the same
arguments, else as ``flambeau.ops.flambeau.name``.
"""
from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from flambeau.core import _core
from flambeau.library.aten_calls import aten_call
from flambeau.library.operators import OpOverload, Shown, handler, ops, shown
from flambeau.library.subclasses import shown_to, taken_apart


class _Modes(threading.local):
    """The modes that this thread has entered, innermost last."""

    def __init__(self) -> None:
        self.list: list[TorchDispatchMode] = []


_modes = _Modes()


def current_modes() -> list[TorchDispatchMode]:
    """The modes that calls are shown to here, innermost last."""
    return _modes.list


class TorchDispatchMode:
    """Sees the calls of kernels inside a ``with`` block; a base class.

    The method ``__torch_dispatch__(self, func, types, args=(), kwargs=None)`` is called instead
    of a kernel; ``func`` is one of ``flambeau.ops``. Called with the same arguments it runs what
    would have run; what is called inside is shown to the mode around it. Gradients are recorded
    before, so that a mode sees the kernels of backward passes, too.

    Example:
        >>> import flambeau
        >>> from flambeau.utils._python_dispatch import TorchDispatchMode
        >>> class Names(TorchDispatchMode):
        ...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        ...         print(func)
        ...         return func(*args, **(kwargs or {}))
        >>> x = flambeau.ones(2, 2)
        >>> with Names():
        ...     y = (x @ x).exp() + 1
        aten.mm.default
        aten.exp.default
        aten.add.Tensor
    """

    def __init__(self, _dispatch_key: Any = None) -> None:
        if _dispatch_key is not None:
            raise NotImplementedError("TorchDispatchMode(_dispatch_key): there are no dispatch "
                                      "keys here; leave it out")

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no __torch_dispatch__: define what "
                                  "the mode does with a call")

    def __enter__(self) -> Any:
        blocks = self.__dict__.setdefault("_blocks", [])
        blocks.append(_core.interpose("mode", self._run))
        blocks[-1].__enter__()
        _modes.list.append(self)
        return self

    def __exit__(self, *exc: Any) -> None:
        self.__dict__["_blocks"].pop().__exit__(*exc)
        if self in _modes.list:
            _modes.list.remove(self)

    def _run(self, op: Any, args: list[Any], outs: Any) -> Any:
        parts = taken_apart(op, args, outs, self.__dict__["_blocks"][-1].around)
        if parts is not None:
            return parts
        name, form, values, kwargs = aten_call(op, args, outs)
        func: OpOverload = getattr(getattr(ops.aten, name), form) if form \
            else getattr(ops.flambeau, op.key.replace(".", "__")).default
        result = self._ask(func, values, kwargs, lambda: _core.call(op, args, outs))
        return outs if outs is not None else result

    def _ask(self, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any],
             run: Callable[[], Any]) -> Any:
        """The mode's answer, in which the modes outside it are asked."""
        classes = shown_to(args, kwargs)
        types = tuple(type(value) for value in classes)
        before, _modes.list = _modes.list, _modes.list[:_position(_modes.list, self)]
        shown.list.append(Shown(func, args, kwargs, run))
        try:
            result = handler(func, self)(types, args, kwargs)
            if result is NotImplemented and classes:
                result = run()
        finally:
            shown.list.pop()
            _modes.list = before
        if result is NotImplemented:
            raise TypeError(f"Multiple dispatch failed for '{func}'; all __torch_dispatch__ "
                            f"handlers returned NotImplemented: mode object {self}. Let "
                            "__torch_dispatch__ answer with func(*args, **kwargs)")
        return result


def ask_mode(func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any],
             run: Callable[[], Any]) -> Any:
    """Show the innermost mode a call that is no operator's of Flambeau's."""
    mode = _modes.list[-1]
    beyond = mode.__dict__["_blocks"][-1].beyond
    return beyond(mode._ask, func, args, kwargs, run)


def _position(modes: list[TorchDispatchMode], mode: TorchDispatchMode) -> int:
    return next((i for i in reversed(range(len(modes))) if modes[i] is mode), len(modes))
