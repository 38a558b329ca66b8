"""Reading files: what is read, and that damage is told with the file and the byte."""

import gzip
import pickle
import random
import struct

import numpy as np
import pytest

import flambeau
from flambeau.core.io import FileError
from flambeau.utils import data
from flambeau.utils.data import readers

IDX_CODES = {"u1": 8, "i1": 9, "i2": 11, "i4": 12, "f4": 13, "f8": 14}


def write_idx(path, array, pack=False):
    code = IDX_CODES[array.dtype.str[1:]]
    head = struct.pack(f">HBB{array.ndim}I", 0, code, array.ndim, *array.shape)
    content = head + array.astype(array.dtype.newbyteorder(">")).tobytes()
    path.write_bytes(gzip.compress(content) if pack else content)
    return content


@pytest.mark.parametrize("pack", [False, True])
@pytest.mark.parametrize("kind", IDX_CODES)
def test_idx(tmp_path, kind, pack):
    array = (np.arange(24).reshape(2, 3, 4) - (0 if kind == "u1" else 12)).astype(kind)
    write_idx(tmp_path / "x", array, pack)
    x = readers.read_idx(tmp_path / "x")
    assert x.tolist() == array.tolist()
    assert x.numpy().dtype == array.dtype


def test_idx_dataset(tmp_path):
    images = np.arange(12, dtype="u1").reshape(3, 2, 2)
    write_idx(tmp_path / "images", images)
    write_idx(tmp_path / "labels", np.array([5, 6, 7], "u1"), pack=True)
    dataset = readers.IDXDataset(
        tmp_path / "images", tmp_path / "labels", lambda x: x.float() / 255, lambda y: y - 5
    )
    assert len(dataset) == 3
    x, y = dataset[2]
    assert x.dtype == flambeau.float32 and x.shape == (2, 2) and y == 2
    batch = next(iter(data.DataLoader(dataset, 2, num_workers=2)))
    assert batch[1].tolist() == [0, 1]
    assert readers.IDXDataset(tmp_path / "images")[0][0].tolist() == [[0, 1], [2, 3]]
    write_idx(tmp_path / "labels", np.array([5], "u1"))
    with pytest.raises(ValueError, match="has 3 samples, but .*labels has 1"):
        readers.IDXDataset(tmp_path / "images", tmp_path / "labels")


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", "byte 0: the file ends inside the first four"),
        (b"\0\0\x08", "byte 3: the file ends inside the first four"),
        (b"PK\x03\x04abc", "byte 0: an IDX file begins with two zero bytes"),
        (b"\0\0\x07\1\0\0\0\1a", "byte 2: 0x07 is no type"),
        (b"\0\0\x08\2\0\0\0\1", "byte 8: the file ends inside the sizes of its 2"),
        (b"\0\0\x08\1\0\0\0\3ab", "byte 10: the file ends too early"),
        (b"\0\0\x08\1\0\0\0\1abc", "byte 9: the file goes on"),
        (b"\0\0\x08\1\xff\xff\xff\xffabc", "byte 11: the file ends too early"),
        (b"\0\0\x0e\4" + b"\xff" * 16, "the file ends too early"),
        (gzip.compress(bytes(100))[:-10], "gzip stream is damaged or cut off"),
        (b"\x1f\x8bnonsense that is long enough", "gzip stream is damaged or cut off"),
    ],
)
def test_damaged_idx(tmp_path, content, text):
    path = tmp_path / "digits"
    path.write_bytes(content)
    with pytest.raises(FileError, match=f"digits, .*{text}"):
        readers.read_idx(path)


def test_npz(tmp_path):
    x, y = np.arange(6.0).reshape(3, 2), np.arange(3)
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "a.npz", x=x, y=y, other=np.zeros(5))
        with pytest.raises(ValueError, match="same number of rows"):
            readers.NPZDataset(tmp_path / "a.npz")
        dataset = readers.NPZDataset(tmp_path / "a.npz", ["x", "y"])
        assert len(dataset) == 3
        assert dataset[-1]["x"].tolist() == [4, 5]
        assert [sample["y"].item() for sample in dataset] == [0, 1, 2]
        whole = data.TensorDataset(*dataset.tensors("y", "x"))
        assert next(iter(data.DataLoader(whole, 2)))[0].tolist() == [0, 1]
    with pytest.raises(ValueError, match=r"no arrays \['z'\]; it has \['x', 'y', 'other'\]"):
        readers.NPZDataset(tmp_path / "a.npz", ["z"])


