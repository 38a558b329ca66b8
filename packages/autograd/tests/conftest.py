"""Marks and fixtures that the tests of this package share."""

import sys
from pathlib import Path

import pytest

# Helpers that tests import by their plain names.
sys.path.insert(0, str(Path(__file__).parent / "kit"))


def pytest_configure(config):
    config.addinivalue_line("markers", "oracle: compares with PyTorch, which must be installed")
    config.addinivalue_line("markers", "slow: takes more than ten seconds")


@pytest.fixture(autouse=True)
def modes_are_restored():
    """No test may leave the thread in another mode than it found."""
    import flambeau

    before = flambeau.is_grad_enabled(), flambeau.is_inference_mode_enabled()
    yield
    assert (flambeau.is_grad_enabled(), flambeau.is_inference_mode_enabled()) == before
