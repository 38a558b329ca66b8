"""What all transforms ask of the function that they are given."""
from __future__ import annotations

from flambeau.core import Tensor, ops
from flambeau.core.pytree import tree_flatten

__all__ = ["basis", "check_aux", "check_outputs", "check_real", "chosen_argnums", "expect_function"]


def expect_function(func, what: str) -> None:
    """Refuse what cannot be called when the transform is made, not when it is used.

    Args:
        func: what was given for the function.
        what: the transform, for the error.

    Raises:
        TypeError: it is not callable.
    """
    if not callable(func):
        raise TypeError(f"{what}(): argument 'func' must be a function, not "
                        f"{type(func).__name__}; write func.{what}(lambda x: ...)")


def check_outputs(flat, what: str) -> None:
    """Refuse outputs that are no tensors, and to have none.

    Args:
        flat: the leaves of what the function returned.
        what: the transform, for the error.

    Raises:
        RuntimeError: the outputs cannot be differentiated.
    """
    if not flat:
        raise RuntimeError(f"{what}: Expected the function to have a non-empty output, got an "
                           "empty structure: return the tensors to differentiate")
    for value in flat:
        if not isinstance(value, Tensor):
            raise RuntimeError(f"{what}: Expected the function to return a Tensor or a structure "
                               f"of Tensors, got {type(value).__name__}; return other values "
                               "with has_aux=True as tensors, or keep them aside")


def check_aux(aux, what: str) -> None:
    """Refuse an ``aux`` that holds something else than tensors: it would keep what it was inside
    the transform.

    Args:
        aux: the second result of a function with ``has_aux=True``.
        what: the transform, for the error.

    Raises:
        RuntimeError: a leaf of it is no tensor.
    """
    for value in tree_flatten(aux)[0]:
        if not isinstance(value, Tensor):
            raise RuntimeError(f"{what}: Expected tensors in aux, the second result of a function "
                               f"with has_aux=True, got {type(value).__name__}: write "
                               "flambeau.tensor(value), or keep the value in a variable outside")


def check_real(tensors, what: str, which: str) -> None:
    """Refuse complex tensors where a Jacobian of real numbers is computed.

    Args:
        tensors: inputs or outputs.
        what: the transform, for the error.
        which: ``"inputs"`` or ``"outputs"``.

    Raises:
        RuntimeError: one is complex.
    """
    for index, value in enumerate(tensors):
        if value.is_complex():
            raise RuntimeError(
                f"{what}: Expected all {which} to be real, but number {index} is {value.dtype}: "
                "differentiate by flambeau.view_as_real(z), and return that of complex results")


def chosen_argnums(argnums, count: int, what: str) -> list[int]:
    """The positions of the arguments to differentiate by, counted from the first."""
    if isinstance(argnums, bool) or not isinstance(argnums, (int, tuple)):
        raise RuntimeError(f"{what}: argnums must be int or Tuple[int, ...], got: {argnums!r}; "
                           "write argnums=(0, 1) for two arguments")
    if argnums == ():
        raise RuntimeError(f"{what}: argnums must be non-empty: it says by which arguments to "
                           "differentiate")
    chosen = [_argnum(n, count, what)
              for n in (argnums if isinstance(argnums, tuple) else (argnums,))]
    if len(set(chosen)) < len(chosen):
        raise RuntimeError(f"{what}: argnums elements must be unique, got {argnums} of {count} "
                           "arguments: name each argument once")
    return chosen


def _argnum(n, count, what) -> int:
    if not isinstance(n, int) or isinstance(n, bool):
        raise RuntimeError(f"{what}: argnum must be int, got: {n!r}, an element of argnums")
    if not -count <= n < count:
        raise RuntimeError(f"{what}: Got argnum={n}, but only {count} positional inputs: the "
                           "arguments to differentiate by are given by position")
    return n % count


def basis(flat) -> list[Tensor]:
    """For each tensor the unit tensors of all of them together, stacked: one 1 in each row."""
    count, start, whole = sum([t.numel() for t in flat]), 0, []
    for t in flat:
        rows = ops.eye_of(count, t.numel(), dtype=t.dtype, device=t.device) if start == 0 else \
            ops.cat([ops.full_of((start, t.numel()), 0, dtype=t.dtype, device=t.device),
                     ops.eye_of(count - start, t.numel(), dtype=t.dtype, device=t.device)], 0)
        whole.append(rows.reshape(count, *t.shape))
        start += t.numel()
    return whole
