"""``backward`` and ``grad`` for several tensors at once; with derivatives.py: PyTorch's module."""
from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from flambeau.autograd._edge import GradientEdge
from flambeau.autograd._engine import refuse_inside, run_backward, run_grad, tensor_at
from flambeau.core import Tensor, _core, ops

if TYPE_CHECKING:       # imported by __getattr__ below, when they are first used
    from flambeau.autograd.derivatives import hessian as hessian
    from flambeau.autograd.derivatives import hvp as hvp
    from flambeau.autograd.derivatives import jacobian as jacobian
    from flambeau.autograd.derivatives import jvp as jvp
    from flambeau.autograd.derivatives import vhp as vhp
    from flambeau.autograd.derivatives import vjp as vjp

__all__ = ["backward", "grad"]


_GraphNode: TypeAlias = Tensor | GradientEdge    # a tensor, or a node of the graph


def backward(tensors: _GraphNode | Sequence[_GraphNode],
             grad_tensors: Tensor | Sequence[Tensor | None] | None = None,
             retain_graph: bool | None = None, create_graph: bool = False,
             grad_variables: Sequence[Tensor | None] | None = None,
             inputs: _GraphNode | Sequence[_GraphNode] | None = None) -> None:
    """Compute gradients of tensors and add them to the ``grad`` of the leaves they depend on.

    Args:
        tensors: what to differentiate; also edges of the graph, with their gradients.
        grad_tensors: gradients of the tensors; None for scalars.
        retain_graph: keep what was saved, to go through the graph again.
        create_graph: record the backward pass, to differentiate it too.
        grad_variables: the old name of ``grad_tensors``.
        inputs: add gradients to these only.

    Raises:
        RuntimeError: a tensor needs no gradient or is no scalar, or the graph was freed.

    Example:
        >>> import flambeau
        >>> x = flambeau.tensor(3.0, requires_grad=True)
        >>> flambeau.autograd.backward([x * 2, x * 5])
        >>> x.grad
        tensor(7.)
    """
    if grad_variables is not None:
        warnings.warn("grad_variables is deprecated. Use grad_tensors instead.",
                      FutureWarning, stacklevel=2)
        grad_tensors = grad_variables if grad_tensors is None else grad_tensors
    refuse_inside("backward()", "Use flambeau.func.grad or vjp, or autograd.grad")
    keep = create_graph if retain_graph is None else retain_graph
    roots, grads = _roots(_listed(tensors), _listed(grad_tensors), "backward()")
    run_backward(roots, grads, keep, create_graph, inputs)


def grad(outputs: _GraphNode | Sequence[_GraphNode],
         inputs: _GraphNode | Sequence[_GraphNode] | dict[Any, _GraphNode],
         grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
         retain_graph: bool | None = None, create_graph: bool = False, only_inputs: bool = True,
         allow_unused: bool | None = None, is_grads_batched: bool = False,
         materialize_grads: bool = False) -> Any:
    """Gradients of outputs with respect to inputs, without touching any ``grad``.

    Args:
        outputs: what to differentiate; also edges of the graph, with their gradients.
        inputs: by what; also edges of the graph (``graph.get_gradient_edge``), and a dict, which
            gives a dict.
        grad_outputs: gradients of the outputs; None for scalars.
        retain_graph: keep what was saved, to go through the graph again.
        create_graph: record the backward pass, to differentiate it too.
        only_inputs: always True.
        allow_unused: give None for inputs that the outputs do not depend on, instead of raising.
        is_grads_batched: the first dimension of ``grad_outputs`` runs over several gradients.
        materialize_grads: give zeros for them, which require grad with ``create_graph``.

    Returns:
        One gradient per input.

    Raises:
        RuntimeError: an input is not used, or as for :func:`backward`.

    Example:
        >>> import flambeau
        >>> x = flambeau.tensor(3.0, requires_grad=True)
        >>> flambeau.autograd.grad(x ** 2, x)
        (tensor(6.),)
    """
    if materialize_grads and allow_unused is False:
        raise ValueError("grad(): materialize_grads=True gives zeros for unused inputs, and "
                         "allow_unused=False refuses them; leave allow_unused out")
    if type(inputs) is dict:
        found = grad(outputs, list(inputs.values()), grad_outputs, retain_graph, create_graph,
                     only_inputs, allow_unused, is_grads_batched, materialize_grads)
        return dict(zip(inputs, found, strict=True))
    outputs, inputs = _listed(outputs), _listed(inputs)
    if not inputs:
        raise ValueError("grad requires non-empty inputs: name the tensors to differentiate by")
    keep = create_graph if retain_graph is None else retain_graph
    outputs, weights = _roots(outputs, _listed(grad_outputs), "grad()")
    run: Any = _batched if is_grads_batched else run_grad
    grads = run(outputs, weights, inputs, keep, create_graph)
    zeros = _Zeros(create_graph) if materialize_grads else None
    return tuple([_checked(g, x, i, allow_unused, zeros)
                  for i, (g, x) in enumerate(zip(grads, inputs, strict=True))])


