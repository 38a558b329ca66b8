"""What tests of compiled calls share."""

from __future__ import annotations

import pytest

from flambeau.jit import bridge, compiling


@pytest.fixture
def small_kernels_wait():
    """As large ones do, so that a few elements show what goes wrong; every plan can be made."""
    failures = []

    def make_plan(calls, needed, key):
        try:
            return compiling.make_plan(calls, needed, key)
        except Exception as error:
            failures.append(error)
            raise

    bridge.configure_deferral(make_plan, 1)
    yield
    bridge.configure_deferral(compiling.make_plan)
    assert not failures
