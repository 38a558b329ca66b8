"""Marks and helpers that the tests of this package share."""

import pytest


def pytest_configure(config):
    config.addinivalue_line("markers", "oracle: compares with PyTorch, which must be installed")


@pytest.fixture(autouse=True)
def seed():
    """Every test begins with the same random numbers."""
    import flambeau

    flambeau.manual_seed(0)
