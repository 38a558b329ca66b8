"""Operators with steps in time, as loops whose number of steps may vary."""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau import jit
from flambeau.onnx.exporting.rewritten import rewrites, scans


@rewrites("ctc_loss_rows")
def ctc_loss_rows(log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any,
                  blank: int = 0) -> Any:
    """The probability of a target, over all paths (Graves et al., 2006), in logarithms."""
    if targets.dim() == 1:
        raise ValueError("targets of CTC one after the other have sizes that depend on values; "
                         "give them as a matrix of (batch, longest target)")
    lengths, steps = (n.to(flambeau.int64).unsqueeze(-1) for n in (target_lengths, input_lengths))
    labels = flambeau.where(flambeau.arange(targets.shape[1]) < lengths, targets, blank)
    blanks = flambeau.full_like(labels, blank)
    states = flambeau.stack([blanks, labels], -1).flatten(1)
    states = flambeau.cat([states, labels[:, :1] * 0 + blank], 1)
    place = flambeau.arange(states.shape[1])
    before = flambeau.cat([states[:, :2] * 0 - 1, states[:, :-2]], 1)
    may_skip = (states != before) & (states != blank) & (place >= 2)
    never = flambeau.full_like(states, float("-inf"), dtype=log_probs.dtype)

    def step(t: Any, now: Any) -> Any:
        row = log_probs.index_select(0, t.reshape(1)).squeeze(0)
        one = flambeau.cat([never[:, :1], now[:, :-1]], 1)
        two = flambeau.where(may_skip, flambeau.cat([never[:, :2], now[:, :-2]], 1), never)
        moved = flambeau.logaddexp(flambeau.logaddexp(now, one), two) + row.gather(1, states)
        return t + 1, flambeau.where(t < steps, moved, now)

    start = flambeau.where(place == 0, 0.0, never)
    count = log_probs.shape[0]
    _, last = jit.while_loop(lambda t, now: t < count, step, (flambeau.tensor(0), start))
    is_end = (place == 2 * lengths) | (place == 2 * lengths - 1)
    ends = flambeau.where(is_end, last, never)
    most = ends.amax(-1)
    finite = flambeau.where(most == float("-inf"), 0.0, most)
    return -((ends - finite.unsqueeze(-1)).exp().sum(-1).log() + finite)


@rewrites("recurrent")
def recurrent(x: Any, hx: Any, cx: Any, weight_ih: Any, weight_hh: Any, bias_ih: Any, bias_hh: Any,
              weight_hr: Any = None, batch_sizes: Any = None, mode: str = "lstm",
              reverse: Any = False, keep: Any = False) -> Any:
    """An LSTM whose hidden states are projected."""
    if weight_hr is None or batch_sizes is not None or mode != "lstm":
        raise ValueError("packed sequences have no form in ONNX; give padded ones")
    count = x.shape[0]

    def step(t: Any, h: Any, c: Any, result: Any) -> Any:
        at = (count - 1 - t if reverse else t).reshape(1)
        sums = flambeau.nn.functional.linear(x.index_select(0, at).squeeze(0), weight_ih, bias_ih)
        sums = sums + flambeau.nn.functional.linear(h, weight_hh, bias_hh)
        i, f, g, o = sums.chunk(4, -1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = (o.sigmoid() * c.tanh()) @ weight_hr.t()
        return t + 1, h, c, result.index_copy(0, at, h.unsqueeze(0))

    result = x.new_zeros((count, *hx.shape))
    carried = (flambeau.tensor(0), hx, cx, result)
    _, h, c, result = jit.while_loop(lambda t, *rest: t < count, step, carried)
    return result, h, c, None, None


def _scanned(x: Any, dim: int, join: Any) -> Any:
    """What joins the elements before each one and itself, one after the other."""
    rows = x.movedim(dim, 0).clone(memory_format=flambeau.contiguous_format)
    count = rows.shape[0]

    def step(t: Any, last: Any, result: Any) -> Any:
        at = t.reshape(1)
        now = join(last, rows.index_select(0, at).squeeze(0))
        return t + 1, now, result.index_copy(0, at, now.unsqueeze(0))

    carried = (flambeau.tensor(1), rows[0], rows)
    return jit.while_loop(lambda t, *rest: t < count, step, carried)[2].movedim(0, dim)


@scans("cumprod")
def cumprod(x: Any, dim: int, dtype: Any = None) -> Any:
    return _scanned(x if dtype is None else x.to(dtype), dim, flambeau.mul)


@scans("logcumsumexp")
def logcumsumexp(x: Any, dim: int) -> Any:
    return _scanned(x, dim, flambeau.logaddexp)


@scans("cummax")
def cummax(x: Any, dim: int) -> Any:
    return _extremes(x, dim, flambeau.maximum)


@scans("cummin")
def cummin(x: Any, dim: int) -> Any:
    return _extremes(x, dim, flambeau.minimum)


def _extremes(x: Any, dim: int, join: Any) -> Any:
    """Values, and where each was last met; NaN is met wherever something follows it."""
    values = _scanned(x, dim, join)
    shape = [1] * x.dim()
    shape[dim] = -1
    places = flambeau.arange(x.shape[dim]).reshape(shape)
    is_met = (x == values) | ((x != x) & (values != values))
    return values, _scanned(flambeau.where(is_met, places, 0), dim, flambeau.maximum)
