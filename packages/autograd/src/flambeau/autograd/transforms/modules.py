"""Modules as functions of their parameters, by duck typing: ``flambeau.nn`` is not needed."""
from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from typing import Any

from flambeau.core import Tensor, _core, ops

__all__ = ["functional_call", "replace_all_batch_norm_modules_", "stack_module_state"]

_ABSENT = object()      # stands for a value where there was none


def functional_call(module: Any, parameter_and_buffer_dicts: Any, args: Any = None,
                    kwargs: Mapping[str, Any] | None = None, *, tie_weights: bool = True,
                    strict: bool = False) -> Any:
    """Call a module with other parameters and buffers than its own.

    Args:
        module: the module; it is as before afterwards.
        parameter_and_buffer_dicts: tensors by name, one dict or several; names that are left out
            keep the module's own, and names that the module does not have are attributes of it
            during the call. If it is one dict, it gets what the module assigns to these names.
        args: the arguments, a tuple, or one argument.
        kwargs: keyword arguments.
        tie_weights: a parameter that the module has under several names is replaced under all.
        strict: raise unless the names are those of the module, all of them.

    Returns:
        What the module returns.

    Raises:
        RuntimeError: ``strict`` and names are missing or unknown.
        TypeError: a name is that of something else than a tensor.
        ValueError: tied names are given different tensors, or two dicts the same name.

    Example:
        >>> import flambeau
        >>> from flambeau.func import functional_call
        >>> class Scale:
        ...     def __init__(self):
        ...         self._parameters = {"factor": flambeau.tensor(2.0)}
        ...     def named_parameters(self, remove_duplicate=True):
        ...         return self._parameters.items()
        ...     def named_buffers(self, remove_duplicate=True):
        ...         return ()
        ...     def __call__(self, x):
        ...         return x * self._parameters["factor"]
        >>> functional_call(Scale(), {"factor": flambeau.tensor(3.0)}, (flambeau.ones(2),))
        tensor([3., 3.])
    """
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with replaced(module, parameter_and_buffer_dicts, tie_weights, strict):
        return module(*args, **(kwargs or {}))


@contextmanager
def replaced(module: Any, dicts: Any, tie_weights: bool, strict: bool) -> Iterator[None]:
    """Let a module have other parameters and buffers inside a ``with`` block."""
    values = _merged(dicts)
    if tie_weights or strict:
        names = _names_by_tensor(module)
        values = _tied(names, values) if tie_weights else values
        if strict:
            _check_names(names, values)
    swaps: list[_Swap] = []
    try:
        for name, value in values.items():
            swaps.append(_Swap(module, name, value))
        yield
    finally:
        left = {swap.name: swap.undo() for swap in reversed(swaps)}
        if isinstance(dicts, MutableMapping):
            _give_back(dicts, left)


def _give_back(given, left) -> None:
    """Put into the caller's dict what the module has assigned to its names."""
    for name, value in left.items():
        if name in given and value is not _ABSENT and value is not given[name]:
            given[name] = value


def _merged(dicts) -> dict:
    if isinstance(dicts, Mapping):
        return dict(dicts)
    if not isinstance(dicts, Sequence) or not all(isinstance(d, Mapping) for d in dicts):
        raise ValueError("functional_call(): expected parameter_and_buffer_dicts to be a dict or a "
                         f"list or tuple of dicts, got {type(dicts).__name__}")
    merged: dict = {}
    for d in dicts:
        for name in d:
            if name in merged:
                raise ValueError(f"functional_call(): {name} appears in several dictionaries: "
                                 "name each parameter and buffer once")
        merged.update(d)
    return merged


def _names_by_tensor(module) -> dict[str, int]:
    """Each name with a number of its tensor, the same for tied ones."""
    pairs = [*module.named_parameters(remove_duplicate=False),
             *module.named_buffers(remove_duplicate=False)]
    return {name: id(tensor) for name, tensor in pairs}


def _check_names(names, values) -> None:
    missing = [n for n in names if n not in values]
    unknown = [n for n in values if n not in names]
    if missing or unknown:
        raise RuntimeError(f"functional_call(strict=True): missing key(s): {missing}, unexpected "
                           f"key(s): {unknown}")


