"""What our own kernels leave to the host: errors that depend on values."""
from __future__ import annotations

from flambeau.core import _core


def ldl_factor(args, outs) -> None:
    """``linalg_ldl_factor_ex`` with ``check_errors``; waits for the device."""
    matrix, hermitian, _ = args
    _core.call("linalg_ldl_factor_ex", [matrix, hermitian, False], outs)
    failed = [(at, pivot) for at, pivot in enumerate(outs[2].reshape(-1).tolist()) if pivot > 0]
    if failed:
        at, pivot = failed[0]
        which = f"(Batch element {at}): " if matrix.ndim > 2 else ""
        raise _core.LinAlgError(
            f"linalg.ldl_factor: {which}The diagonal element {pivot} of D is zero, and solving "
            "with it would divide by it; add a multiple of the identity to the matrix, or use "
            "linalg.lstsq")
