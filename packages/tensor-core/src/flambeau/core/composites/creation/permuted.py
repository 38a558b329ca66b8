"""Memory whose dimensions lie in another order than they are counted."""
from flambeau.core.composites.creation.creation import empty_strided


def empty_permuted(size, physical_layout, *, dtype=None, layout=None, device=None,
                   requires_grad=False, pin_memory=False):
    """Uninitialized memory without gaps, whose dimensions lie in a given order.

    Args:
        size: Sizes of the dimensions.
        physical_layout: The dimensions from the outermost in memory to the innermost.
        dtype: Element type; the default floating dtype when left out.
        layout: ``flambeau.strided``; others are refused.
        device: Where to put it; the default device when left out.
        requires_grad: Whether operations on it are recorded.
        pin_memory: Accepted for compatibility.

    Raises:
        RuntimeError: ``physical_layout`` does not name each dimension once, from 0.

    Example:
        >>> import flambeau
        >>> flambeau.empty_permuted((2, 3, 5), (1, 0, 2)).stride()
        (5, 10, 1)
    """
    order = list(physical_layout)
    if sorted(order) != list(range(len(size))):
        raise RuntimeError(f"empty_permuted(): physical_layout must name each of the dimensions 0 "
                           f"to {len(size) - 1} once, got {order} for size {list(size)}")
    strides, step = [1] * len(order), 1
    for dim in reversed(order):
        strides[dim] = step
        step *= max(size[dim], 1)
    return empty_strided(size, strides, dtype=dtype, device=device, requires_grad=requires_grad,
                         layout=layout, pin_memory=pin_memory)
