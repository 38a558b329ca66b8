"""`torch.testing._comparison`: what pairs let pass, against PyTorch's own."""
from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest
from test_alias import lines

PROGRAM = """
import numpy as np
import torch
from torch.testing import _comparison as c

class Near(c.TensorLikePair):
    def __init__(self, actual, expected, *, mean=False, **options):
        super().__init__(actual, expected, **options)
        self.mean = mean

    def compare(self):
        actual, expected = self.actual, self.expected
        self._compare_attributes(actual, expected)
        actual, expected = self._equalize_attributes(actual, expected)
        if not self.mean:
            super()._compare_values(actual, expected)
        elif float((actual - expected).abs().mean()) > self.atol:
            self._fail(AssertionError, "means differ")

types = (c.NonePair, c.BooleanPair, c.NumberPair, Near)
x, nan, none = torch.tensor([1.0, 2.0]), torch.tensor([float("nan")]), torch.empty(0, 3)
cases = [
    (x, x), (x, x + 1e-6), (x, x + 1e-4), (x, x[:1]), (x, x.double()), (x, torch.ones(2, 2)[:, 0]),
    (nan, nan), (none, none), (none, torch.empty(3, 0)), (x.int(), x.int() + 1),
    (x, x.to_sparse()), (x, x.numpy()), (x.numpy(), x.numpy()), (x, torch.nn.Parameter(x)),
    (None, None), (None, x), (True, True), (True, np.bool_(False)), (1, 1.0), (2, 3),
    (1.0, 1.0 + 1e-9), (float("nan"), float("nan")), (np.float32(2), 2), (1j, 1j + 1),
    (2**70, 2**70),
    ([1, {"a": x}], [1, {"a": x}]), ([1, {"a": x}], [2, {"a": x + 1}]), ([1], [1, 2]),
    ({"a": 1}, {"b": 1}), ("text", "text"), (x, "text"),
]
options = [{}, {"equal_nan": True}, {"rtol": 0, "atol": 0}, {"rtol": 0, "atol": 0.5},
           {"mean": True, "rtol": 0, "atol": 0.6}, {"check_dtype": True}, {"rtol": 1},
           {"check_dtype": False, "check_layout": False}, {"check_stride": True}]
for each in options:
    for actual, expected in cases:
        try:
            found = [m.to_error() for m in c.not_close_error_metas(
                actual, expected, pair_types=types, **each)]
            print([(type(e).__name__, "item [" in str(e)) for e in found])
        except Exception as error:
            print(type(error).__name__)
print(c.default_tolerances(x, torch.float64), c.get_tolerances(x, rtol=2, atol=3))
problem = c.ErrorMeta(ValueError, "why", id=(1, "a"))
print(problem.to_error("mine"), repr(str(problem.to_error())), problem.to_error(str.upper))
print([m.to_error() for m in c.not_close_error_metas("a", "b")])
try:
    c.not_close_error_metas(x, torch.nn.Parameter(x), pair_types=types, allow_subclasses=False)
except TypeError:
    print("another type")
print(repr(c.NumberPair(1, 2.0)))
"""


@pytest.mark.oracle
def test_pairs_let_pass_what_pytorchs_do():
    pytest.importorskip("torch")
    pytest.importorskip("flambeau.nn", reason="needs flambeau-nn")
    theirs = subprocess.run([sys.executable, "-W", "ignore", "-c", PROGRAM], text=True,
                            capture_output=True, check=True).stdout.splitlines()
    assert len(theirs) > 270
    assert lines(PROGRAM) == theirs


def test_pairs_are_classes_to_derive_from():
    assert lines(textwrap.dedent("""
        import torch
        from torch.testing import _comparison as c
        from torch._utils_internal import get_file_path_2

        class Rounded(c.TensorLikePair):
            def _compare_values(self, actual, expected):
                super()._compare_values(actual.round(), expected.round())

        for other in (1.4, 1.6):
            print([str(m.to_error("apart")) for m in c.not_close_error_metas(
                [torch.tensor([1.2])], [torch.tensor([other])], pair_types=(Rounded,))])
        try:
            c.not_close_error_metas(torch.ones(2), "text", pair_types=(Rounded,))
        except TypeError as error:
            print("No comparison pair" in str(error))
        print(get_file_path_2("a", "b.png"))
    """)) == ["[]", "['apart']", "True", "a/b.png"]
