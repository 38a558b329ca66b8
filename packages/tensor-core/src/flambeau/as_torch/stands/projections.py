"""Parts of attention that programs with a copy of it take from `torch.nn.functional`."""
from __future__ import annotations

import warnings
from typing import Any

import flambeau
from flambeau import rooms


def _linear(x: Any, weight: Any, bias: Any) -> Any:
    return rooms.enter("nn").functional.linear(x, weight, bias)


def _in_projection_packed(q: Any, k: Any, v: Any, w: Any, b: Any = None) -> list[Any]:
    """Queries, keys and values times the three parts of one weight.

    Args:
        q: Queries, of E features.
        k: Keys, of E features.
        v: Values, of E features.
        w: The weight, of shape ``(3 * E, E)``.
        b: The bias, of shape ``(3 * E,)``.
    """
    biases = (None,) * 3 if b is None else b.chunk(3)
    if q is k is v:
        return list(_linear(q, w, b).chunk(3, -1))
    return [_linear(*each) for each in zip((q, k, v), w.chunk(3), biases, strict=True)]


def _in_projection(q: Any, k: Any, v: Any, w_q: Any, w_k: Any, w_v: Any, b_q: Any = None,
                   b_k: Any = None, b_v: Any = None) -> tuple[Any, Any, Any]:
    """Queries, keys and values, each times its weight.

    Args:
        q: Queries.
        k: Keys.
        v: Values.
        w_q: The queries' weight.
        w_k: The keys' weight.
        w_v: The values' weight.
        b_q: The queries' bias.
        b_k: The keys' bias.
        b_v: The values' bias.
    """
    return _linear(q, w_q, b_q), _linear(k, w_k, b_k), _linear(v, w_v, b_v)


def _none_or_dtype(input: Any) -> Any:
    """The dtype of a tensor, None for None.

    Raises:
        RuntimeError: It is another thing.
    """
    if input is None:
        return None
    if isinstance(input, flambeau.Tensor):
        return input.dtype
    raise RuntimeError("input to _none_or_dtype() must be None or torch.Tensor")


def _canonical_mask(mask: Any, mask_name: str, other_type: Any, other_name: str, target_type: Any,
                    check_other: bool = True) -> Any:
    """A mask as numbers that are added to scores: 0, or minus infinity.

    Args:
        mask: Bools, which elements to leave out, or numbers; None for none.
        mask_name: Its name, for messages.
        other_type: The dtype of another mask, or None.
        other_name: The other mask's name.
        target_type: The dtype of the result.
        check_other: Warn where the two masks are of two dtypes.

    Raises:
        AssertionError: The mask is of integers.
    """
    if mask is None:
        return None
    if mask.dtype is not flambeau.bool and not mask.is_floating_point():
        raise AssertionError(f"only bool and floating types of {mask_name} are supported")
    if check_other and other_type is not None and mask.dtype is not other_type:
        warnings.warn(f"Support for mismatched {mask_name} and {other_name} is deprecated. Use "
                      "same type for both instead.", stacklevel=2)
    if mask.dtype is not flambeau.bool:
        return mask
    zeros = flambeau.zeros_like(mask, dtype=target_type)
    return zeros.masked_fill(mask, float("-inf"))


def _get_softmax_dim(name: str, ndim: int, stacklevel: int) -> int:
    """The dimension that softmax takes where none was given."""
    warnings.warn(f"Implicit dimension choice for {name} has been deprecated. Change the call to "
                  "include dim=X as an argument.", stacklevel=stacklevel)
    return 0 if ndim in (0, 1, 3) else 1


def _verify_batch_size(size: Any) -> None:
    """Check that a batch has more than one value for each channel.

    Raises:
        ValueError: It has not.
    """
    count = size[0]
    for n in size[2:]:
        count *= n
    if count == 1:
        raise ValueError("Expected more than 1 value per channel when training, got input size "
                         f"{size}")
