"""Marks and fixtures that the tests of this package share."""

import pytest

import flambeau


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: takes seconds")


@pytest.fixture(autouse=True)
def same_numbers_every_time():
    flambeau.manual_seed(0)
