"""IDX, the format of MNIST and its relatives."""

from __future__ import annotations

import gzip
import mmap
import os
import struct
import zlib
from collections.abc import Callable
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau.core.io.memory import over_bytes

from ..dataset import Dataset
from ._damage import fail

_DTYPES = {
    0x08: flambeau.uint8,
    0x09: flambeau.int8,
    0x0B: flambeau.int16,
    0x0C: flambeau.int32,
    0x0D: flambeau.float32,
    0x0E: flambeau.float64,
}
_GZIP = b"\x1f\x8b"


def read_idx(path: Any) -> Tensor:
    """The array in an IDX file, which may be compressed with gzip.

    Files that are not compressed are mapped: their bytes are read when they are used, and a
    tensor of bytes is read-only. See http://yann.lecun.com/exdb/mnist for the format.

    Args:
        path: The file.

    Raises:
        FileError: The file is not in this format, cut off or damaged.

    Example:
        >>> import os, tempfile
        >>> from flambeau.utils.data.readers import read_idx
        >>> path = os.path.join(tempfile.mkdtemp(), "labels-idx1-ubyte")
        >>> with open(path, "wb") as file:
        ...     _ = file.write(bytes([0, 0, 8, 1, 0, 0, 0, 3, 7, 8, 9]))
        >>> read_idx(path)
        tensor([7, 8, 9], dtype=flambeau.uint8)
    """
    content = _content(path)
    if len(content) < 4:
        fail(path, len(content), "the file ends inside the first four bytes of an IDX file")
    zero, code, ndim = struct.unpack(">HBB", content[:4])
    if zero != 0:
        fail(path, 0, f"an IDX file begins with two zero bytes, not {bytes(content[:2])!r}")
    if code not in _DTYPES:
        known = ", ".join(f"0x{each:02x}" for each in _DTYPES)
        fail(path, 2, f"0x{code:02x} is no type of IDX; there are {known}")
    start = 4 + 4 * ndim
    if len(content) < start:
        fail(path, len(content), f"the file ends inside the sizes of its {ndim} dimensions")
    shape = struct.unpack(f">{ndim}I", content[4:start])
    return _array(path, content, start, shape, _DTYPES[code])


def _array(
    path: Any, content: memoryview, start: int, shape: tuple[int, ...], dtype: Any
) -> Tensor:
    count = 1
    for size in shape:
        count *= size
    end = start + count * dtype.itemsize
    if end != len(content):
        what = "ends too early" if end > len(content) else "goes on after its array"
        fail(
            path,
            min(end, len(content)),
            f"the file {what}: sizes {list(shape)} of {dtype} make {end} bytes, there are "
            f"{len(content)}",
        )
    flat: Tensor = over_bytes(content[start:], dtype, big_endian=True)
    return flat.view(shape)


def _content(path: Any) -> memoryview:
    """The bytes of the file: mapped, or unpacked."""
    with open(path, "rb") as file:
        if file.read(2) == _GZIP:
            return _unpack(path)
        if os.fstat(file.fileno()).st_size == 0:
            return memoryview(b"")
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def _unpack(path: Any) -> memoryview:
    with open(path, "rb") as packed:
        try:
            with gzip.GzipFile(fileobj=packed) as file:
                return memoryview(bytearray(file.read()))
        except (OSError, EOFError, zlib.error) as error:
            fail(path, packed.tell(), f"the gzip stream is damaged or cut off ({error})")


class IDXDataset(Dataset[tuple[Any, ...]]):
    """Images, and labels if there are any, from IDX files.

    Args:
        images: The file of the images, or whatever the samples are.
        labels: The file of their labels.
        transform: Applied to every image, which is a tensor of its shape in the file.
        target_transform: Applied to every label, which is an ``int``.

    Raises:
        FileError: A file is damaged.
        ValueError: There are more or fewer labels than images.

    Example:
        >>> import os, tempfile
        >>> from flambeau.utils.data.readers import IDXDataset
        >>> folder = tempfile.mkdtemp()
        >>> images, labels = (os.path.join(folder, name) for name in ("images", "labels"))
        >>> for path, head in ((images, [0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 2]),
        ...                    (labels, [0, 0, 8, 1, 0, 0, 0, 2])):
        ...     with open(path, "wb") as file:
        ...         _ = file.write(bytes(head + [1, 2, 3, 4][: 4 if path == images else 2]))
        >>> IDXDataset(images, labels)[1]
        (tensor([3, 4], dtype=flambeau.uint8), 2)
    """

    def __init__(
        self,
        images: Any,
        labels: Any = None,
        transform: Callable[[Tensor], Any] | None = None,
        target_transform: Callable[[int], Any] | None = None,
    ) -> None:
        self.images = read_idx(images)
        if not self.images.ndim:
            raise ValueError(f"{images} holds one number, not a row of samples")
        self.labels = None if labels is None else read_idx(labels)
        self.transform = transform
        self.target_transform = target_transform
        counts = self.images.shape[0], None if self.labels is None else self.labels.numel()
        if counts[1] not in (None, counts[0]):
            raise ValueError(f"{images} has {counts[0]} samples, but {labels} has {counts[1]}")

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        image: Any = self.images[index]
        if self.transform is not None:
            image = self.transform(image)
        if self.labels is None:
            return (image,)
        label: Any = self.labels[index].item()
        return image, label if self.target_transform is None else self.target_transform(label)

    def __len__(self) -> int:
        return int(self.images.shape[0])
