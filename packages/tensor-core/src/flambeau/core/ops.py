"""Every operator by name, the internal ones included: ``ops.mul``, ``ops.softmax_grad``."""
from __future__ import annotations

from flambeau.core import _core
from flambeau.core.named_outputs import NamedOutputs, named_outputs

globals().update(_core.operators())


#: Types of outputs by the name of their operator.
OUTPUT_TYPES: dict[str, type[NamedOutputs]] = {}


def name_outputs() -> None:
    """Let definitions with several outputs return tuples with names (``values, indices``)."""
    classes = {}
    for key, name, outputs in _core.pending_outputs():
        if name not in OUTPUT_TYPES:
            OUTPUT_TYPES[name] = named_outputs(name, tuple(outputs.split(",")))
        classes[key] = OUTPUT_TYPES[name]
    _core._name_outputs(classes)
