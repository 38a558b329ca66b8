"""Files that a program has opened: what is read of them, and where they are left."""
from __future__ import annotations

import gzip
import io

import pytest

import flambeau
from flambeau.core.io import FileError, pickles


class Counted:
    """A file that only has what ``load`` needs, and counts what is asked of it."""

    def __init__(self, raw: bytes, most: int = 1 << 30) -> None:
        self.file, self.most, self.bytes = io.BytesIO(raw), most, 0
        self.seek, self.tell = self.file.seek, self.file.tell

    def read(self, size: int) -> bytes:
        found = self.file.read(min(size, self.most))
        self.bytes += len(found)
        return found


class Into(Counted):
    def readinto(self, memory) -> int:
        count = self.file.readinto(memory[:self.most])
        self.bytes += count
        return count

    def read(self, size: int) -> bytes:
        raise AssertionError("readinto is there")


class Forward:
    """A file that only goes forward, such as a pipe."""

    def __init__(self, raw: bytes) -> None:
        self.read = io.BytesIO(raw).read


def _saved(obj, **options) -> bytes:
    file = io.BytesIO()
    flambeau.save(obj, file, **options)
    return file.getvalue()


_FORMATS = {"flambeau": {}, "torch": {"format": "torch"},
            "legacy": {"format": "torch", "_use_new_zipfile_serialization": False}}


@pytest.mark.parametrize("options", _FORMATS.values(), ids=_FORMATS)
@pytest.mark.parametrize("kind", [Counted, Into, Forward])
def test_every_format_is_read_from_what_has_the_methods(options, kind):
    obj = {"a": flambeau.arange(1000.0), "b": [flambeau.tensor(3)]}
    found = flambeau.load(kind(_saved(obj, **options)))
    assert found["a"].equal(obj["a"]) and found["b"][0].item() == 3


@pytest.mark.parametrize("kind", [Counted, Into])
def test_reads_may_be_short(kind):
    x = flambeau.arange(1000.0)
    assert flambeau.load(kind(_saved(x), most=7)).equal(x)


def test_a_file_that_becomes_shorter_is_refused():
    file = Into(_saved(flambeau.ones(1000)))
    file.tell = lambda: file.file.tell() + 8 * (file.file.tell() > 0)
    with pytest.raises(FileError):
        flambeau.load(file)


@pytest.mark.parametrize("options", _FORMATS.values(), ids=_FORMATS)
def test_packed_files_are_read_once(options):
    raw, is_old = _saved(flambeau.arange(1000.0), **options), len(options) == 2
    raw = gzip.compress(b"head" + raw + b"tail" * is_old)
    with gzip.open(io.BytesIO(raw)) as file:
        assert file.read(4) == b"head"
        assert flambeau.load(file).equal(flambeau.arange(1000.0))
        assert file.read() == b"tail" * is_old


def test_objects_before_the_wanted_one_are_not_read_again():
    old = _FORMATS["legacy"]
    raw = [_saved(flambeau.arange(n), **old) for n in (200_000, 3, 200_000)]
    file = Counted(b"".join(raw))
    file.seek(len(raw[0]))
    assert flambeau.load(file).tolist() == [0, 1, 2]
    assert file.tell() == len(raw[0]) + len(raw[1])
    assert file.bytes < len(raw[2])


def test_elements_behind_a_pickle_do_not_count_as_part_of_it(monkeypatch):
    raw = _saved([flambeau.arange(100_000), flambeau.ones(2)], **_FORMATS["legacy"])
    monkeypatch.setattr(pickles, "_MAX_BYTES", 4096)
    assert flambeau.load(io.BytesIO(raw))[0].equal(flambeau.arange(100_000))
    raw = _saved([list(range(2000)), flambeau.ones(2)], **_FORMATS["legacy"])
    with pytest.raises(FileError, match="a pickle of more than 4096 bytes"):
        flambeau.load(io.BytesIO(raw))


@pytest.mark.parametrize("first", [1, 2, 3, 50])
def test_pickles_are_read_in_parts_of_any_size(monkeypatch, first):
    obj = {"names": ["x" * n for n in range(90)], "x": flambeau.arange(5), "n": 2**40}
    raw = _saved(obj, **_FORMATS["legacy"])
    monkeypatch.setattr(pickles, "_FIRST_BYTES", first)
    found = flambeau.load(io.BytesIO(raw))
    assert found["names"] == obj["names"] and found["n"] == 2**40
    assert found["x"].equal(obj["x"])
    for size in range(40, len(raw), 97):
        with pytest.raises(FileError):
            flambeau.load(io.BytesIO(raw[:size]))


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("name", ["uint8", "int8", "float32"])
def test_storages_keep_their_type(old, name):
    dtype = getattr(flambeau, name)
    storage = flambeau.TypedStorage(wrap_storage=flambeau.ones(3).untyped_storage(), dtype=dtype)
    for given in (storage, flambeau.TypedStorage([], dtype=dtype)):
        raw = _saved([given], format="torch", _use_new_zipfile_serialization=not old)
        found, = flambeau.load(io.BytesIO(raw))
        assert type(found) is flambeau.TypedStorage and found.dtype is dtype
        assert found.tolist() == given.tolist()


def test_bytes_keep_their_type_in_archives():
    raw = _saved([flambeau.ones(3).untyped_storage()], format="torch")
    assert type(flambeau.load(io.BytesIO(raw))[0]) is flambeau.UntypedStorage
