"""Models of a folder, files from an address, results that come later, a machine's description."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import threading

import pytest

import flambeau
from flambeau import hub
from flambeau.futures import Future, collect_all, wait_all

CONFIG = '''
dependencies = ["json"]
from beside import factor

def double(x, scale=1):
    """Twice a number."""
    import beside
    return factor * x * scale

def _hidden():
    pass
'''


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "hubconf.py").write_text(CONFIG)
    (tmp_path / "beside.py").write_text("factor = 2\n")
    yield tmp_path
    sys.modules.pop("beside", None)


def test_what_a_folder_offers(folder):
    before = list(sys.path)
    assert hub.list(folder, source="local") == ["double"]
    assert hub.help(str(folder), "double", source="local") == "Twice a number."
    assert hub.load(folder, "double", 3, source="local", scale=5, trust_repo=True) == 30
    assert sys.path == before
    for name in ("_hidden", "absent", "factor"):
        with pytest.raises(RuntimeError, match=f"does not offer '{name}'; it offers double"):
            hub.load(folder, name, source="local")


def test_what_is_not_fetched(folder, tmp_path_factory):
    with pytest.raises(NotImplementedError, match="git clone https://github.com/a/b, and then"):
        hub.load("a/b:main", "model")
    with pytest.raises(ValueError, match="source='gitlab'"):
        hub.list(folder, source="gitlab")
    with pytest.raises(FileNotFoundError, match="no file hubconf.py"):
        hub.list(tmp_path_factory.mktemp("empty"), source="local")
    (folder / "hubconf.py").write_text("dependencies = ['json', 'absent_package']")
    with pytest.raises(RuntimeError, match="not installed: absent_package"):
        hub.list(folder, source="local")


def test_files_are_fetched_once_and_checked(tmp_path):
    source = tmp_path / "x.pt"
    flambeau.save({"a": flambeau.ones(2)}, source, format="torch")
    checksum = hashlib.sha256(source.read_bytes()).hexdigest()
    cache = tmp_path / "cache"
    for _ in range(2):
        loaded = hub.load_state_dict_from_url(source.as_uri(), str(cache), check_hash=True,
                                              file_name=f"x-{checksum[:8]}.pt")
        assert loaded["a"].tolist() == [1, 1]
        source.write_bytes(b"changed")
    with pytest.raises(RuntimeError, match="SHA-256.*nothing was written"):
        hub.download_url_to_file(source.as_uri(), tmp_path / "y", "0123abcd")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["cache", "x.pt"]


def test_the_folder_for_files(monkeypatch, tmp_path):
    monkeypatch.setattr(hub, "_chosen", {})
    monkeypatch.setenv("FLAMBEAU_HOME", str(tmp_path))
    assert hub.get_dir() == str(tmp_path / "hub")
    hub.set_dir(tmp_path / "other")
    assert hub.get_dir() == str(tmp_path / "other")


# ---- futures -------------------------------------------------------------------


def test_values_that_come_later():
    future = Future()
    later = future.then(lambda done: done.value() + 1).then(lambda done: done.value() * 2)
    assert not future.done() and not later.done()
    with pytest.raises(RuntimeError, match="no value yet"):
        future.value()
    threading.Timer(0.01, future.set_result, (3,)).start()
    assert (later.wait(), future.value(), future.done()) == (8, 3, True)
    for again in (lambda: future.set_result(4), lambda: future.set_exception(ValueError())):
        with pytest.raises(RuntimeError, match="has a value or an error already"):
            again()


def test_errors_that_come_later():
    future, seen = Future(), []
    future.add_done_callback(lambda done: seen.append(done))
    later = future.then(lambda done: done.value())
    future.set_exception(ValueError("reason"))
    assert seen == [future]
    with pytest.raises(ValueError, match="reason"):
        future.wait()
    with pytest.raises(RuntimeError, match="ValueError: reason"):
        later.wait()
    with pytest.raises(TypeError, match="takes an exception, got str"):
        Future().set_exception("no")


def test_all_of_several():
    futures = [Future() for _ in range(3)]
    together = collect_all(futures)
    for i, future in enumerate(futures):
        assert not together.done()
        future.set_result(i)
    assert together.value() == futures and wait_all(futures) == [0, 1, 2]
    assert collect_all([]).wait() == []
    failed = Future()
    failed.set_exception(KeyError("x"))
    with pytest.raises(KeyError):
        wait_all([futures[0], failed])


def test_a_description_of_the_machine():
    printed = subprocess.run([sys.executable, "-m", "flambeau.utils.collect_env"],
                             capture_output=True, text=True, check=True).stdout
    assert f"Flambeau: {flambeau.__version__}" in printed and "flambeau-tensor-core" in printed