def test_damaged_npz(tmp_path):
    path = tmp_path / "a.npz"
    np.savez_compressed(path, x=np.arange(1000), y=np.arange(1000))
    whole = path.read_bytes()
    index = whole.rindex(b"y.npy", 0, len(whole) // 2 + 900) - 30
    damaged = bytearray(whole)
    damaged[index + 60] ^= 0xFF
    path.write_bytes(damaged)
    with pytest.raises(FileError, match=rf"a\.npz, byte {index}: .*y\.npy.* damaged"):
        readers.NPZDataset(path)
    path.write_bytes(whole[:-50])
    with pytest.raises(FileError, match=rf"a\.npz, byte {len(whole) - 50}: .*cut off"):
        readers.NPZDataset(path)
    np.savez(path, x=np.array([print, len], object))
    with pytest.raises(FileError, match=r"a\.npz, byte 0: arrays of dtype '\|O' are not read"):
        readers.NPZDataset(path)


def test_csv(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('\ufeffa,"b, quoted",kind\n1,2.5,x\n-3,1e3,y\n\n"4",nan,x\n', "utf-8")
    table = readers.CSVDataset(path, target="kind")
    assert table.columns == ["a", "b, quoted", "kind"]
    assert table.classes == ["x", "y"]
    assert table.target.tolist() == [0, 1, 0]
    assert table.features[:2].tolist() == [[1, 2.5], [-3, 1000]]
    assert table.features.isnan().sum().item() == 1
    only = readers.CSVDataset(path, ["a"], dtype=flambeau.float64, transform=lambda x: x * 2)
    assert only[1][0].tolist() == [-6]
    with pytest.raises(ValueError, match="no column 'c'; it has a, b, quoted, kind"):
        readers.CSVDataset(path, ["c"])


def test_csv_without_header(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("1;2;0.5\n3;;1\n")
    table = readers.CSVDataset(path, target=2, header=False, delimiter=";", missing=float("nan"))
    assert table.features[0].tolist() == [1, 2]
    assert table.target.tolist() == [0.5, 1]
    whole = readers.CSVDataset(path, [0], target=0, header=False, delimiter=";")
    assert whole.target.dtype == flambeau.int64


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", "byte 0: the file has no line"),
        (b"a,b\n1,2\n3\n", "byte 8: this line has 1 fields, the first one 2"),
        (b"a,b\n1,2\n3,x\n", "byte 8: field 1 of this line, 'x', is not a number"),
        (b"a,b\n1,\n", "byte 4: field 1 .* pass missing="),
        (b"a,b\n1,\xff\n", "byte 6: this is not UTF-8"),
        (b"a,b\n1,\0\n", "byte 6: a zero byte"),
        (b'a,b\n1,"2\n', "byte 4: this is no CSV"),
    ],
)
def test_damaged_csv(tmp_path, content, text):
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    with pytest.raises(FileError, match=rf"t\.csv, {text}"):
        readers.CSVDataset(path)


def test_images(tmp_path):
    for kind in ("b", "a"):
        (tmp_path / kind / "deep").mkdir(parents=True)
    gray, colour = tmp_path / "a" / "1.pgm", tmp_path / "a" / "deep" / "2.PPM"
    gray.write_bytes(b"P5\n# a comment\n2 3\n255\n" + bytes(range(6)))
    colour.write_bytes(b"P6 1 2 255\n" + bytes(range(6)))
    np.save(tmp_path / "b" / "0.npy", np.ones((3, 2, 2), "f4"))
    (tmp_path / "b" / "notes.txt").write_text("no image")
    folder = readers.ImageFolder(tmp_path, target_transform=lambda y: -y)
    assert folder.classes == ["a", "b"]
    assert folder.class_to_idx == {"a": 0, "b": 1}
    assert folder.targets == [0, 0, 1]
    assert folder[0][0].tolist() == [[[0, 1], [2, 3], [4, 5]]]
    assert folder[1][0].tolist() == [[[0], [3]], [[1], [4]], [[2], [5]]]
    assert folder[2][0].shape == (3, 2, 2) and folder[2][1] == -1
    assert readers.ImageFolder(tmp_path, loader=str)[0][0] == str(gray)
    (tmp_path / "c").mkdir()
    with pytest.raises(FileNotFoundError, match=r"c has no file that ends in"):
        readers.ImageFolder(tmp_path)
    with pytest.raises(FileNotFoundError, match="no folders"):
        readers.ImageFolder(tmp_path / "c")


def test_sixteen_bits(tmp_path):
    path = tmp_path / "x.pgm"
    path.write_bytes(b"P5 2 1 65535 " + b"\x01\x02\x03\x04")
    assert readers.read_image(path).tolist() == [[[0x0102, 0x0304]]]


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("x.ppm", b"P3 1 1 255 ", "byte 0: a binary PGM or PPM"),
        ("x.pgm", b"P5 2 x", "byte 5: the height"),
        ("x.pgm", b"P5 2", "byte 4: the height"),
        ("x.pgm", b"P5 2 2 70000 ", "the greatest value lies"),
        ("x.pgm", b"P5 2 2 255 abc", "byte 14: 2 x 2 pixels of 1 bytes are 4 bytes, but 3"),
        ("x.pgm", b"P5 1 1 255 abc", "byte 12: "),
        ("x.npy", b"nonsense", "byte 0: "),
    ],
)
def test_damaged_images(tmp_path, name, content, text):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(FileError, match=text):
        readers.read_image(path)


