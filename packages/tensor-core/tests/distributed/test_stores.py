"""Stores of keys and values: in a process, in a file, served by a process."""
from __future__ import annotations

import contextlib
import socket
import threading
from datetime import timedelta

import pytest

from flambeau import distributed as dist

SOON = timedelta(milliseconds=100)


@pytest.fixture(params=["hash", "file", "tcp", "other process", "prefix"])
def store(request, tmp_path):
    if request.param == "hash":
        return dist.HashStore()
    if request.param == "file":
        return dist.FileStore(tmp_path / "store")
    if request.param == "prefix":
        return dist.PrefixStore("a/b", dist.FileStore(tmp_path / "store"))
    served = dist.TCPStore("127.0.0.1", 0, is_master=True)
    request.addfinalizer(lambda: served)
    return served if request.param == "tcp" else dist.TCPStore("127.0.0.1", served.port)


def test_values(store):
    store.set("key", "one")
    store.set("bytes", bytes(range(256)))
    assert store.get("key") == b"one" and store.get("bytes") == bytes(range(256))
    store.set("key", "")
    assert store.get("key") == b""
    assert store.add("count", 5) == 5 and store.add("count", -7) == -2
    assert store.get("count") == b"-2"
    store.append("key", "x")
    store.append("key", b"y")
    assert store.get("key") == b"xy"
    assert store.check(["key", "count"]) and not store.check(["key", "absent"])
    assert store.num_keys() == 3
    assert store.delete_key("key") and not store.delete_key("key")
    store.multi_set(["p", "q"], ["1", b"2"])
    assert store.multi_get(["q", "p"]) == [b"2", b"1"]


def test_a_value_is_set_where_another_is_as_expected(store):
    assert store.compare_set("key", "", "first") == b"first"
    assert store.compare_set("key", "other", "second") == b"first"
    assert store.compare_set("key", "first", "second") == b"second"
    assert store.get("key") == b"second"


def test_keys_are_waited_for(store):
    threading.Timer(0.1, store.set, ("late", "here")).start()
    store.wait(["late"])
    assert store.get("late") == b"here"
    with pytest.raises(RuntimeError, match="0.1 s: no process has set 'never'; did all start"):
        store.wait(["late", "never"], SOON)
    store.set_timeout(SOON)
    with pytest.raises(dist.DistStoreError, match="'never'"):
        store.get("never")


def test_many_add_at_once(store):
    threads = [threading.Thread(target=lambda: [store.add("n", 1) for _ in range(50)])
               for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.add("n", 0) == 200


def test_prefixes_keep_keys_apart():
    whole = dist.HashStore()
    a, b = dist.PrefixStore("a", whole), dist.PrefixStore("b", whole)
    a.set("key", "1")
    b.set("key", "2")
    assert a.get("key") == b"1" and whole.get("b/key") == b"2" and whole.num_keys() == 2


def test_what_is_no_store_disturbs_no_store():
    served = dist.TCPStore("127.0.0.1", 0, is_master=True)
    for content in (b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 64, b"\x02" + bytes(7) + b"{}",
                    b"\x14" + bytes(7) + b'["__class__", "key"]'):
        with socket.create_connection(("127.0.0.1", served.port)) as link:
            link.sendall(content)
            # The store may have hung up before the second line or the third is reached.
            with contextlib.suppress(OSError):
                link.shutdown(socket.SHUT_WR)
                assert link.recv(1) == b""
    served.set("key", "value")
    assert served.get("key") == b"value"


def test_addresses_without_a_store_are_told():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(dist.DistStoreError, match=f"port {port} of 127.0.0.1 is in use"):
            dist.TCPStore("127.0.0.1", port, is_master=True)
    with pytest.raises(dist.DistStoreError, match="is the process of rank 0 running"):
        dist.TCPStore("127.0.0.1", port, timeout=SOON)
    with pytest.raises(dist.DistStoreError, match="1 of 2 processes have come"):
        dist.TCPStore("127.0.0.1", 0, 2, is_master=True, timeout=SOON)
