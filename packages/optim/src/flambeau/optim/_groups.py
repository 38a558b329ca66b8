"""Reading and checking the groups of parameters that users pass."""

from __future__ import annotations

import warnings
from typing import Any

from flambeau import Tensor

Groups = list[dict[str, Any]]


def read_params(params: Any) -> tuple[list[Tensor], list[str]]:
    """The tensors of a group and, if they came as pairs, their names.

    Raises:
        TypeError: They have no order, or there are none.
        ValueError: Only some have names.
    """
    if params is None:
        raise TypeError('a parameter group needs "params": a tensor or an iterable of tensors')
    if isinstance(params, Tensor):
        return [params], []
    if isinstance(params, set):
        raise TypeError("parameters need an order that does not change: use a list, not a set")
    listed = list(params)
    pairs = [item for item in listed if isinstance(item, tuple)]
    if not pairs:
        return listed, []
    if len(pairs) != len(listed):
        raise ValueError(
            f"{len(pairs)} of {len(listed)} parameters have names; give all of them as "
            "(name, parameter), e.g. model.named_parameters(), or none"
        )
    return [param for _, param in pairs], [name for name, _ in pairs]


def check_params(params: list[Tensor], groups: Groups, differentiable: bool = False) -> None:
    """Refuse what is no leaf, unless steps are differentiable, or is in a group already.

    Of a parameter that the group has twice there is a warning.

    Raises:
        TypeError: Something is no tensor.
        ValueError: As above.
    """
    elsewhere = {id(param) for group in groups for param in group["params"]}
    for param in params:
        if not isinstance(param, Tensor):
            raise TypeError(f"an optimizer takes tensors, not {type(param).__name__}")
        computed = not param.is_leaf and not getattr(param, "retains_grad", False)
        if computed and not differentiable:
            raise ValueError(
                "cannot optimize a tensor that was computed from others: it gets no gradient. "
                "Optimize those it was computed from, or write tensor.detach()"
                ".requires_grad_()"
            )
        if id(param) in elsewhere:
            raise ValueError("some parameters appear in more than one parameter group")
    if len({id(param) for param in params}) < len(params):
        warnings.warn(
            "optimizer contains a parameter group with duplicate parameters: each step updates "
            "those several times. In future, this will cause an error",
            stacklevel=4,
        )


def check_names(group: dict[str, Any], groups: Groups) -> None:
    """Refuse a group with names beside groups without, and the reverse.

    Raises:
        ValueError: As above.
    """
    for other in groups:
        if ("param_names" in other) != ("param_names" in group):
            having = "names" if "param_names" in group else "no names"
            raise ValueError(
                f"the parameters of the new group have {having}, unlike those of the others; "
                "give all of them as (name, parameter), or none"
            )


def add_defaults(group: dict[str, Any], defaults: dict[str, Any], required: object) -> None:
    """Fill in the options that a group does not set.

    Raises:
        ValueError: It has to set one itself.
    """
    for name, value in defaults.items():
        if value is required and name not in group:
            raise ValueError(f"every parameter group has to set {name!r}; it has no default")
        group.setdefault(name, value)
