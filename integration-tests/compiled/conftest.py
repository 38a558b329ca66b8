"""What tests of compiled calls share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from flambeau.jit import bridge, compiling, deferral


@contextmanager
def _everything_waits(make: Callable[..., Any]) -> Iterator[None]:
    """Small kernels wait as large ones do, and every plan can be made."""
    failures = []

    def make_plan(calls, needed, key):
        try:
            return make(calls, needed, key)
        except Exception as error:
            failures.append(error)
            raise

    bridge.configure_deferral(make_plan, 1)
    yield
    bridge.configure_deferral(compiling.make_plan)
    assert not failures


@pytest.fixture
def small_kernels_wait():
    """As large ones do, so that a few elements show what goes wrong."""
    with _everything_waits(lambda *args: compiling.make_plan(*args)):
        yield


@pytest.fixture
def new_plans():
    """Small kernels wait, and no plan comes from the cache."""
    with _everything_waits(lambda calls, needed, key: deferral.make_plan(calls, needed)):
        yield