def _listed(value: Any) -> Any:
    single = isinstance(value, (Tensor, GradientEdge))
    return None if value is None else [value] if single else list(value)


def _roots(outputs, grads, function):
    """Edges among the outputs as tensors of their gradients' shapes."""
    if not any(isinstance(y, GradientEdge) for y in outputs):
        return outputs, grads
    grads = [None] * len(outputs) if grads is None else grads
    return [_root(y, g, function) if isinstance(y, GradientEdge) else y
            for y, g in zip(outputs, grads, strict=True)], grads


def _root(edge, grad, function):
    if grad is None:
        raise RuntimeError(f"{function}: a GradientEdge to differentiate has no shape, so its "
                           "gradient must be given")
    return tensor_at(edge, grad)


class _Zeros:
    """Gradients of inputs that are not used; ones to differentiate again require grad."""

    def __init__(self, requires_grad: bool) -> None:
        self.requires_grad = requires_grad

    def __call__(self, x, index):
        if isinstance(x, GradientEdge):
            raise RuntimeError(
                f"grad(): element {index} of inputs is a GradientEdge that is not used, and has "
                "no shape to make zeros of: leave materialize_grads out")
        zeros = ops.full_of(x.shape, 0, dtype=x.dtype, device=x.device)
        return _core.requiring(zeros, self.requires_grad)


def _checked(g, x, index, allow_unused, zeros):
    """The gradient; zeros, None or an error for an input that is not used."""
    if g is None and zeros is not None:
        return zeros(x, index)
    if g is None and not allow_unused:
        raise RuntimeError(
            "One of the differentiated Tensors appears to not have been used in the graph: element "
            f"{index} of inputs{_told_shape(x)}. Set allow_unused=True if this is the "
            "desired behavior (its gradient is None then, or zeros with materialize_grads=True)")
    return g


def _told_shape(x):
    return "" if isinstance(x, GradientEdge) else f", of shape {list(x.shape)}"


def _batched(outputs, weights, inputs, keep, create_graph):
    """One pass with all gradients at once, and each input's gradients stacked."""
    from flambeau.autograd.transforms.vectorize import vmap

    used: list[bool] = []

    def one(*rows):
        filled = iter(rows)
        seeds = [None if w is None else next(filled) for w in weights]
        grads = run_grad(outputs, seeds, inputs, keep, create_graph)
        used[:] = [g is not None for g in grads]
        return tuple([g for g in grads if g is not None])

    rows = iter(vmap(one, randomness="same")(*[w for w in weights if w is not None]))
    return [next(rows) if there else None for there in used]


def __getattr__(name: str) -> Any:
    """Jacobians and products with them; imported when they are first used."""
    from flambeau.autograd import derivatives

    if name in derivatives.__all__:
        return getattr(derivatives, name)
    raise AttributeError(f"module 'flambeau.autograd.functional' has no attribute {name!r}")
