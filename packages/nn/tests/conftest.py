"""Marks and helpers that the tests of this package share."""

import multiprocessing
import sys
from pathlib import Path

import pytest

# Helpers that tests import by their plain names.
sys.path.insert(0, str(Path(__file__).parent / "kit"))


def pytest_configure(config):
    # Tests define datasets inside functions, which only forked processes can have. Python's own
    # default differs between versions.
    multiprocessing.set_start_method("fork", force=True)
    # Few workers are many on a small machine.
    config.addinivalue_line("filterwarnings", "ignore:num_workers=. is more than the")
    config.addinivalue_line("markers", "oracle: compares with PyTorch, which must be installed")


@pytest.fixture(autouse=True)
def seed():
    """Every test begins with the same random numbers."""
    import flambeau

    flambeau.manual_seed(0)
