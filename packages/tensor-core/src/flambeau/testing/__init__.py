"""Comparing tensors in tests, and the test kit that ships with the core: sample inputs, tolerances,
a reference device, and the contract that every device backend must pass
(``python -m flambeau.testing.backend NAME``)."""
from .closeness import assert_close
from .creation import make_tensor

__all__ = ["assert_close", "make_tensor"]
