"""Scopes name what runs; the table's column for autocast names definitions that exist."""

import threading
from dataclasses import replace

import pytest

from flambeau.core import scope, scope_path, scopes_wanted, want_scopes
from flambeau.core.opdefs import OPDEFS
from flambeau.core.opdefs.opdef import AUTOCAST


def test_scopes_nest_and_end_with_errors():
    with scope("net"):
        with pytest.raises(KeyError), scope("head"):
            assert scope_path() == "net.head"
            raise KeyError
        assert scope_path() == "net"
    assert scope_path() == ""


def test_each_thread_has_its_own():
    seen = []
    with scope("net"):
        thread = threading.Thread(target=lambda: seen.append(scope_path()))
        thread.start()
        thread.join()
    assert seen == [""]


def test_readers_are_counted():
    assert not scopes_wanted()
    want_scopes(True)
    want_scopes(True)
    want_scopes(False)
    assert scopes_wanted()
    want_scopes(False)
    assert not scopes_wanted()


def test_names_are_strings():
    with pytest.raises(TypeError):
        scope(3)


def test_the_column_for_autocast():
    by_key = {opdef.key: opdef.autocast for opdef in OPDEFS}
    assert by_key["matmul"] == "lower" and by_key["cat"] == "promote" and by_key["add"] == ""
    assert set(by_key.values()) == set(AUTOCAST)
    with pytest.raises(ValueError, match="autocast='half' is not one of"):
        replace(OPDEFS[0], autocast="half")
