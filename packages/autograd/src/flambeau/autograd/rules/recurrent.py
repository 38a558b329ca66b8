"""Recurrent layers: a kernel goes back through the steps; further derivatives are those of the
steps written as operators."""
from flambeau.autograd._table import rule
from flambeau.autograd.rules._compose import vjp_of
from flambeau.autograd.rules._help import is_differentiated
from flambeau.core import ops

_INPUTS = ("input", "hx", "cx", "weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr")


# ---- the layer as operators --------------------------------------------------------------------
def _lstm(x, h, c, w_ih, w_hh, b_ih, b_hh, w_hr):
    i, f, g, o = (ops.linear(x, w_ih, b_ih) + ops.linear(h, w_hh, b_hh)).chunk(4, -1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    h = o.sigmoid() * c.tanh()
    return h if w_hr is None else ops.linear(h, w_hr), c


def _gru(x, h, c, w_ih, w_hh, b_ih, b_hh, w_hr):
    xr, xz, xn = ops.linear(x, w_ih, b_ih).chunk(3, -1)
    hr, hz, hn = ops.linear(h, w_hh, b_hh).chunk(3, -1)
    n = (xn + (xr + hr).sigmoid() * hn).tanh()
    return n + (xz + hz).sigmoid() * (h - n), None


def _tanh(x, h, c, w_ih, w_hh, b_ih, b_hh, w_hr):
    return (ops.linear(x, w_ih, b_ih) + ops.linear(h, w_hh, b_hh)).tanh(), None


def _relu(x, h, c, w_ih, w_hh, b_ih, b_hh, w_hr):
    return (ops.linear(x, w_ih, b_ih) + ops.linear(h, w_hh, b_hh)).relu(), None


_STEPS = {"lstm": _lstm, "gru": _gru, "tanh": _tanh, "relu": _relu}


def _first(state, count):
    return state if state is None or count == state.shape[0] else state.narrow(0, 0, count)


def _joined(new, old):
    """The state of the sequences that took part, and of the others."""
    if old is None or new.shape[0] == old.shape[0]:
        return new
    return ops.cat([new, old.narrow(0, new.shape[0], old.shape[0] - new.shape[0])], 0)


def _layer(batch_sizes, mode, reverse):
    """What ``recurrent`` computes, as operators of its tensors: result, hidden and cell state."""
    def layer(input, h, c, *weights):
        steps = input.unbind(0) if batch_sizes is None else input.split(list(batch_sizes), 0)
        results = []
        for x in (reversed(steps) if reverse else steps):
            count = x.shape[0]
            new_h, new_c = _STEPS[mode](x, _first(h, count), _first(c, count), *weights)
            results.append(new_h)
            h, c = _joined(new_h, h), _joined(new_c, c)
        if reverse:
            results.reverse()
        whole = ops.stack(results, 0) if batch_sizes is None else ops.cat(results, 0)
        return whole, h, c
    return layer


# ---- the rules ---------------------------------------------------------------------------------
def _code(needs):
    """What recurrent_grad is to compute: input, weights, biases."""
    weights = needs[3] or needs[4] or needs[7]
    return bool(needs[0]) + 2 * bool(weights) + 4 * bool(needs[5] or needs[6])


def _recurrent(grads, input, hx, cx, weight_ih, weight_hh, bias_ih, bias_hh, weight_hr, batch_sizes,
               mode, reverse, keep, result, result3, result4, needs):
    tensors = (input, hx, cx, weight_ih, weight_hh, bias_ih, bias_hh, weight_hr)
    g, g_hidden, g_cell = grads[:3] if mode == "lstm" else (*grads[:2], None)
    if is_differentiated():
        return vjp_of(lambda *args: _outputs(_layer(batch_sizes, mode, reverse)(*args)), tensors,
                      (g, g_hidden, g_cell), needs)
    if not keep:
        result, _, _, result3, result4 = ops.recurrent(*tensors, batch_sizes, mode, reverse)
    found = ops.recurrent_grad(g, g_hidden, g_cell, input, hx, cx, weight_ih, weight_hh, weight_hr,
                               batch_sizes, mode, reverse, result, result3, result4, _code(needs))
    return tuple([g if need else None for g, need in zip(found, needs, strict=True)])


def _outputs(values):
    """Three outputs; a cell state that is not there has no gradient."""
    whole, h, c = values
    return whole, h, h if c is None else c


rule("recurrent", _INPUTS, _recurrent)


def _refuse(grads):
    raise NotImplementedError("recurrent_grad() has no derivative; differentiate recurrent() with "
                              "create_graph=True, whose gradient is made of operators then")


rule("recurrent_grad", ("grad", "grad_hidden", "grad_cell", "input", "hx", "cx", "weight_ih",
                        "weight_hh", "weight_hr"), _refuse)
