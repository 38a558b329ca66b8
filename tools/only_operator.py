"""A pytest plugin that keeps the tests of one operator: those whose name or parameters hold it.

`TRIED_OPERATOR=exp` keeps `test_calls[exp-float32]`, `test_exp_of_nan` and `test_x[exp__d_self]`,
but not `test_expand` or `test_calls[expm1]`. A dot in the name, `max.dim`, asks for one overload.
"""

from __future__ import annotations

import os
import re

import pytest


def holds(nodeid: str, operator: str) -> bool:
    """Tell whether a test's name or parameters name the operator.

    Example:
        >>> holds("test_x.py::test_calls[max.dim-float32]", "max")
        True
        >>> holds("test_x.py::test_expand[expm1]", "exp")
        False
    """
    _, _, test = nodeid.partition("::")
    function, _, parameters = test.partition("[")
    words = function.split("_")
    wanted = operator.split("_")
    spans = range(len(words) - len(wanted) + 1)
    if any(words[i : i + len(wanted)] == wanted for i in spans):
        return True
    return re.search(rf"(?<![a-z0-9_.]){re.escape(operator)}(?![a-z0-9])(?!_[a-z])", parameters)\
        is not None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect all other tests."""
    operator = os.environ["TRIED_OPERATOR"]
    others = [item for item in items if not holds(item.nodeid, operator)]
    items[:] = [item for item in items if holds(item.nodeid, operator)]
    config.hook.pytest_deselected(items=others)
