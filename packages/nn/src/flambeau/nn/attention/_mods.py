"""Functions of single indices, which say what a score becomes, or whether a key takes part."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import flambeau
from flambeau import Tensor

#: (batch, head, query, key) -> whether the key takes part; the indices are tensors of no dimension.
MaskMod = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
#: (score, batch, head, query, key) -> score.
ScoreMod = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]

#: Which of the four indices each level of ``vmap`` takes apart, from the inside out.
_LEVELS = (
    (None, None, None, 0),
    (None, None, 0, None),
    (None, 0, None, None),
    (0, None, None, None),
)


def over_indices(mod: Callable[..., Tensor], has_score: bool) -> Callable[..., Tensor]:
    """The function of vectors of indices, and of scores of four dimensions if it takes scores."""
    for dims in _LEVELS:
        mod = flambeau.vmap(mod, in_dims=(0, *dims) if has_score else dims)
    return mod


def noop_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """Let every key take part.

    Args:
        batch: Index of the sample.
        head: Index of the head.
        token_q: Index of the query.
        token_kv: Index of the key.

    Returns:
        True.

    Example:
        >>> import flambeau
        >>> index = flambeau.tensor(0)
        >>> noop_mask(index, index, index, index)
        tensor(True)
    """
    return batch.new_ones((), dtype=flambeau.bool)


def _check_callable(name: str, mods: tuple[Any, ...]) -> None:
    if not all(callable(mod) for mod in mods):
        raise RuntimeError(f"{name}(): All inputs should be callable mask_mods: {mods}")


def or_masks(*mask_mods: MaskMod) -> MaskMod:
    """The mask in which a key takes part if any of the masks says so.

    Args:
        mask_mods: Functions of (batch, head, query, key).

    Returns:
        A function of the same.

    Raises:
        RuntimeError: One of them is no function.

    Example:
        >>> import flambeau
        >>> near = lambda b, h, q, kv: (q - kv).abs() < 2
        >>> first = lambda b, h, q, kv: kv == 0
        >>> create_mask(or_masks(near, first), None, None, 4, 4)[0, 0].int()
        tensor([[1, 1, 0, 0],
                [1, 1, 1, 0],
                [1, 1, 1, 1],
                [1, 0, 1, 1]], dtype=flambeau.int32)
    """
    _check_callable("or_masks", mask_mods)

    def or_mask(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
        result = b.new_zeros((), dtype=flambeau.bool)
        for mask in mask_mods:
            result = result | mask(b, h, q_idx, kv_idx)
        return result

    return or_mask


def and_masks(*mask_mods: MaskMod) -> MaskMod:
    """The mask in which a key takes part if all masks say so.

    Args:
        mask_mods: Functions of (batch, head, query, key).

    Returns:
        A function of the same.

    Raises:
        RuntimeError: One of them is no function.

    Example:
        >>> import flambeau
        >>> causal = lambda b, h, q, kv: q >= kv
        >>> near = lambda b, h, q, kv: q - kv < 2
        >>> create_mask(and_masks(causal, near), None, None, 3, 3)[0, 0].int()
        tensor([[1, 0, 0],
                [1, 1, 0],
                [0, 1, 1]], dtype=flambeau.int32)
    """
    _check_callable("and_masks", mask_mods)

    def and_mask(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
        result = b.new_ones((), dtype=flambeau.bool)
        for mask in mask_mods:
            result = result & mask(b, h, q_idx, kv_idx)
        return result

    return and_mask


def indices(start: int, stop: int, device: Any) -> Tensor:
    """Indices of a range, in the dtype that functions of indices get."""
    return flambeau.arange(start, stop, dtype=flambeau.int32, device=device)


def _takes_scores(mod: Callable[..., Tensor]) -> bool:
    """Whether it is called with a score: five parameters without a default, not four."""
    parameters = inspect.signature(mod).parameters.values()
    required = sum(p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD for p in parameters)
    if required not in (4, 5):
        raise RuntimeError(
            f"create_mask(): {getattr(mod, '__name__', mod)} takes {required} arguments; a "
            "mask takes (batch, head, query, key), a score_mod a score before them"
        )
    return required == 5


def create_mask(
    mod_fn: Callable[..., Tensor],
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = None,
) -> Tensor:
    """The mask that a function of indices stands for, all of it.

    Args:
        mod_fn: A function of (batch, head, query, key), or one that takes a score before them; then
            keys take part whose score does not become minus infinity.
        B: Samples; 1 for None.
        H: Heads; 1 for None.
        Q_LEN: Queries.
        KV_LEN: Keys.
        device: Where the mask lies.

    Returns:
        A bool tensor of shape ``(B, H, Q_LEN, KV_LEN)``.

    Raises:
        RuntimeError: The function takes neither four nor five arguments.

    Example:
        >>> import flambeau
        >>> create_mask(lambda b, h, q, kv: q >= kv, None, None, 2, 2)[0, 0]
        tensor([[ True, False],
                [ True,  True]])
    """
    sizes = (1 if B is None else B, 1 if H is None else H, Q_LEN, KV_LEN)
    places = [indices(0, size, device) for size in sizes]
    if _takes_scores(mod_fn):
        scores = over_indices(mod_fn, True)(flambeau.zeros(sizes, device=device), *places)
        return ~flambeau.isneginf(scores)
    return over_indices(mod_fn, False)(*places).bool()
