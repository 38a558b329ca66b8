"""Calls on a device: kept as graphs of its driver, which replay kernels without the host.

A call is watched once, which gives its guards, as recordings have them; the next such call is
captured. Gradients are part of it: see ``Backend.graphed``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau.core.pytree import tree_flatten, tree_unflatten
from flambeau.jit import bridge

from . import trust
from .calls import Calls
from .reads import Reads

#: Graphs of a function, and calls that may come to nothing.
MOST_GRAPHS = 8
MOST_FAILURES = 4
#: What is told of as a change, but is a read that guards are about, or a new tensor.
_HARMLESS = ("grad_read", "shape", "numel", "len", "made", "detach")


class _Watched:
    """A call, followed to find out what it reads."""

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.guards, recording = bridge.Guards(), bridge.Recording()
        self.reads = Reads(recording, self.guards)
        self.sources = self.reads.take_arguments(args, kwargs)
        self.writes: list[tuple[Any, int]] = []     # tensors from outside, how often written to

    @property
    def refusal(self) -> str:
        """Why there is no graph, or an empty text."""
        return str(self.reads.recording.refusal)

    def run(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the function."""
        for source in self.sources:
            if not trust.is_plain_tensor(source):
                self.reads.refuse(f"an argument is of class {type(source).__name__}")
        before = [each._version for each in self.sources]
        calls = Calls(self.reads, self._step)
        with bridge.interpose(self._call, self._read, self._change):
            result = calls.call(self.reads.read(fn), args, kwargs)
        self._look_at(result)
        self.reads.end()
        if [each._version for each in self.sources] != before:
            self.reads.refuse("an argument is written to")
        self.writes = [(each, each._version - self.reads.versions[key])
                       for key, each in self.reads.tensors.items()]
        if not self.guards.still_hold() or not self.guards.take_again(args, kwargs):
            self.reads.refuse(f"{self.guards.failed} changed during the call")
        return result

    # ---- what ends the hope ------------------------------------------------------------------
    def _call(self, op: Any, args: list[Any], outs: Any) -> list[Any]:
        results = bridge.call_below(op, args, outs)
        for each in tree_flatten([args, results])[0]:
            if trust.is_tensor(each) and each.is_cpu:
                self.reads.refuse(f"{bridge.key_of(op)} runs on the CPU")
        return results

    def _read(self, tensor: Any, what: str) -> None:
        self.reads.refuse(f"{what} looks at values")

    def _change(self, subject: Any, what: str, value: Any) -> bool:
        if what not in _HARMLESS:
            self.reads.refuse(f"{what} changes")
        return False

    def _step(self, obj: Any, name: str, args: tuple[Any, ...]) -> Any:
        self.reads.refuse(f"{type(obj).__name__}.{name}() is called")
        return getattr(obj, name)(*args)

    def _look_at(self, result: Any) -> None:
        if self.reads.goes_back or self.reads.waiting is None:
            self.reads.refuse("gradients are used inside")
        leaves = tree_flatten(result)[0]
        found = [each for each in leaves if trust.is_tensor(each)]
        outside = {trust.storage_id(each)
                   for each in (*self.sources, *self.reads.tensors.values())}
        memory = [trust.storage_id(each) for each in found]
        if len(set(memory)) < len(memory) or outside & set(memory):
            self.reads.refuse("a result shares memory with another tensor")
        for each in leaves:
            if trust.is_tensor(each) and (each.is_cpu or not trust.is_plain_tensor(each)):
                self.reads.refuse("a result is no tensor of the device")
            elif not trust.is_tensor(each) and not trust.is_value(each):
                self.reads.refuse(f"an object of class {type(each).__name__} is returned")
        if not found:
            self.reads.refuse("no tensor is returned")


