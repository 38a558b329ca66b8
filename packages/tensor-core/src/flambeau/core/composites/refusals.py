"""Results that have a history, so that nobody takes them for constants, but no derivative."""
from flambeau.core import _core

__all__ = ["has_tangent", "refusing"]


def has_tangent(x):
    """Whether forward mode is differentiating by a tensor, at whatever level."""
    while _core.level_of(x):
        facts = x.__dict__
        if facts.get("_tangent") is not None:
            return True
        x = facts["_inner"]
    return False


def refusing(name, results, *inputs):
    """Let a function's results refuse to be differentiated where its inputs have a history.

    Args:
        name: the function.
        results: a tensor or a tuple of tensors; those of integers stay as they are.
        inputs: its tensors; None is allowed among them.

    Returns:
        The results.

    Raises:
        NotImplementedError: an input has a tangent.
    """
    if any(has_tangent(x) for x in inputs if x is not None):
        raise NotImplementedError(
            f"{name}(): Trying to use forward AD with {name} that does not support it: if its "
            "result is to count as a constant, give it x.detach()")
    with_history = [x for x in inputs if x is not None and x.requires_grad]
    if not with_history:
        return results
    if isinstance(results, tuple):
        return tuple([with_history[0]._refuse_derivative(r, name, with_history) for r in results])
    return with_history[0]._refuse_derivative(results, name, with_history)
