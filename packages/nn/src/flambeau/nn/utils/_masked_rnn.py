"""Recurrent layers over sequences of different lengths, in a function that is being recorded.

A state that runs on behind the end of its sequence changes no output before; hidden states are
taken from the outputs. LSTM's cell state is kept from the end on by a further feature of the input,
1 behind the end, whose weights close the input gate and open the forget gate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import flambeau
from flambeau import Tensor

from ._masked_sequence import MaskedSequence, over

#: A gate with this in its sum is exactly 0 or 1, in float16, too.
_SHUT = 2.0**14

#: (input, states, parameters of one layer and direction) -> result and last states
Network = Callable[[Tensor, tuple[Tensor, ...], Sequence[Tensor]], Any]


def run_masked(
    network: Network,
    is_lstm: bool,
    sequence: MaskedSequence,
    states: tuple[Tensor, ...],
    weights: Sequence[Sequence[Tensor]],
    directions: int,
) -> tuple[MaskedSequence, list[Tensor]]:
    """All layers, one after the other; ``weights`` has a list for each layer and direction."""
    last: list[list[Tensor]] = [[] for _ in states]
    for first in range(0, len(weights), directions):
        results = []
        for i in range(first, first + directions):
            given = sequence.reversed() if i > first else sequence
            own = tuple([state[i : i + 1] for state in states])
            result, ends = _one(network, is_lstm, given, own, weights[i])
            results.append(result.reversed().padded if i > first else result.padded)
            for found, end in zip(last, ends, strict=True):
                found.append(end)
        joined = flambeau.cat(results, -1) if directions > 1 else results[0]
        sequence = sequence.with_data(joined)
    return sequence, [flambeau.stack(ends) for ends in last]


def _one(
    network: Network,
    is_lstm: bool,
    sequence: MaskedSequence,
    states: tuple[Tensor, ...],
    weights: Sequence[Tensor],
) -> tuple[MaskedSequence, list[Tensor]]:
    x = sequence.filled(0.0)
    if is_lstm:
        behind = over(~sequence.mask, x)[..., :1].to(x.dtype)
        x = flambeau.cat([x, behind], -1)
        weights = [flambeau.cat([weights[0], _shutting(weights[0])], 1), *weights[1:]]
    result, *ends = network(x, states, weights)
    given = sequence.with_data(result)
    cells = [end.squeeze(0) for end in ends[1:]]
    return given, [given.last(), *cells]


def _shutting(weight_ih: Tensor) -> Tensor:
    """What closes the input gate, opens the forget gate, and leaves the other two."""
    rows = weight_ih.shape[0] // 4
    values = [-_SHUT] * rows + [_SHUT] * rows + [0.0] * (2 * rows)
    return weight_ih.new_tensor(values).unsqueeze(1)
