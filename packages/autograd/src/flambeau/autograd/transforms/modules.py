"""Modules as functions of their parameters, by duck typing: ``flambeau.nn`` is not needed."""
from __future__ import annotations

from collections.abc import Mapping, Sequence

from flambeau.core import Tensor, ops

__all__ = ["functional_call", "stack_module_state"]

_ABSENT = object()      # stands for a value where there was none


def functional_call(module, parameter_and_buffer_dicts, args=None, kwargs=None, *,
                    tie_weights: bool = True, strict: bool = False):
    """Call a module with other parameters and buffers than its own.

    Args:
        module: the module; it is as before afterwards.
        parameter_and_buffer_dicts: tensors by name, one dict or several; names that are left out
            keep the module's own, and names that the module does not have are attributes of it
            during the call.
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
    values = _merged(parameter_and_buffer_dicts)
    names = _names_by_tensor(module)
    if strict:
        _check_names(names, values)
    if tie_weights:
        values = _tied(names, values)
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    changed: list = []
    try:
        for name, value in values.items():
            changed.append(_swap(module, name, value))
        return module(*args, **(kwargs or {}))
    finally:
        for store, key, before in reversed(changed):
            if before is _ABSENT:
                del store[key]
            else:
                store[key] = before


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
    given = {names[n] for n in values if n in names}
    missing = [n for n in missing if names[n] not in given]
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


def _swap(module, name: str, value):
    """Put a tensor in place; gives what undoes it."""
    path, _, key = name.rpartition(".")
    owner = module
    for part in path.split(".") if path else ():
        owner = getattr(owner, part)
    for store in (getattr(owner, "_parameters", {}), getattr(owner, "_buffers", {})):
        if key in store:
            before = store[key]
            store[key] = value
            return store, key, before
    return _swap_attribute(owner, key, value, name)


def _swap_attribute(owner, key: str, value, name: str):
    """Likewise for what is neither parameter nor buffer, perhaps not there at all."""
    before = getattr(owner, key, _ABSENT)
    if before is not _ABSENT and before is not None and not isinstance(before, Tensor):
        raise TypeError(f"functional_call(): {name!r} is given a tensor, but in "
                        f"{type(owner).__name__} it is a {type(before).__name__}")
    store = vars(owner)
    before = store.get(key, _ABSENT)
    store[key] = value
    return store, key, before


def stack_module_state(models):
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
    return whole.requires_grad_() if required.pop() else whole
