"""Function transforms: derivatives and batches of functions, composable with each other.

``grad``, ``vjp``, ``jacrev`` differentiate in reverse mode, ``jvp``, ``jacfwd``, ``linearize`` in
forward mode, ``hessian`` in both; ``vmap`` runs a function of one sample on a batch;
``functional_call`` makes a module a function of its parameters.
"""
from flambeau.autograd.transforms.modules import (
    functional_call,
    replace_all_batch_norm_modules_,
    stack_module_state,
)
from flambeau.autograd.transforms.reverse import (
    grad,
    grad_and_value,
    jacrev,
    value_and_grad,
    vjp,
)
from flambeau.autograd.transforms.tangents import hessian, jacfwd, jvp, linearize
from flambeau.autograd.transforms.vectorize import chunk_vmap, vmap

__all__ = ["chunk_vmap", "functional_call", "grad", "grad_and_value", "hessian", "jacfwd",
           "jacrev", "jvp", "linearize", "replace_all_batch_norm_modules_", "stack_module_state",
           "value_and_grad", "vjp", "vmap"]
