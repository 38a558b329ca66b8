"""Losses."""

from __future__ import annotations

from typing import Any

import flambeau as fl
from flambeau.nn import functional as F
from flambeau.onnx.importing.table import Call, computes

#: A class number that no element has, where none is left out.
_NONE = -(2**31)


def _nll(call: Call, logs: fl.Tensor, target: fl.Tensor, weight: fl.Tensor | None) -> fl.Tensor:
    ignored = call.get("ignore_index", _NONE)
    return F.nll_loss(logs, target.to(fl.int64), weight, ignore_index=ignored,
                      reduction=call.get("reduction", "mean"))


@computes("NegativeLogLikelihoodLoss")
def nll_loss(call: Call, logs: fl.Tensor, target: fl.Tensor, weight: fl.Tensor | None = None
             ) -> fl.Tensor:
    """The negative logarithms of the probabilities of the classes."""
    return _nll(call, logs, target, weight)


@computes("SoftmaxCrossEntropyLoss")
def cross_entropy(call: Call, scores: fl.Tensor, target: fl.Tensor,
                  weight: fl.Tensor | None = None) -> Any:
    """The same of scores; the logarithms are the second output."""
    logs = F.log_softmax(scores, 1)
    return _nll(call, logs, target, weight), logs
