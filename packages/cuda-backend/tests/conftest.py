"""Shared by the tests: the simulated device, built once per session."""
from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def simulated(tmp_path_factory):
    """The backend of device ``cudasim``, registered."""
    from cudasim import SimulatedBackend

    from flambeau.core import backends

    backend = SimulatedBackend(tmp_path_factory.mktemp("cudasim"))
    backends.register(backend)
    return backend
