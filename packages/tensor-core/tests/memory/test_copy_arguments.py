"""``copy_`` takes PyTorch's ``non_blocking``, which changes no result."""
import pytest

import flambeau


def test_non_blocking_changes_nothing():
    x, y = flambeau.zeros(2, 3), flambeau.arange(3.0)
    for copied in (lambda: x.copy_(y, non_blocking=True), lambda: x.copy_(y, True),
                   lambda: x.copy_(src=y, non_blocking=False)):
        x.zero_()
        assert copied() is x
        assert x.tolist() == [[0.0, 1.0, 2.0]] * 2
    with pytest.raises(TypeError, match="blocking"):
        x.copy_(y, blocking=True)
    with pytest.raises(TypeError):
        x.copy_(y, 3)
    with pytest.raises(TypeError):
        x.add_(y, non_blocking=True)
