"""Function transforms: tensors of transform levels, and what operators do with them.

stack        the levels that a thread is inside
level        what batches and duals have in common: calls, writes, the tape of a level
batch        levels of vmap: tensors that stand for a batch
batching/    what each operator does with a batch
dual         levels of forward mode: tensors with a tangent
forward/     what each operator does with tangents
vectorize    ``vmap``
reverse      ``grad``, ``vjp``, Jacobians
tangents     ``jvp``, ``jacfwd``, ``linearize``
functions    what is asked of the function that is transformed
modules      ``functional_call``, ``stack_module_state``
"""