class _Captured:
    """The graphs of calls for which some guards hold."""

    def __init__(self, watched: _Watched, fn: Callable[..., Any], args: tuple[Any, ...],
                 kwargs: dict[str, Any]) -> None:
        self.guards, self.writes = watched.guards, watched.writes
        leaves, structure = tree_flatten((args, kwargs))
        self.places = [k for k, each in enumerate(leaves) if trust.is_tensor(each)]
        self.leaves: list[Any] = []         # of the result, constants in their places
        self.structure: Any = None

        def function(*tensors: Any) -> list[Any]:
            given = list(leaves)
            for place, tensor in zip(self.places, tensors, strict=True):
                given[place] = tensor
            args, kwargs = tree_unflatten(given, structure)
            self.leaves, self.structure = tree_flatten(fn(*args, **kwargs))
            found = [each for each in self.leaves if trust.is_tensor(each)]
            self.leaves = [None if trust.is_tensor(each) else each for each in self.leaves]
            self.made = [k for k, each in enumerate(self.leaves) if each is None]
            return found

        parameters = [each for each in watched.reads.tensors.values() if each.requires_grad]
        self.replay = bridge.graphed(function, [leaves[k] for k in self.places], parameters)

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any] | None:
        """What a call returns, in a list; None where it has to run as it stands."""
        leaves = tree_flatten((args, kwargs))[0]
        assert self.replay is not None
        found = self.replay(*(leaves[k] for k in self.places))
        if found is None:
            return None
        for tensor, times in self.writes:
            for _ in range(times):
                bridge.count_write(tensor)
        result = list(self.leaves)
        for place, tensor in zip(self.made, found, strict=True):
            result[place] = tensor
        return [tree_unflatten(result, self.structure)]


class DeviceGraphs:
    """The graphs of a function.

    Args:
        fn: the function.
        ordinary: the compiled function.
    """

    def __init__(self, fn: Any, ordinary: Any) -> None:
        self.fn, self.ordinary = fn, ordinary
        self.captured: list[_Captured] = []
        self.watched: _Watched | None = None
        self.failures = 0
        self.refusal = ""

    @staticmethod
    def concern(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether a call has tensors, all on one device that is not the CPU."""
        if any(trust.is_tensor(each) and each.is_cpu for each in args):
            return False
        found = {each.device for each in tree_flatten((args, kwargs))[0] if trust.is_tensor(each)}
        return len(found) == 1 and found.pop().type != "cpu"

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The function: replayed, captured, watched, or as it stands."""
        if self.failures >= MOST_FAILURES or not bridge.may_record():
            return self.ordinary(*args, **kwargs)
        for each in self.captured:
            if each.guards.hold(args, kwargs):
                found = each.run(args, kwargs)
                return found[0] if found else self.ordinary(*args, **kwargs)
        if self.watched is not None and self.watched.guards.hold(args, kwargs):
            return self._capture(self.watched, args, kwargs)
        watched = _Watched(args, kwargs)
        result = watched.run(self.fn, args, kwargs)
        self.watched = watched
        if watched.refusal:
            self._fail(watched.refusal)
        return result

    def _capture(self, watched: _Watched, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self.watched = None
        try:
            made = _Captured(watched, self.ordinary, args, kwargs)
        except (RuntimeError, NotImplementedError, TypeError) as error:
            self._fail(str(error))
            return self.ordinary(*args, **kwargs)
        if made.replay is None:
            self.failures, self.refusal = MOST_FAILURES, "the device keeps no graphs"
            return self.ordinary(*args, **kwargs)
        self.captured.insert(0, made)
        del self.captured[MOST_GRAPHS:]
        found = made.run(args, kwargs)
        return found[0] if found else self.ordinary(*args, **kwargs)

    def _fail(self, why: str) -> None:
        self.watched, self.refusal = None, why
        self.failures += 1

    def explain(self) -> str:
        """What is replayed, or why nothing is."""
        if not self.captured:
            return f"no graph was captured: {self.refusal or 'it was not called three times'}"
        return "\n".join(f"replayed as a graph of the device: {each.guards.count} guards"
                         for each in self.captured)
