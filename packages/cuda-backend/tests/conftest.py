"""Shared by the tests: the simulated device, whose kernels stay built."""
from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def simulated():
    """The backend of device ``cudasim``, registered."""
    from flambeau.core import backends
    from flambeau.cuda.simulation import SimulatedBackend

    backend = SimulatedBackend()
    backends.register(backend)
    return backend


@pytest.fixture
def late(simulated):
    """The same, as the device of ``flambeau.cuda``, whose streams do their work late."""
    from flambeau.cuda.simulation import as_cuda

    with as_cuda():
        simulated.late(True)
        yield simulated
        simulated.late(False)