def _tied(names, values) -> dict:
    """The values, also under the other names of tied tensors."""
    by_tensor: dict[int, tuple[str, Tensor]] = {}
    for name, value in values.items():
        if name not in names:
            continue
        first = by_tensor.setdefault(names[name], (name, value))
        if first[1] is not value:
            raise ValueError(
                f"functional_call() got values for both {first[0]} and {name}. They are tied in "
                "the module: pass one of them, the same tensor for both, or tie_weights=False")
    whole = dict(values)
    for name, number in names.items():
        if number in by_tensor:
            whole.setdefault(name, by_tensor[number][1])
    return whole


class _Swap:
    """A tensor instead of a parameter, a buffer or an attribute, until it is undone."""

    def __init__(self, module, name: str, value):
        path, _, self.key = name.rpartition(".")
        self.name, self.owner = name, module
        for part in path.split(".") if path else ():
            self.owner = getattr(self.owner, part)
        self.store = self._find_store()
        if self.store is not None:
            self.before = self.store[self.key]
            self.store[self.key] = value
            return
        self.before = self._checked(getattr(self.owner, self.key, _ABSENT))
        self.is_own = self.key in vars(self.owner)
        setattr(self.owner, self.key, value)

    def _find_store(self):
        """The dict of parameters or of buffers that has the name, if one has."""
        for store in (getattr(self.owner, "_parameters", {}), getattr(self.owner, "_buffers", {})):
            if self.key in store:
                return store
        return None

    def _checked(self, before):
        if before is _ABSENT or before is None or isinstance(before, Tensor):
            return before
        raise TypeError(f"functional_call(): {self.name!r} is given a tensor, but in "
                        f"{type(self.owner).__name__} it is a {type(before).__name__}")

    def undo(self):
        """Put back what was there; gives what the module has left."""
        if self.store is not None:
            left = self.store.get(self.key, _ABSENT)
            self.store[self.key] = self.before
            return left
        left = getattr(self.owner, self.key, _ABSENT)
        if self.key in vars(self.owner):
            delattr(self.owner, self.key)
            if self.is_own:
                vars(self.owner)[self.key] = self.before
        elif self.before is not _ABSENT:    # computed by the class, as a parametrized tensor is
            setattr(self.owner, self.key, self.before)
        return left


def stack_module_state(models: Sequence[Any]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Parameters and buffers of modules of one architecture, stacked: an ensemble for ``vmap``.

    Args:
        models: modules of the same class, in the same mode.

    Returns:
        ``(parameters, buffers)``, two dicts of tensors with one more dimension in front. The
        parameters require grad where the modules' do.

    Raises:
        RuntimeError: there are no models, or they differ.
    """
    models = list(models)
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({m.training for m in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval "
                           "mode.")
    if len({type(m) for m in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    parameters = _stacked([dict(m.named_parameters()) for m in models])
    buffers = _stacked([dict(m.named_buffers()) for m in models])
    return parameters, buffers


def _stacked(dicts) -> dict:
    return {name: _stack([d[name] for d in dicts]) for name in dicts[0]}


def _stack(tensors) -> Tensor:
    required = {t.requires_grad for t in tensors}
    if len(required) > 1:
        raise RuntimeError("Expected all parameters to have the same .requires_grad: some of the "
                           "models have theirs frozen")
    whole = ops.stack([t.detach() for t in tensors])
    return _core.requiring(whole) if required.pop() else whole


# ---- batch normalization -----------------------------------------------------------------------
def replace_all_batch_norm_modules_(root: Any) -> Any:
    """Make all batch normalization in a module use the statistics of the batch alone.

    In training mode such a module writes its running statistics in place, which functions that
    are transformed must not do to tensors that they captured.

    Args:
        root: the module, changed in place: its batch normalization has no ``running_mean``,
            ``running_var`` and ``num_batches_tracked`` any more.

    Returns:
        ``root``.

    Example:
        >>> from flambeau.func import replace_all_batch_norm_modules_
        >>> model = replace_all_batch_norm_modules_(model)  # doctest: +SKIP
    """
    for module in root.modules():
        is_norm = any(kind.__name__ == "_BatchNorm" for kind in type(module).__mro__)
        if is_norm and module.track_running_stats:
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root
