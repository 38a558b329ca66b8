"""Several networks called at once, each in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import flambeau

from ..modules.module import Module

__all__ = ["parallel_apply"]


def parallel_apply(
    modules: Sequence[Module],
    inputs: Sequence[Any],
    kwargs_tup: Sequence[Mapping[str, Any]] | None = None,
    devices: Sequence[Any] | None = None,
) -> list[Any]:
    """Call each network on its inputs, at the same time.

    Args:
        modules: The networks.
        inputs: The input, or a tuple of the inputs, of each.
        kwargs_tup: The keyword arguments of each.
        devices: Accepted for compatibility: networks run where their tensors are.

    Returns:
        What each network gave.

    Raises:
        ValueError: There are more or fewer inputs than networks.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> x = flambeau.ones(2)
        >>> nn.parallel.parallel_apply([nn.ReLU(), nn.Tanhshrink()], [x, x - 1])
        [tensor([1., 1.]), tensor([0., 0.])]
    """
    named = [{} for _ in modules] if kwargs_tup is None else kwargs_tup
    if not len(modules) == len(inputs) == len(named):
        raise ValueError(
            f"parallel_apply(): {len(modules)} modules, {len(inputs)} inputs and {len(named)} "
            "dicts of keyword arguments: give as many of each"
        )
    results: list[Any] = [None] * len(modules)
    errors: list[BaseException] = []
    recording = flambeau.is_grad_enabled()

    def call(i: int) -> None:
        arguments = inputs[i] if isinstance(inputs[i], list | tuple) else (inputs[i],)
        try:
            with flambeau.set_grad_enabled(recording):
                results[i] = modules[i](*arguments, **named[i])
        except Exception as error:
            error.add_note(f"in module {i} of parallel_apply()")
            errors.append(error)

    threads = [threading.Thread(target=call, args=(i,)) for i in range(1, len(modules))]
    for thread in threads:
        thread.start()
    if modules:
        call(0)
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results
