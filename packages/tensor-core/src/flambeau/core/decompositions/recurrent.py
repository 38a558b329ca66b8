"""Recurrent layers as a sequence of steps, and back."""
from __future__ import annotations

from flambeau.core import ops
from flambeau.core.decompositions.shared import filled, wide


def _rows(x, batch_sizes):
    """Rows of all steps one behind the other, and how many sequences each step has."""
    sizes = batch_sizes if batch_sizes is not None else [x.shape[1]] * x.shape[0]
    return x.reshape(-1, x.shape[-1]), list(map(int, sizes))


def _steps(sizes, reverse):
    """(first row, sequences) of each step in the layer's order."""
    steps, start = [], 0
    for n in sizes:
        steps.append((start, n))
        start += n
    return steps[::-1] if reverse else steps


def _parts(x, count):
    return x.chunk(count, -1)


def _step(mode, a, b, h, c):
    """The new states from both parts of the sums, and what the gradient needs."""
    if mode == "lstm":
        i, f, g, o = _parts(a + b, 4)
        i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
        c = f * c + i * g
        return o * c.tanh(), c, ops.cat([i, f, g, o], -1)
    if mode == "gru":
        (ar, az, an), (br, bz, bn) = _parts(a, 3), _parts(b, 3)
        r, z = (ar + br).sigmoid(), (az + bz).sigmoid()
        n = (an + r * bn).tanh()
        return (1 - z) * n + z * h, c, ops.cat([r, z, n, bn], -1)
    h = (a + b).tanh() if mode == "tanh" else (a + b).relu()
    return h, c, None


def _sum(x, weight, bias):
    product = x @ weight.t()
    return product if bias is None else product + bias


def _with_rest(new, old):
    """States of the sequences that a step has, before those that it has not."""
    return new if new.shape[0] == old.shape[0] else ops.cat([new, old[new.shape[0]:]], 0)


def recurrent(x, hx, cx, w_ih, w_hh, b_ih, b_hh, w_hr, batch_sizes, mode, reverse, keep):
    x, h, c, w_ih, w_hh, b_ih, b_hh, w_hr = map(wide, (x, hx, cx, w_ih, w_hh, b_ih, b_hh, w_hr))
    rows, sizes = _rows(x, batch_sizes)
    units = h.shape[1] if w_hr is None else w_hr.shape[1]
    c = filled((0, units), 0, x) if c is None else c
    result = filled((rows.shape[0], h.shape[1]), 0, x)
    gates = filled((rows.shape[0] if keep and mode in ("lstm", "gru") else 0,
                    units * (4 if mode in ("lstm", "gru") else 1)), 0, x)
    cells = filled((rows.shape[0] if keep and mode == "lstm" else 0, units), 0, x)
    for start, n in _steps(sizes, reverse):
        a, b = _sum(rows[start:start + n], w_ih, b_ih), _sum(h[:n], w_hh, b_hh)
        new, new_c, kept = _step(mode, a, b, h[:n], c[:n])
        new = new if w_hr is None else new @ w_hr.t()
        ops.copy_(result[start:start + n], new)
        h = _with_rest(new, h)
        if mode == "lstm":
            c = _with_rest(new_c, c)
        if cells.shape[0]:
            ops.copy_(cells[start:start + n], new_c)
        if gates.shape[0]:
            ops.copy_(gates[start:start + n], kept)
    return result.reshape(*x.shape[:-1], -1), h, c, gates, cells


def _back(mode, dh, dc, kept, c, c_before, h_before, y):
    """Slopes of the input and the hidden part of the sums, and what goes straight to the states."""
    if mode == "lstm":
        i, f, g, o = _parts(kept, 4)
        t = c.tanh()
        dc = dc + dh * o * (1 - t * t)
        slopes = ops.cat([dc * g * i * (1 - i), dc * c_before * f * (1 - f), dc * i * (1 - g * g),
                          dh * t * o * (1 - o)], -1)
        return slopes, slopes, None, dc * f
    if mode == "gru":
        r, z, n, hn = _parts(kept, 4)
        dn = dh * (1 - z) * (1 - n * n)
        dr, dz = dn * hn * r * (1 - r), dh * (h_before - n) * z * (1 - z)
        return ops.cat([dr, dz, dn], -1), ops.cat([dr, dz, dn * r], -1), dh * z, dc
    slopes = dh * (1 - y * y) if mode == "tanh" else dh * (y > 0)
    return slopes, slopes, None, dc


def _before(first, rows, steps, index, n):
    """States of the sequences of a step before it: of the step before, or the first ones."""
    if index == 0:
        return first[:n]
    start, count = steps[index - 1]
    return ops.cat([rows[start:start + min(n, count)], first[min(n, count):n]], 0)


def recurrent_grad(grad, grad_h, grad_c, x, hx, cx, w_ih, w_hh, w_hr, batch_sizes, mode, reverse,
                   result, gates, cells, needs):
    tensors = (grad, grad_h, grad_c, x, hx, cx, w_ih, w_hh, w_hr, result, gates, cells)
    grad, dh, dc, x, hx, cx, w_ih, w_hh, w_hr, result, gates, cells = map(wide, tensors)
    rows, sizes = _rows(x, batch_sizes)
    units = hx.shape[1] if w_hr is None else w_hr.shape[1]
    dh = filled(hx.shape, 0, x) if dh is None else dh
    dc = filled((hx.shape[0] if mode == "lstm" else 0, units), 0, x) if dc is None else dc
    y = result.reshape(rows.shape[0], -1)
    slopes_of_result = filled(y.shape, 0, x) if grad is None else grad.reshape(y.shape)
    d_rows, d_ih, d_hh = (filled(t.shape, 0, x) for t in (rows, w_ih, w_hh))
    db_ih, db_hh = filled((w_ih.shape[0],), 0, x), filled((w_hh.shape[0],), 0, x)
    d_hr = filled((hx.shape[1], units), 0, x)
    steps = _steps(sizes, reverse)
    for index in range(len(steps) - 1, -1, -1):
        start, n = steps[index]
        here = slice(start, start + n)
        h_before = _before(hx, y, steps, index, n)
        c_before = _before(cx, cells, steps, index, n) if mode == "lstm" else None
        total = dh[:n] + slopes_of_result[here]
        if w_hr is not None:
            d_hr = d_hr + total.t() @ (_parts(gates[here], 4)[3] * cells[here].tanh())
            total = total @ w_hr
        a, b, direct, new_dc = _back(mode, total, dc[:n], gates[here], cells[here], c_before,
                                     h_before, y[here])
        ops.copy_(d_rows[here], a @ w_ih)
        d_ih, d_hh = d_ih + a.t() @ rows[here], d_hh + b.t() @ h_before
        db_ih, db_hh = db_ih + a.sum(0), db_hh + b.sum(0)
        new_dh = b @ w_hh
        dh = _with_rest(new_dh if direct is None else new_dh + direct, dh)
        dc = _with_rest(new_dc, dc) if mode == "lstm" else dc
    return _wanted(needs, d_rows.reshape(x.shape), dh, dc, (d_ih, d_hh), (db_ih, db_hh),
                   d_hr if w_hr is not None else d_hr[:0])


def _wanted(needs, dx, dh, dc, weights, biases, d_hr):
    """Outputs that nobody asked for are empty."""
    if not needs & 1:
        dx = dx.reshape(-1)[:0].reshape((0,) * dx.ndim)
    if not needs & 2:
        weights, d_hr = [w[:0] for w in weights], d_hr[:0]
    if not needs & 4:
        biases = [b[:0] for b in biases]
    return dx, dh, dc, *weights, *biases, d_hr
