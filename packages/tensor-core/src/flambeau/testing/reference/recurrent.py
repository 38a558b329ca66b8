"""Recurrent layers, with NumPy: a sequence of steps as in the textbook, and back."""
from __future__ import annotations

import numpy as np

from flambeau.testing.reference.kernels import kernel


def _wide(x):
    return None if x is None else x.astype(np.float64)


def _sigmoid(x):
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-x))


def _rows(x, batch_sizes):
    """Rows of all steps one behind the other, and how many sequences each step has."""
    sizes = batch_sizes if batch_sizes is not None else [x.shape[1]] * x.shape[0]
    return x.reshape(-1, x.shape[-1]), list(map(int, sizes))


def _steps(sizes, reverse):
    """(first row, sequences) of each step in the layer's order."""
    starts = np.cumsum([0, *sizes])[:-1]
    steps = list(zip(map(int, starts), sizes, strict=True))
    return steps[::-1] if reverse else steps


def _step(mode, a, b, h, c):
    """The new states from both parts of the sums, and what the gradient needs."""
    if mode == "lstm":
        i, f, g, o = np.split(a + b, 4, -1)
        kept = _sigmoid(i), _sigmoid(f), np.tanh(g), _sigmoid(o)
        c = kept[1] * c + kept[0] * kept[2]
        return kept[3] * np.tanh(c), c, np.concatenate(kept, -1)
    if mode == "gru":
        (ar, az, an), (br, bz, bn) = np.split(a, 3, -1), np.split(b, 3, -1)
        r, z = _sigmoid(ar + br), _sigmoid(az + bz)
        n = np.tanh(an + r * bn)
        return (1 - z) * n + z * h, c, np.concatenate([r, z, n, bn], -1)
    h = np.tanh(a + b) if mode == "tanh" else np.maximum(a + b, 0)
    return h, c, h[:, :0]


@kernel("recurrent")
def recurrent(x, hx, cx, w_ih, w_hh, b_ih, b_hh, w_hr, batch_sizes, mode, reverse, keep):
    x, h, c, w_ih, w_hh, b_ih, b_hh, w_hr = map(_wide, (x, hx, cx, w_ih, w_hh, b_ih, b_hh, w_hr))
    rows, sizes = _rows(x, batch_sizes)
    units = h.shape[1] if w_hr is None else w_hr.shape[1]
    c = np.zeros((0, units)) if c is None else c
    parts = {"lstm": 4, "gru": 4}.get(mode, 1)
    result, gates = np.zeros((len(rows), h.shape[1])), np.zeros((len(rows), parts * units))
    cells = np.zeros((len(rows), units))
    for start, n in _steps(sizes, reverse):
        a = rows[start:start + n] @ w_ih.T + (0 if b_ih is None else b_ih)
        b = h[:n] @ w_hh.T + (0 if b_hh is None else b_hh)
        new, new_c, kept = _step(mode, a, b, h[:n], c[:n])
        new = new if w_hr is None else new @ w_hr.T
        result[start:start + n] = new
        h = np.concatenate([new, h[n:]])
        if mode == "lstm":
            c = np.concatenate([new_c, c[n:]])
            cells[start:start + n] = new_c
        if kept.shape[1]:
            gates[start:start + n] = kept
    gates = gates if keep and mode in ("lstm", "gru") else gates[:0]
    cells = cells if keep and mode == "lstm" else cells[:0]
    return result.reshape(*x.shape[:-1], -1), h, c, gates, cells


def _back(mode, dh, dc, kept, c, c_before, h_before, y):
    """Slopes of the input and the hidden part of the sums, and what goes straight to the states."""
    if mode == "lstm":
        i, f, g, o = np.split(kept, 4, -1)
        t = np.tanh(c)
        dc = dc + dh * o * (1 - t * t)
        slopes = np.concatenate([dc * g * i * (1 - i), dc * c_before * f * (1 - f),
                                 dc * i * (1 - g * g), dh * t * o * (1 - o)], -1)
        return slopes, slopes, 0, dc * f
    if mode == "gru":
        r, z, n, hn = np.split(kept, 4, -1)
        dn = dh * (1 - z) * (1 - n * n)
        dr, dz = dn * hn * r * (1 - r), dh * (h_before - n) * z * (1 - z)
        return (np.concatenate([dr, dz, dn], -1), np.concatenate([dr, dz, dn * r], -1), dh * z,
                dc)
    slopes = dh * (1 - y * y) if mode == "tanh" else dh * (y > 0)
    return slopes, slopes, 0, dc


def _before(states, first, rows, steps, index, n):
    """States of the sequences of a step before it: of the step before, or the first ones."""
    if index == 0:
        return first[:n]
    start, count = steps[index - 1]
    return np.concatenate([rows[start:start + min(n, count)], first[min(n, count):n]])


@kernel("recurrent_grad")
def recurrent_grad(grad, grad_h, grad_c, x, hx, cx, w_ih, w_hh, w_hr, batch_sizes, mode, reverse,
                   result, gates, cells, needs):
    tensors = (grad, grad_h, grad_c, x, hx, cx, w_ih, w_hh, w_hr, result, gates, cells)
    grad, dh, dc, x, hx, cx, w_ih, w_hh, w_hr, result, gates, cells = map(_wide, tensors)
    rows, sizes = _rows(x, batch_sizes)
    units = hx.shape[1] if w_hr is None else w_hr.shape[1]
    dh = np.zeros_like(hx) if dh is None else dh
    dc = np.zeros((len(hx) if mode == "lstm" else 0, units)) if dc is None else dc
    y = result.reshape(len(rows), -1)
    g = np.zeros_like(y) if grad is None else grad.reshape(y.shape)
    totals = [np.zeros_like(rows), np.zeros_like(w_ih), np.zeros_like(w_hh),
              np.zeros(len(w_ih)), np.zeros(len(w_hh)), np.zeros((hx.shape[1], units))]
    steps = _steps(sizes, reverse)
    for index in range(len(steps) - 1, -1, -1):
        start, n = steps[index]
        at = slice(start, start + n)
        h_before = _before(y, hx, y, steps, index, n)
        c_before = _before(cells, cx, cells, steps, index, n) if mode == "lstm" else None
        total = dh[:n] + g[at]
        if w_hr is not None:
            o = np.split(gates[at], 4, -1)[3]
            totals[5] += total.T @ (o * np.tanh(cells[at]))
            total = total @ w_hr
        a, b, direct, new_dc = _back(mode, total, dc[:n], gates[at], cells[at], c_before, h_before,
                                     y[at])
        totals[0][at] = a @ w_ih
        totals[1] += a.T @ rows[at]
        totals[2] += b.T @ h_before
        totals[3] += a.sum(0)
        totals[4] += b.sum(0)
        dh = np.concatenate([b @ w_hh + direct, dh[n:]])
        dc = np.concatenate([new_dc, dc[n:]]) if mode == "lstm" else dc
    return _wanted(totals, dh, dc, x, needs, w_hr is not None)


def _wanted(totals, dh, dc, x, needs, projected):
    """Outputs that nobody asked for are empty."""
    dx, d_ih, d_hh, db_ih, db_hh, d_hr = totals
    dx = dx.reshape(x.shape) if needs & 1 else np.zeros((0,) * x.ndim)
    if not needs & 2:
        d_ih, d_hh, d_hr = d_ih[:0], d_hh[:0], d_hr[:0]
    if not needs & 4:
        db_ih, db_hh = db_ih[:0], db_hh[:0]
    return dx, dh, dc, d_ih, d_hh, db_ih, db_hh, d_hr if projected else d_hr[:0]
