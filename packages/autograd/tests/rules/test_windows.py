"""Composites of convolution and pooling, to first and second order."""

import pytest
from samples_windows import COMPOSITES

from flambeau.autograd import gradcheck, gradgradcheck


@pytest.mark.parametrize("name", COMPOSITES)
def test_derivatives(name):
    fn, inputs = COMPOSITES[name]()
    assert gradcheck(fn, inputs)
    assert gradgradcheck(fn, inputs)
