"""What sees the operators of a checkpoint's two runs, and keeps or gives their results."""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

from flambeau.core import Tensor, pytree
from flambeau.library.dispatching import TorchDispatchMode
from flambeau.library.operators import OpOverload, ops
from flambeau.utils._selective_checkpoint import CheckpointPolicy, SelectiveCheckpointContext

__all__ = ["modes", "policy_of"]

_RECOMPUTE = object()
_CONSUMED = object()
_SAVING = (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE, True)
_DIFFERS = ("the function did other operations when it ran again: does it depend on a global that "
            "has changed, or draw numbers that preserve_rng_state does not bring back?")


class _Kept:
    """One result that is not computed again, and the version that it had."""

    def __init__(self, value: Any) -> None:
        self.value = value.detach() if isinstance(value, Tensor) else value
        self.version = value._version if isinstance(value, Tensor) else None

    def unchanged(self, may_change: bool) -> Any:
        if self.version is not None and not may_change and self.value._version != self.version:
            raise RuntimeError(
                "Tensor cached during selective activation checkpoint has been mutated: write to "
                "a clone() of it, or pass allow_cache_entry_mutation=True, with which gradients "
                "are those of the new values")
        return self.value


_Store = dict[Any, list[Any]]


class _Keeping(TorchDispatchMode):
    """The first run: keeps what the policy says."""

    def __init__(self, policy: Callable[..., Any], store: _Store) -> None:
        super().__init__()
        self._policy = policy
        self._store = store

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if func is ops.aten.detach.default:         # runs make different numbers of them
            return result
        context = SelectiveCheckpointContext(is_recompute=False, op_output=result)
        kept = self._policy(context, func, *args, **kwargs) in _SAVING
        self._store[func].append(pytree.tree_map(_Kept, result) if kept else _RECOMPUTE)
        return result


class _Giving(TorchDispatchMode):
    """The second run: gives what was kept, each result once."""

    def __init__(self, store: _Store, may_change: bool) -> None:
        super().__init__()
        self._store = store
        self._may_change = may_change
        self._calls: dict[Any, int] = defaultdict(int)

    def __enter__(self) -> Any:
        self._calls.clear()
        return super().__enter__()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is ops.aten.detach.default:
            return func(*args, **(kwargs or {}))
        number = self._calls[func]
        self._calls[func] += 1
        kept = self._store.get(func, [])
        if number >= len(kept):
            raise RuntimeError(f"call {number} of {func} encountered during backward but not "
                               f"found in storage: {_DIFFERS}")
        if kept[number] is _CONSUMED:
            raise RuntimeError(
                "Trying to backward an extra time. You are only allowed to backward once on any "
                "region computed under selective activation checkpoint; leave context_fn out to "
                "compute everything again each time")
        if kept[number] is _RECOMPUTE:
            return func(*args, **(kwargs or {}))
        found, kept[number] = kept[number], _CONSUMED
        return pytree.tree_map(lambda entry: entry.unchanged(self._may_change), found)


def policy_of(kept: list[Any]) -> Callable[..., bool]:
    for op in kept:
        if not isinstance(op, OpOverload):
            raise ValueError(
                f"Expected op in `op_list` to be an OpOverload but got: {op} of type {type(op)}. "
                "Write which form is meant: flambeau.ops.aten.mm.default, not flambeau.ops.aten.mm")
    return lambda context, op, *args, **kwargs: op in kept


def modes(policy: Callable[..., Any], may_change: bool) -> tuple[Any, Any]:
    """The mode of the first run and that of the second, with a store between them."""
    store: _Store = defaultdict(list)
    return _Keeping(policy, store), _Giving(store, may_change)
