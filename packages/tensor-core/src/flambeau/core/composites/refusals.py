"""Results that have a history, so that nobody takes them for constants, but no derivative."""

__all__ = ["refusing"]


def refusing(name, results, *inputs):
    """Let a function's results refuse to be differentiated where its inputs have a history.

    Args:
        name: the function.
        results: a tensor or a tuple of tensors; those of integers stay as they are.
        inputs: its tensors; None is allowed among them.

    Returns:
        The results.
    """
    with_history = [x for x in inputs if x is not None and x.requires_grad]
    if not with_history:
        return results
    if isinstance(results, tuple):
        return tuple([with_history[0]._refuse_derivative(r, name, with_history) for r in results])
    return with_history[0]._refuse_derivative(results, name, with_history)
