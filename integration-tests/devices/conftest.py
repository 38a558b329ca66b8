"""What tests of several files here set up."""

from __future__ import annotations

import pytest
from device_calls import DEVICE

from flambeau.core import backends


@pytest.fixture
def on_cuda():
    """``flambeau.cuda`` speaks of the tested device, whose streams do their work late."""
    if DEVICE != "cudasim":
        yield
        return
    from flambeau.cuda.simulation import as_cuda

    with as_cuda():
        backends.adapter(DEVICE).late(True)
        yield
        backends.adapter(DEVICE).late(False)
