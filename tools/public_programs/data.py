"""Small data sets in the files that programs expect, made of random numbers with a seed."""

from __future__ import annotations

import pickle
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

TRAIN, TEST = 4096, 512
WORDS = 400


def _generator() -> Any:
    return np.random.default_rng(0)


def _write_idx(path: Path, array: Any) -> None:
    head = struct.pack(">HBB", 0, 8, array.ndim) + struct.pack(f">{array.ndim}I", *array.shape)
    path.write_bytes(head + array.tobytes())


def _digits(labels: Any, draws: Any) -> Any:
    """Pictures of 28x28, of another shape for each label."""
    shapes = draws.integers(0, 256, (10, 7, 7)).repeat(4, 1).repeat(4, 2)
    noise = draws.integers(0, 64, (len(labels), 28, 28))
    return (shapes[labels] * 3 // 4 + noise).clip(0, 255).astype(np.uint8)


def mnist(root: Path, folder: str = "MNIST") -> None:
    """The files of MNIST, under ``root/MNIST/raw``."""
    raw = root / folder / "raw"
    raw.mkdir(parents=True, exist_ok=True)
    draws = _generator()
    for prefix, count in (("train", TRAIN), ("t10k", TEST)):
        labels = draws.integers(0, 10, count)
        _write_idx(raw / f"{prefix}-images-idx3-ubyte", _digits(labels, draws))
        _write_idx(raw / f"{prefix}-labels-idx1-ubyte", labels.astype(np.uint8))


def fashionmnist(root: Path) -> None:
    """The files of FashionMNIST, in the format of MNIST."""
    mnist(root, "FashionMNIST")


def _write_cifar(path: Path, count: int, keys: dict[str, int]) -> None:
    draws = _generator()
    found = {"data": draws.integers(0, 256, (count, 3072)).astype(np.uint8)}
    path.write_bytes(pickle.dumps(
        {**found, **{key: draws.integers(0, top, count).tolist() for key, top in keys.items()}}))


def cifar10(root: Path) -> None:
    """The files of CIFAR-10."""
    folder = root / "cifar-10-batches-py"
    folder.mkdir(parents=True, exist_ok=True)
    for i in range(1, 6):
        _write_cifar(folder / f"data_batch_{i}", TRAIN // 4, {"labels": 10})
    _write_cifar(folder / "test_batch", TEST, {"labels": 10})
    names = {"label_names": [f"class {i}" for i in range(10)]}
    (folder / "batches.meta").write_bytes(pickle.dumps(names))


def cifar100(root: Path) -> None:
    """The files of CIFAR-100."""
    folder = root / "cifar-100-python"
    folder.mkdir(parents=True, exist_ok=True)
    keys = {"fine_labels": 100, "coarse_labels": 20}
    for name, count in (("train", TRAIN), ("test", TEST)):
        _write_cifar(folder / name, count, keys)
    names = [f"class {i}" for i in range(100)]
    (folder / "meta").write_bytes(pickle.dumps({"fine_label_names": names}))


def images(folder: Path, count: int = 48, size: int = 64) -> None:
    """A folder of JPEG pictures."""
    from PIL import Image

    folder.mkdir(parents=True, exist_ok=True)
    draws = _generator()
    for i in range(count):
        coarse = draws.integers(0, 256, (8, 8, 3)).astype(np.uint8)
        Image.fromarray(coarse).resize((size, size)).save(folder / f"{i:04d}.jpg")


def classes(folder: Path) -> None:
    """Folders ``train`` and ``val`` with a folder of pictures for each of four classes."""
    for part in ("train", "val"):
        for label in "abcd":
            images(folder / part / label, 12)


def _sentences(count: int) -> str:
    draws = _generator()
    ranks = draws.zipf(1.3, (count, 12)) % WORDS
    return "\n".join(" ".join(f"w{word}" for word in line) for line in ranks) + "\n"


def text(folder: Path) -> None:
    """Files of words: ``train.txt``, ``valid.txt``, ``test.txt``."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, count in (("train", 2000), ("valid", 100), ("test", 100)):
        (folder / f"{name}.txt").write_text(_sentences(count))


def letters(path: Path) -> None:
    """One file of text, for models of characters."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(map(chr, range(32, 127))) + "\n" + _sentences(3000))


def names(path: Path) -> None:
    """A word a line, for models of names."""
    draws = _generator()
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ("".join(chr(97 + letter) for letter in draws.integers(0, 26, length))
             for length in draws.integers(3, 10, 2000))
    path.write_text("\n".join(lines) + "\n")


def nanogpt(folder: Path) -> None:
    """What nanoGPT's preparation of characters writes."""
    folder.mkdir(parents=True, exist_ok=True)
    content = _sentences(6000)
    known = sorted(set(content))
    codes = {letter: code for code, letter in enumerate(known)}
    array = np.array([codes[letter] for letter in content], np.uint16)
    array[:-20000].tofile(folder / "train.bin")
    array[-20000:].tofile(folder / "val.bin")
    meta = {"vocab_size": len(known), "stoi": codes, "itos": dict(enumerate(known))}
    (folder / "meta.pkl").write_bytes(pickle.dumps(meta))


def cora(folder: Path) -> None:
    """A graph of papers in the format of Cora."""
    folder.mkdir(parents=True, exist_ok=True)
    draws = _generator()
    count, features = 2708, 300
    words = draws.random((count, features)) < 0.05
    labels = draws.integers(0, 7, count)
    lines = ("\t".join([str(1000 + i), *map(str, words[i].astype(int)), f"topic_{labels[i]}"])
             for i in range(count))
    (folder / "cora.content").write_text("\n".join(lines) + "\n")
    ends = np.unique(draws.integers(0, count, (5400, 2)), axis=0) + 1000
    (folder / "cora.cites").write_text("\n".join(f"{a}\t{b}" for a, b in ends) + "\n")


MAKERS: dict[str, Callable[[Path], None]] = {
    made.__name__: made
    for made in (mnist, fashionmnist, cifar10, cifar100, images, classes, text, letters, names,
                 nanogpt, cora)}
