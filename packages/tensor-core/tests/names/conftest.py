"""What the tests of names share."""

import pytest

import flambeau


@pytest.fixture
def standard_operators():
    """Operators promote and divide as the array standard says."""
    flambeau.set_promotion("array_api")
    yield
    flambeau.set_promotion("pytorch")
