"""Losses of integers, which PyTorch computes in integers; the values are PyTorch's."""

from __future__ import annotations

import pytest

import flambeau
from flambeau.core import functional


@pytest.mark.parametrize("dtype", ("int64", "int32", "int8"))
@pytest.mark.parametrize(("margin", "wanted"), ((1.0, [1, 0, 3, 1]), (1.5, [1, 0, 3, 1]),
                                                (2, [1, 0, 3, 2])))
def test_hinge_embedding_of_integers(dtype, margin, wanted):
    x = flambeau.tensor([1, 2, 3, 0], dtype=getattr(flambeau, dtype))
    target = flambeau.tensor([1, -1, 1, -1])
    loss = functional.hinge_embedding_loss(x, target, margin=margin, reduction="none")
    assert (loss.dtype, loss.tolist()) == (x.dtype, wanted)
    total = functional.hinge_embedding_loss(x, target, margin=margin, reduction="sum")
    assert total.item() == sum(wanted)
    with pytest.raises(RuntimeError, match="could not infer output dtype"):
        functional.hinge_embedding_loss(x, target)
