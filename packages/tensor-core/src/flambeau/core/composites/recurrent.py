"""Recurrent networks: layers and directions, one after the other."""
from flambeau.core import _core

_op = _core.operators()
_recurrent, _unsqueeze, _squeeze = _op["recurrent"], _op["unsqueeze"], _op["squeeze"]
_select, _stack, _cat, _transpose = _op["select"], _op["stack"], _op["cat"], _op["transpose"]


# ---- networks ----------------------------------------------------------------------------------
def lstm__input(x, hx, params, *options):
    return _of_sequences("lstm", x, hx, params, *options)


def lstm__data(x, batch_sizes, hx, params, *options):
    return _network("lstm", x, hx, params, *options,
                    batch_sizes=_listed("lstm", batch_sizes))


def gru__input(x, hx, params, *options):
    return _of_sequences("gru", x, (hx,), params, *options)[:2]


def gru__data(x, batch_sizes, hx, params, *options):
    return _network("gru", x, (hx,), params, *options,
                    batch_sizes=_listed("gru", batch_sizes))[:2]


def rnn_tanh__input(x, hx, params, *options):
    return _of_sequences("tanh", x, (hx,), params, *options)[:2]


def rnn_tanh__data(x, batch_sizes, hx, params, *options):
    return _network("tanh", x, (hx,), params, *options,
                    batch_sizes=_listed("rnn_tanh", batch_sizes))[:2]


def rnn_relu__input(x, hx, params, *options):
    return _of_sequences("relu", x, (hx,), params, *options)[:2]


def rnn_relu__data(x, batch_sizes, hx, params, *options):
    return _network("relu", x, (hx,), params, *options,
                    batch_sizes=_listed("rnn_relu", batch_sizes))[:2]


def _listed(name, batch_sizes):
    if batch_sizes.ndim != 1 or batch_sizes.is_floating_point() or batch_sizes.is_complex():
        raise RuntimeError(f"{name}(): batch_sizes is the number of sequences at each step, as a "
                           f"tensor of integers of one dimension; got {batch_sizes.dtype} of shape "
                           f"{list(batch_sizes.shape)}")
    return batch_sizes.tolist()


def _of_sequences(mode, x, states, params, has_biases, num_layers, dropout, train, bidirectional,
                  batch_first):
    if x.ndim != 3:
        raise RuntimeError(f"{_name(mode)}(): expected input of 3 dimensions, [steps, batch, "
                           f"features], got {list(x.shape)}")
    x = _transpose(x, 0, 1) if batch_first else x
    result, *last = _network(mode, x, states, params, has_biases, num_layers, dropout, train,
                             bidirectional)
    return (_transpose(result, 0, 1) if batch_first else result, *last)


def _name(mode):
    return f"rnn_{mode}" if mode in ("tanh", "relu") else mode


def _network(mode, x, states, params, has_biases, num_layers, dropout, train, bidirectional,
             *, batch_sizes=None):
    """The result and the states of all layers and directions after their last step."""
    count = num_layers * (2 if bidirectional else 1)
    each = _check(mode, states, params, has_biases, count)
    keep = _core.is_grad_enabled() and any(t.requires_grad for t in (x, *states, *params))
    hidden, cells = [], []
    for first in range(0, count, 2 if bidirectional else 1):
        if first and dropout and train:
            x = _op["dropout"](x, dropout, True, False)
        results = []
        for i in range(first, first + (2 if bidirectional else 1)):
            weights = params[i * each:(i + 1) * each]
            h, c = [_select(s, 0, i) for s in states] if mode == "lstm" else (
                _select(states[0], 0, i), None)
            result, h, c, _, _ = _recurrent(x, h, c, *_arranged(weights, has_biases), batch_sizes,
                                            mode, i > first, keep)
            results.append(result)
            hidden.append(h)
            cells.append(c)
        x = _cat(results, -1) if bidirectional else results[0]
    return x, _joined(hidden), _joined(cells)


def _joined(states):
    return _stack(states, 0) if len(states) > 1 else _unsqueeze(states[0], 0)


def _arranged(weights, has_biases):
    """Both weights, both biases and the projection, None where there is none."""
    w_ih, w_hh, *rest = weights
    biases = rest[:2] if has_biases else (None, None)
    projection = rest[2:] if has_biases else rest
    return (w_ih, w_hh, *biases, projection[0] if projection else None)


def _check(mode, states, params, has_biases, count):
    """How many parameters each layer and direction has."""
    wanted = 2 if mode == "lstm" else 1
    if len(states) != wanted:
        raise RuntimeError(f"{_name(mode)}(): {mode} expects {wanted} hidden states, got "
                           f"{len(states)}")
    for state in states:
        if state.ndim != 3 or state.shape[0] != count:
            raise RuntimeError(f"{_name(mode)}(): expected states of shape [layers * directions, "
                               f"batch, hidden], with {count} layers and directions, got "
                               f"{list(state.shape)}")
    plain = 4 if has_biases else 2
    fits = (plain, plain + 1) if mode == "lstm" else (plain,)
    if count < 1 or len(params) not in [n * count for n in fits]:
        raise RuntimeError(f"{_name(mode)}(): expected {' or '.join(map(str, fits))} parameters "
                           f"for each of {count} layers and directions, got {len(params)} in all")
    return len(params) // count


# ---- cells: one step ---------------------------------------------------------------------------
def lstm_cell(x, hx, *weights):
    if len(hx) != 2:
        raise RuntimeError(f"lstm_cell(): hx is the hidden and the cell state, got {len(hx)} "
                           "tensors")
    return _cell("lstm", "lstm_cell", x, hx[0], hx[1], weights)


def gru_cell(x, hx, *weights):
    return _cell("gru", "gru_cell", x, hx, None, weights)[0]


def rnn_tanh_cell(x, hx, *weights):
    return _cell("tanh", "rnn_tanh_cell", x, hx, None, weights)[0]


def rnn_relu_cell(x, hx, *weights):
    return _cell("relu", "rnn_relu_cell", x, hx, None, weights)[0]


def _cell(mode, name, x, h, c, weights):
    """The new hidden and cell state of a batch, or of a single sequence."""
    single = x.ndim == 1
    if x.ndim not in (1, 2) or h.ndim != x.ndim or (c is not None and c.ndim != x.ndim):
        shapes = [list(t.shape) for t in (x, h, c) if t is not None]
        raise RuntimeError(f"{name}(): input and states are all [batch, features] or all "
                           f"[features], got {', '.join(map(str, shapes))}")
    if single:
        x, h = _unsqueeze(x, 0), _unsqueeze(h, 0)
        c = None if c is None else _unsqueeze(c, 0)
    tensors = [t for t in (x, h, c, *weights) if t is not None]
    keep = _core.is_grad_enabled() and any(t.requires_grad for t in tensors)
    _, h, c, _, _ = _recurrent(_unsqueeze(x, 0), h, c, *weights, None, None, mode, False, keep)
    if not single:
        return h, c
    return _squeeze(h, 0), _squeeze(c, 0) if mode == "lstm" else None
