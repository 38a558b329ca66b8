"""Making modules without drawing initial values."""

from __future__ import annotations

from typing import Any

from ..modules.module import Module


def skip_init(module_cls: type[Module], *args: Any, **kwargs: Any) -> Module:
    """Make a module whose parameters are not initialized, for one that is filled anyway.

    It is made on the ``meta`` device, where initial values cost nothing, and moved.

    Args:
        module_cls: The class; its constructor takes ``device``.
        args: What it is constructed with.
        kwargs: The same by name; ``device`` is where the module ends up.

    Raises:
        RuntimeError: It is no class of modules, or takes no ``device``.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> layer = nn.utils.skip_init(nn.Linear, 5, 1)
        >>> tuple(layer.weight.shape), layer.weight.device.type
        ((1, 5), 'cpu')
    """
    if not isinstance(module_cls, type) or not issubclass(module_cls, Module):
        raise RuntimeError(f"skip_init() takes a class of modules, got {module_cls!r}")
    import inspect  # few programs need it, and it is slow to import

    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError(
            f"skip_init(): {module_cls.__name__}() takes no argument 'device', so that it cannot "
            "be made without initial values"
        )
    device = kwargs.pop("device", "cpu")
    return module_cls(*args, **{**kwargs, "device": "meta"}).to_empty(device=device)
