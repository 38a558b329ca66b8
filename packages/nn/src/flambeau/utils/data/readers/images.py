"""Images in folders, one folder per class."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau.core.io import FileError

from ..dataset import Dataset
from ._damage import fail

_OWN = (".npy", ".ppm", ".pgm")
_PILLOW = (".bmp", ".gif", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp")
EXTENSIONS = (*_OWN, *_PILLOW)


class ImageFolder(Dataset[tuple[Any, int]]):
    """Images of ``root/CLASS/.../NAME``, and the number of each one's class.

    Args:
        root: A folder with a folder for every class.
        transform: Applied to every image.
        target_transform: Applied to every class number.
        loader: Reads an image; ``read_image`` when left out.
        extensions: Which files count.

    Attributes:
        classes: The classes' names, sorted.
        class_to_idx: The number of each.
        samples: (path, class number) of each image, sorted by path.

    Raises:
        FileNotFoundError: There is no folder in ``root``, or no image in one of them.

    Example:
        >>> import flambeau, os, tempfile
        >>> from flambeau.utils.data.readers import ImageFolder
        >>> root = tempfile.mkdtemp()
        >>> for name in ("cat", "dog"):
        ...     os.mkdir(os.path.join(root, name))
        ...     flambeau.save(flambeau.zeros(3, 2, 2), os.path.join(root, name, "1.npy"))
        >>> images = ImageFolder(root)
        >>> images.classes, images[1][0].shape, images[1][1]
        (['cat', 'dog'], flambeau.Size([3, 2, 2]), 1)
    """

    def __init__(
        self,
        root: Any,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[int], Any] | None = None,
        loader: Callable[[str], Any] | None = None,
        extensions: Sequence[str] = EXTENSIONS,
    ) -> None:
        self.root = os.fspath(root)
        with os.scandir(self.root) as entries:
            self.classes = sorted(entry.name for entry in entries if entry.is_dir())
        if not self.classes:
            raise FileNotFoundError(f"{self.root} has no folders; there is one for every class")
        self.class_to_idx = {name: i for i, name in enumerate(self.classes)}
        self.samples: list[tuple[str, int]] = []
        for name, number in self.class_to_idx.items():
            found = _files(os.path.join(self.root, name), tuple(extensions))
            if not found:
                raise FileNotFoundError(
                    f"{os.path.join(self.root, name)} has no file that ends in "
                    f"{', '.join(extensions)}"
                )
            self.samples += [(path, number) for path in found]
        self.targets = [number for _, number in self.samples]
        self.transform = transform
        self.target_transform = target_transform
        self.loader = read_image if loader is None else loader

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        path, number = self.samples[index]
        image = self.loader(path)
        if self.transform is not None:
            image = self.transform(image)
        return image, number if self.target_transform is None else self.target_transform(number)

    def __len__(self) -> int:
        return len(self.samples)


def read_image(path: Any) -> Tensor:
    """An image as a tensor of shape (channels, height, width).

    Binary PPM and PGM files give uint8, or uint16 where they have 16 bits; ``.npy`` files give
    what they hold, mapped and read-only. Other formats are read by Pillow, which
    ``pip install flambeau-nn[images]`` brings, as uint8 with three channels.

    Args:
        path: The file.

    Raises:
        FileError: The file is damaged.
        ModuleNotFoundError: The format needs Pillow.

    Example:
        >>> import os, tempfile
        >>> from flambeau.utils.data.readers import read_image
        >>> path = os.path.join(tempfile.mkdtemp(), "gray.pgm")
        >>> with open(path, "wb") as file:
        ...     _ = file.write(b"P5 2 1 255 " + bytes([7, 9]))
        >>> read_image(path)
        tensor([[[7, 9]]], dtype=flambeau.uint8)
    """
    ending = os.path.splitext(os.fspath(path))[1].lower()
    if ending == ".npy":
        try:
            return flambeau.load(path, mmap=True)
        except FileError as error:
            fail(path, 0, str(error).removeprefix("load(): "))
    if ending in (".ppm", ".pgm"):
        return _read_netpbm(path)
    return _read_with_pillow(path)


def _files(folder: str, extensions: tuple[str, ...]) -> list[str]:
    found = []
    for parent, _, names in os.walk(folder, followlinks=True):
        chosen = [name for name in names if name.lower().endswith(extensions)]
        found += [os.path.join(parent, name) for name in chosen]
    return sorted(found)


def _read_netpbm(path: Any) -> Tensor:
    """See https://netpbm.sourceforge.net/doc/ppm.html."""
    with open(path, "rb") as file:
        content = bytearray(file.read())
    kind = bytes(content[:2])
    if kind not in (b"P5", b"P6"):
        fail(path, 0, f"a binary PGM or PPM file begins with P5 or P6, not {kind!r}")
    channels = 1 if kind == b"P5" else 3
    at = 2
    numbers = []
    for what in ("width", "height", "greatest value"):
        number, at = _read_number(path, content, at, what)
        numbers.append(number)
    width, height, top = numbers
    if not 0 < top < 65536:
        fail(path, at, f"the greatest value lies between 1 and 65535, not {top}")
    dtype = flambeau.uint8 if top < 256 else flambeau.uint16
    at += 1  # one white space
    size = width * height * channels * dtype.itemsize
    if len(content) - at != size:
        fail(
            path,
            min(len(content), at + size),
            f"{width} x {height} pixels of {channels * dtype.itemsize} bytes are {size} bytes, "
            f"but {len(content) - at} follow the header",
        )
    from flambeau.core.io.memory import over_bytes

    flat: Tensor = over_bytes(memoryview(content)[at:], dtype, big_endian=True)
    return flat.view(height, width, channels).permute(2, 0, 1).contiguous()


def _read_number(path: Any, content: bytearray, at: int, what: str) -> tuple[int, int]:
    """The next number of the header, and where it ends; comments are passed over."""
    while at < len(content) and (content[at : at + 1].isspace() or content[at] == ord("#")):
        if content[at] == ord("#"):
            line_end = content.find(b"\n", at)
            at = len(content) if line_end < 0 else line_end
        else:
            at += 1
    end = at
    while end < len(content) and content[end : end + 1].isdigit() and end - at < 9:
        end += 1
    if end == at:
        fail(path, at, f"the {what} of the image should stand here")
    return int(content[at:end]), end


def _read_with_pillow(path: Any) -> Tensor:
    try:
        from PIL import Image
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            f"{path} is read by Pillow: pip install flambeau-nn[images]; without it there are "
            f"{', '.join(_OWN)}",
            name="PIL",
        ) from None
    try:
        with Image.open(path) as opened:
            image = opened.convert("RGB")
    except FileNotFoundError:
        raise
    except Exception as error:  # Pillow's formats raise errors of many kinds
        raise FileError(f"{path}: Pillow cannot read it: {error}") from error
    width, height = image.size
    flat = flambeau.frombuffer(bytearray(image.tobytes()), dtype=flambeau.uint8)
    return flat.view(height, width, 3).permute(2, 0, 1).contiguous()
