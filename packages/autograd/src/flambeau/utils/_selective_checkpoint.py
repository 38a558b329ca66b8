"""Checkpoints that keep the results of chosen operators, and compute the rest again."""
from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["CheckpointPolicy", "SelectiveCheckpointContext", "create_selective_checkpoint_contexts"]


class CheckpointPolicy(enum.Enum):
    """What happens to an operator's results; each of three choices may be a must or a wish.

    Nothing overrides a wish here, so that both mean the same. Results to be offloaded are
    computed again.

    Example:
        >>> from flambeau.utils.checkpoint import CheckpointPolicy
        >>> CheckpointPolicy.MUST_SAVE.value
        0
    """

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


class SelectiveCheckpointContext:
    """What a policy is told besides the operator and its arguments.

    Args:
        is_recompute: always False: policies are asked in the first run only.
        op_output: what the operator gave.
    """

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute = is_recompute
        self.op_output = op_output


def create_selective_checkpoint_contexts(
        policy_fn_or_list: Callable[..., Any] | Sequence[Any],
        allow_cache_entry_mutation: bool = False) -> tuple[Any, Any]:
    """Make the two context managers of a checkpoint that keeps chosen results.

    Args:
        policy_fn_or_list: operators whose results are kept, such as
            ``flambeau.ops.aten.mm.default``; or a function of a
            :class:`SelectiveCheckpointContext`, an operator and its arguments that returns a
            :class:`CheckpointPolicy`, or whether the result is kept.
        allow_cache_entry_mutation: whether results that are kept may be written to.

    Returns:
        A context manager for the first run and one for the second: bound to its arguments with
        ``functools.partial``, this function is the ``context_fn`` of :func:`checkpoint`.

    Raises:
        ValueError: the list holds something else than forms of operators.
        TypeError: neither a function nor a list.

    Example:
        >>> import functools
        >>> import flambeau
        >>> from flambeau.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts
        >>> keeps_products = functools.partial(
        ...     create_selective_checkpoint_contexts, [flambeau.ops.aten.mm.default])
        >>> x = flambeau.ones(2, 2, requires_grad=True)
        >>> y = checkpoint(lambda x: (x @ x).exp(), x, context_fn=keeps_products)
        >>> y.sum().backward()
        >>> x.grad
        tensor([[29.5562, 29.5562],
                [29.5562, 29.5562]])
    """
    # Only here, because seeing calls needs all of flambeau.library.
    from flambeau.utils._checkpoint_modes import modes, policy_of

    if isinstance(policy_fn_or_list, (list, tuple, set, frozenset)):
        return modes(policy_of(list(policy_fn_or_list)), allow_cache_entry_mutation)
    if not callable(policy_fn_or_list):
        raise TypeError("policy_fn_or_list must be either a function or a list of ops, not "
                        f"{type(policy_fn_or_list).__name__}")
    return modes(policy_fn_or_list, allow_cache_entry_mutation)
