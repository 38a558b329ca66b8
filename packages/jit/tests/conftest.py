"""Marks and fixtures that the tests of this package share."""

import os

import pytest

import flambeau

os.environ.setdefault("FLAMBEAU_CACHE_DIR", "")     # what is tested is compiled now


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: takes seconds")


@pytest.fixture(autouse=True)
def same_numbers_every_time():
    flambeau.manual_seed(0)
