"""A device without kernels for operators that decompose computes them all the same."""

from __future__ import annotations

import pytest

import flambeau
from flambeau.core import backends, ops
from flambeau.core.decompositions import decomposition
from flambeau.core.opdefs import OPDEFS
from flambeau.testing.contract_operators import check_operator
from flambeau.testing.reference import ReferenceBackend

DECOMPOSED = [opdef for opdef in OPDEFS if opdef.decomposes]


class Minimal(ReferenceBackend):
    """The reference without the kernels that definitions can do without."""

    name = "minimal"
    lacks = frozenset(opdef.key for opdef in DECOMPOSED)

    def run(self, op, args, outs):
        return NotImplemented if op.key in self.lacks else super().run(op, args, outs)


@pytest.fixture(scope="module", autouse=True)
def _registered():
    backends.register(Minimal())


def test_definitions_name_what_there_is():
    assert DECOMPOSED
    for opdef in OPDEFS:
        assert (decomposition(opdef.key) is not None) == opdef.decomposes, opdef.key


@pytest.mark.parametrize("opdef", DECOMPOSED, ids=lambda opdef: opdef.key)
def test_results_are_those_of_the_cpu(opdef):
    outcome = check_operator(opdef, "minimal")
    assert outcome.status == "passed", outcome.failures


def test_what_is_made_of_parts_counts_as_one_write():
    x = flambeau.ones(2, 3).to("minimal")
    assert x.softmax(1)._version == 0
    y = x.clone()
    y.tril_()
    assert y._version == 1
    assert y.cpu().tolist() == [[1, 0, 0], [1, 1, 0]]


def test_the_error_names_the_operator_that_was_called(monkeypatch):
    monkeypatch.setattr(Minimal, "lacks", Minimal.lacks | {"exp"})
    with pytest.raises(NotImplementedError, match=r"softmax\(\) has no kernel on device 'minimal'"):
        ops.softmax(flambeau.ones(3).to("minimal"), 0)
