"""Every operator by name, the internal ones included: ``ops.mul``, ``ops.softmax_grad``."""
from __future__ import annotations

from collections import namedtuple

from flambeau.core import _core

globals().update(_core.operators())


#: Rows whose outputs PyTorch returns as a plain tuple.
_UNNAMED = ("std_mean", "var_mean")


def _lines(outputs) -> str:
    """Several outputs as PyTorch prints them, one below the other."""
    shown = ",\n".join(f"{name}={x!r}" for name, x in zip(outputs._fields, outputs, strict=True))
    return f"flambeau.return_types.{type(outputs).__name__}(\n{shown})"


def name_outputs() -> None:
    """Let rows with several outputs return named tuples (``values, indices``)."""
    classes = {}
    for key, name, outputs in _core.pending_outputs():
        if name in _UNNAMED:
            continue
        kind = namedtuple(name, outputs, module="flambeau.core.ops")  # type: ignore[misc]
        kind.__repr__ = _lines  # type: ignore[method-assign]
        globals()[f"{name}_outputs"] = kind
        classes[key] = kind
    _core._name_outputs(classes)
