"""``fully_shard``: modules of whose parameters each process has some rows."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from flambeau.distributed.tensor import Shard
from flambeau.distributed.tensor._api import default_mesh

from ._group import ParamGroup
from ._module import FSDPModule
from ._parts import Part
from ._policies import MixedPrecisionPolicy, OffloadPolicy
from ._state import State, set_state, state_of

__all__ = ["fully_shard", "register_fsdp_forward_method", "share_comm_ctx"]


def fully_shard(
    module: Any,
    *,
    mesh: Any = None,
    reshard_after_forward: bool | int | None = None,
    shard_placement_fn: Callable[[Any], Shard | None] | None = None,
    mp_policy: MixedPrecisionPolicy | None = None,
    offload_policy: OffloadPolicy | None = None,
    ignored_params: set[Any] | None = None,
    dp_mesh_dims: Any = None,
) -> Any:
    """Divide a module's parameters, their gradients and the optimizer's state among processes.

    Each process keeps some rows of each parameter, as a `DTensor`. Before the module computes, the
    rows of all are gathered; after it only this process's are kept, and they are gathered again for
    the backward pass, which gives each process its rows of the averages of all processes'
    gradients (Rajbhandari et al., ZeRO, 2020).

    It is called with inner modules first, such as each block of a network, then with the network:
    each call takes the parameters that no earlier one has, and these are gathered together. The
    optimizer is made afterwards, of ``module.parameters()``.

    Args:
        module: The module, which is changed, or a list of modules whose parameters are gathered
            together.
        mesh: The processes; all by default. With two dimensions, rows are divided along the second
            and copied along the first.
        reshard_after_forward: Whether only parts are kept after the forward pass; by default the
            outermost module keeps the whole parameters. A number counts as True.
        shard_placement_fn: Takes a parameter, and gives ``Shard(dim)`` for one that is to be
            divided along another dimension.
        mp_policy: The dtypes to compute and to exchange in.
        offload_policy: Accepted for compatibility.
        ignored_params: Parameters that stay as they are.
        dp_mesh_dims: Not made.

    Returns:
        The module, which is an `FSDPModule` too.

    Raises:
        ValueError: The mesh has more than two dimensions, a parameter none, or a module is a
            container without ``forward``.
        NotImplementedError: A parameter is a `DTensor`, or ``dp_mesh_dims`` are given.

    Example:
        >>> import flambeau
        >>> from flambeau import distributed, nn, optim
        >>> from flambeau.distributed.fsdp import fully_shard
        >>> distributed.init_process_group("gloo", world_size=1, rank=0)
        >>> net = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 1))
        >>> for layer in (net[0], net[2], net):
        ...     _ = fully_shard(layer)
        >>> optimizer = optim.SGD(net.parameters(), lr=0.1)
        >>> net(flambeau.ones(3, 2)).sum().backward()
        >>> optimizer.step()
        >>> net[0].weight.placements, net[0].weight.full_tensor().shape
        ((Shard(dim=0),), flambeau.Size([4, 2]))
        >>> distributed.destroy_process_group()
    """
    if dp_mesh_dims is not None:
        raise NotImplementedError("fully_shard(): dp_mesh_dims are not made; give the mesh of the "
                                  "processes with different data, such as mesh[\"dp\"]")
    modules = list(module) if isinstance(module, list | tuple) else [module]
    mesh = mesh or default_mesh()
    if mesh.ndim > 2:
        raise ValueError(f"fully_shard expects a 1D or 2D DeviceMesh but got {mesh}")
    policy = mp_policy or MixedPrecisionPolicy()
    for each in modules:
        _check(each)
    reshards = reshard_after_forward is None or bool(reshard_after_forward)
    divide(modules, mesh, policy, reshards, reshard_after_forward is None,
           ignored_params or set(), shard_placement_fn)
    for each in modules:
        kind: Any = type(each)
        each.__class__ = _class_of(kind)
    return module


def divide(
    modules: list[Any], mesh: Any, policy: MixedPrecisionPolicy, reshards: bool,
    automatic: bool, ignored: set[Any], placement: Any = None,
) -> State:
    """Divide the parameters of modules, and let them know their state.

    Args:
        modules: The modules.
        mesh: The processes.
        policy: The dtypes.
        reshards: Whether only parts are kept after the forward pass.
        automatic: Whether the outermost module keeps the whole parameters nevertheless.
        ignored: Parameters that stay as they are.
        placement: As ``shard_placement_fn`` of `fully_shard`.
    """
    found = _found(modules, ignored)
    parts = [Part(homes, p, mesh, _dim(p, placement)) for p, homes in found]
    group = ParamGroup(parts, mesh, policy, reshards) if parts else None
    state = State(modules, group, policy, automatic)
    for each in modules:
        set_state(each, state)
        each.register_state_dict_pre_hook(_to_parts)
        each.register_load_state_dict_pre_hook(_to_parts)
    return state


@functools.cache
def _class_of(kind: type) -> type:
    return type(f"FSDP{kind.__name__}", (FSDPModule, kind), {"__module__": kind.__module__})


def _to_parts(module: Any, *_: Any) -> None:
    state = state_of(module)
    if state is not None and state.group is not None:
        state.group.reshard()


def _check(module: Any) -> None:
    if state_of(module) is not None:
        raise AssertionError(f"Each distinct composable distributed API can only be applied to a "
                             f"module once: fully_shard was called with {type(module).__name__} "
                             "before")
    if type(module).__name__ in ("ModuleList", "ModuleDict"):
        raise ValueError(f"fully_shard does not support containers that do not implement forward: "
                         f"{type(module).__name__}; call it with each of its modules")


def _dim(parameter: Any, function: Callable[[Any], Shard | None] | None) -> int:
    placement = None if function is None else function(parameter)
    return 0 if placement is None else placement.dim % max(parameter.ndim, 1)


def _managed(module: Any) -> Iterator[Any]:
    """A module and those below it whose parameters no other call has."""
    yield module
    for child in module.children():
        if state_of(child) is None:
            yield from _managed(child)


def _found(modules: Iterable[Any], ignored: set[Any]) -> list[tuple[Any, list[tuple[Any, str]]]]:
    """Parameters, each once, with the modules and names that have it."""
    left_out = set(map(id, ignored))
    homes: dict[int, tuple[Any, list[tuple[Any, str]]]] = {}
    seen: set[int] = set()
    for module in modules:
        for each in _managed(module):
            if id(each) in seen:
                continue
            seen.add(id(each))
            for name, p in each._parameters.items():
                if p is None or id(p) in left_out:
                    continue
                if getattr(p, _DIVIDED, False):
                    raise ValueError(
                        f"Parameter '{name}' is shared with a parameter already managed by another "
                        "FSDP group. For shared/tied parameters, use fully_shard([module_a, "
                        "module_b]) to place them in the same FSDP group.")
                homes.setdefault(id(p), (p, []))[1].append((each, name))
    for p, _ in homes.values():
        setattr(p, _DIVIDED, True)
    return list(homes.values())


#: What marks parameters that an earlier call has divided, where another module has them, too.
_DIVIDED = "_is_divided"


def register_fsdp_forward_method(module: Any, method_name: str) -> None:
    """Have the parameters whole in another method than ``forward``.

    Args:
        module: The module; nothing happens where `fully_shard` was not called with it.
        method_name: The method.

    Raises:
        ValueError: The module has no such method.
    """
    state = state_of(module)
    if state is None:
        return
    if not hasattr(module, method_name):
        raise ValueError(f"{type(module).__name__} does not have a method {method_name}")
    method = getattr(module, method_name)

    @functools.wraps(method)
    def whole(*args: Any, **kwargs: Any) -> Any:
        assert state is not None
        return state.run(module, method, args, kwargs)

    module.__dict__[method_name] = whole


def share_comm_ctx(modules: Iterable[Any]) -> None:
    """Accepted for compatibility: there are no streams of devices to share.

    Args:
        modules: Modules that `fully_shard` was called with.

    Raises:
        ValueError: It was not called with one of them.
    """
    for module in modules:
        if not isinstance(module, FSDPModule):
            raise ValueError(f"Expects list of FSDPModules but got {module}")
