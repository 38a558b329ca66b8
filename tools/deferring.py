"""A plugin of pytest that runs each test as a compiled call, with kernels of all sizes waiting.

    PYTHONPATH=tools python -m pytest -p deferring packages/autograd/tests

A test that passes without the plugin and fails with it shows somebody who comes to memory and does
not say so (`native/deferral/deferral.h`).
"""

from __future__ import annotations

import functools
from typing import Any

import pytest

from flambeau.jit import bridge, compiling

bridge.configure_deferral(compiling.make_plan, 1)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: Any) -> None:
    """Wrap the function; pytest calls it afterwards as it always does."""
    test = pyfuncitem.obj

    @functools.wraps(test)
    def deferring(*args: Any, **kwargs: Any) -> Any:
        return bridge.DeferredCall(test)(*args, **kwargs)

    pyfuncitem.obj = deferring
