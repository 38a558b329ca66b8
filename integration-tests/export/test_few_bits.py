"""The command that measures weights in few bits, on data that it need not read."""

import importlib.util
from pathlib import Path

import pytest

import flambeau as fl

PATH = Path(__file__).parents[2] / "benchmarks" / "few_bits.py"


@pytest.fixture
def few_bits(monkeypatch):
    spec = importlib.util.spec_from_file_location("few_bits", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    fl.manual_seed(0)

    def images():
        classes = fl.arange(1500) % 8
        bars = fl.nn.functional.one_hot(classes, 8).float()[:, None, :, None].expand(-1, 1, 8, 8)
        return bars + 0.1 * fl.randn(1500, 1, 8, 8), classes

    monkeypatch.setattr(module, "digits", images)
    monkeypatch.setattr(module, "texts", lambda: (fl.arange(7000) % 7, 7))
    return module


def test_less_memory_and_nearly_the_same_accuracy(few_bits):
    found = few_bits.rows(40)
    assert [name for name, *_ in found] == ["digits"] * 5 + ["texts"] * 5
    for first in (0, 5):
        (_, _, right, size, _), *others = found[first:first + 5]
        assert right > 0.95
        bounds = dict(zip(list(few_bits.FORMS)[1:], (0.55, 0.3, 0.3, 0.2), strict=True))
        for _, form, accuracy, kilobytes, _ in others:
            assert abs(accuracy - right) < 0.03 and kilobytes < bounds[form] * size, form
