"""Parameters whose gradients are set by hand, so that these tests need no autograd."""

import flambeau


class Leaf(flambeau.Tensor):
    """A tensor whose ``grad`` is an attribute like any other."""

    grad = None
    requires_grad = False
    is_leaf = True


def leaf(values, grad=None, dtype=None):
    """A parameter with these values and this gradient."""
    tensor = values
    if not isinstance(values, flambeau.Tensor):
        tensor = flambeau.tensor(values, dtype=dtype or flambeau.float32)
    made = flambeau.Tensor._make_subclass(Leaf, tensor)
    if grad is not None:
        made.grad = flambeau.tensor(grad, dtype=tensor.dtype)
    return made
