"""``CTCLoss``: sequences of labels whose positions in the input are not known."""

from __future__ import annotations

from collections.abc import Sequence

from flambeau import Tensor

from ..._siblings import functional as F
from ._base import Loss


class CTCLoss(Loss):
    """Connectionist temporal classification: minus the log probability of a sequence of labels.

    The probability sums over all ways to put the labels, with blanks and repetitions between
    them, onto the time steps (Graves, Fernandez, Gomez, Schmidhuber 2006, "Connectionist
    temporal classification").

    Shapes: log_probs ``(T, N, C)`` or ``(T, C)``; targets ``(N, S)``, or all one after another
    ``(sum of target_lengths,)``; lengths ``(N,)``, tensors or tuples, or ``()``.

    Args:
        blank: The class that means "no label".
        reduction: ``"mean"`` (each loss is divided by the length of its target first), ``"sum"``
            or ``"none"``.
        zero_infinity: Count sequences that are too long for their input as 0, not infinite.

    Raises:
        RuntimeError: Lengths or labels do not fit (when called).

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> log_probs = flambeau.zeros(4, 1, 3).log_softmax(2)
        >>> nn.CTCLoss(reduction="sum")(log_probs, flambeau.tensor([[1, 2]]), (4,), (2,))
        tensor(1.6864)
    """

    def __init__(
        self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False
    ) -> None:
        super().__init__(reduction=reduction)
        self.blank = blank
        self.zero_infinity = zero_infinity

    def forward(
        self,
        log_probs: Tensor,
        targets: Tensor,
        input_lengths: Tensor | Sequence[int],
        target_lengths: Tensor | Sequence[int],
    ) -> Tensor:
        """Compute the loss."""
        return F.ctc_loss(
            log_probs,
            targets,
            input_lengths,
            target_lengths,
            self.blank,
            self.reduction,
            self.zero_infinity,
        )