def test_pillow(tmp_path, monkeypatch):
    image = pytest.importorskip("PIL.Image", reason="needs Pillow")
    pixels = np.arange(12, dtype="u1").reshape(2, 2, 3)
    image.fromarray(pixels).save(tmp_path / "x.png")
    assert readers.read_image(tmp_path / "x.png").tolist() == pixels.transpose(2, 0, 1).tolist()
    (tmp_path / "y.png").write_bytes(b"nonsense")
    with pytest.raises(FileError, match=r"y\.png"):
        readers.read_image(tmp_path / "y.png")


def test_without_pillow(tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install flambeau-nn\[images\]"):
        readers.read_image(tmp_path / "x.jpg")


class Bomb:
    def __reduce__(self):
        return pytest.fail, ("a file ran code",)


def test_no_reader_runs_what_a_file_says(tmp_path):
    path = tmp_path / "x.npy"
    array = np.empty(1, object)
    array[0] = Bomb()
    np.save(path, array, allow_pickle=True)
    with pytest.raises(FileError):
        readers.read_image(path)
    path.write_bytes(pickle.dumps(Bomb()))
    for read in (readers.read_image, readers.read_idx, readers.NPZDataset, readers.CSVDataset):
        with pytest.raises(FileError):
            read(path)


def test_random_damage_never_crashes(tmp_path):
    rng = random.Random(0)
    write_idx(tmp_path / "x", np.arange(20, dtype="i2").reshape(4, 5))
    np.savez_compressed(tmp_path / "x.npz", x=np.arange(5))
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    (tmp_path / "x.pgm").write_bytes(b"P5 2 2 255 abcd")
    pairs = [
        (readers.read_idx, "x"),
        (readers.NPZDataset, "x.npz"),
        (readers.CSVDataset, "x.csv"),
        (readers.read_image, "x.pgm"),
    ]
    for read, name in pairs:
        path = tmp_path / name
        whole = path.read_bytes()
        for _ in range(150):
            damaged = bytearray(whole)
            damaged[rng.randrange(len(whole))] = rng.randrange(256)
            path.write_bytes(
                damaged[: rng.randrange(len(whole) + 1)] if rng.random() < 0.3 else damaged
            )
            try:
                read(path)
            except ValueError as error:  # FileError is one
                assert name in str(error)
