"""Marks and fixtures that the tests of this package share."""

import importlib.util
import sys
from pathlib import Path

import pytest
from hypothesis import settings

# Helpers that tests import by their plain names.
sys.path.insert(0, str(Path(__file__).parent / "kit"))

#: Everywhere the same examples; nightly new ones, and many more.
settings.register_profile("ci", derandomize=True, max_examples=30, deadline=None, database=None)
settings.register_profile("nightly", max_examples=1000, deadline=None, print_blob=True)
settings.load_profile("ci")


def pytest_configure(config):
    config.addinivalue_line("markers", "oracle: compares with PyTorch, which must be installed")
    config.addinivalue_line("markers", "slow: takes more than ten seconds")


def pytest_collection_modifyitems(items):
    """Without PyTorch the comparisons with it are skipped, and say so."""
    if importlib.util.find_spec("torch") is not None:
        return
    skip = pytest.mark.skip(reason="PyTorch is not installed")
    for item in items:
        if "oracle" in item.keywords:
            item.add_marker(skip)
