"""Parameters that are given as chances or as log odds."""

from __future__ import annotations

from typing import Any

from flambeau import Tensor

from .utils import lazy_property, logits_to_probs, probs_to_logits


def one_of(distribution: Any, probs: Any, logits: Any) -> None:
    """Raise the error for both parameters, or neither of them."""
    if (probs is None) == (logits is None):
        given = "both" if probs is not None else "neither"
        raise ValueError(
            f"Either `probs` or `logits` must be specified, but not both: "
            f"{type(distribution).__name__} was given {given}"
        )


class Odds:
    """What distributions of a chance have: the other parameter, computed when it is asked for."""

    @lazy_property
    def logits(self) -> Tensor:
        """Log odds."""
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Tensor:
        """Chances."""
        return logits_to_probs(self.logits, is_binary=True)

    @property
    def _param(self) -> Tensor:
        """The parameter that was given."""
        given = vars(self)
        return given["probs"] if "probs" in given else given["logits"]

    @property
    def param_shape(self) -> Any:
        """The shape of the parameter that was given."""
        return self._param.size()

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._param.new(*args, **kwargs)
