"""All parameters of a network as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable

import flambeau
from flambeau import Tensor


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """Concatenate parameters, flattened, into one vector.

    Args:
        parameters: At least one parameter.

    Raises:
        ValueError: There is none.

    Example:
        >>> import flambeau
        >>> parameters_to_vector([flambeau.ones(1, 2), flambeau.zeros(1)])
        tensor([1., 1., 0.])
    """
    parts = [parameter.reshape(-1) for parameter in parameters]
    if not parts:
        raise ValueError("parameters_to_vector() needs at least one parameter")
    return flambeau.cat(parts)


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Make parameters views of the pieces of a vector: the opposite of ``parameters_to_vector``.

    What is written to the vector later changes the parameters, and they have its dtype.

    Args:
        vec: As many elements as the parameters have together.
        parameters: What is given other memory.

    Raises:
        TypeError: ``vec`` is not a tensor.
        ValueError: The number of elements differs.

    Example:
        >>> import flambeau
        >>> weight = flambeau.zeros(1, 2)
        >>> vector_to_parameters(flambeau.tensor([1.0, 2.0]), [weight])
        >>> weight
        tensor([[1., 2.]])
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"vector_to_parameters() takes a Tensor, not {type(vec).__name__}")
    listed = list(parameters)
    wanted = sum(parameter.numel() for parameter in listed)
    if vec.numel() != wanted:
        raise ValueError(
            f"the vector has {vec.numel()} elements, the parameters have {wanted} together"
        )
    start = 0
    for parameter in listed:
        stop = start + parameter.numel()
        parameter.data = vec[start:stop].view_as(parameter).data
        start = stop
