"""Sample arguments of the definitions of recurrent layers; see ``by_key.py``."""
from __future__ import annotations

_GATES = {"lstm": 4, "gru": 3, "tanh": 1, "relu": 1}


def _layers(m):
    """Tensors, packed sizes, mode and direction."""
    for mode, gates in _GATES.items():
        for projection in (0, 2) if mode == "lstm" else (0,):
            for sizes in (None, [3, 2, 2, 1]):
                x = m.array(4, 3, 2) if sizes is None else m.array(8, 2)
                state = projection or 5
                yield (x, m.array(3, state), m.array(3, 5) if mode == "lstm" else None,
                       m.array(5 * gates, 2), m.array(5 * gates, state), m.array(5 * gates),
                       m.array(5 * gates), m.array(2, 5) if projection else None, sizes, mode,
                       sizes is not None)


def _recurrent(m):
    for layer in _layers(m):
        yield *layer, True
        x, h, c, w_ih, w_hh, _, _, *rest = layer
        yield x, h, c, w_ih, w_hh, None, None, *rest, False


def _recurrent_grad(m):
    """Gradients from the outputs that belong to the inputs."""
    if m.dtype not in ("float32", "float64"):
        return
    from flambeau.testing.reference import KERNELS

    for x, h, c, w_ih, w_hh, b_ih, b_hh, w_hr, sizes, mode, reverse in _layers(m):
        found = KERNELS["recurrent"](x, h, c, w_ih, w_hh, b_ih, b_hh, w_hr, sizes, mode, reverse,
                                     True)
        result, last, cell, gates, cells = [t.astype(m.dtype) for t in found]
        rest = x, h, c, w_ih, w_hh, w_hr, sizes, mode, reverse, result, gates, cells
        grad_cell = m.array(*cell.shape) if mode == "lstm" else None
        yield m.array(*result.shape), m.array(*last.shape), grad_cell, *rest, 7
        yield m.array(*result.shape), None, None, *rest, 0


#: Definitions that only take real floating tensors.
FLOATING = {"recurrent", "recurrent_grad"}

RECURRENT = {"recurrent": _recurrent, "recurrent_grad": _recurrent_grad}
