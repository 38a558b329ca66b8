"""Handlers that make objects of files, by their ending."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable
from typing import Any

import flambeau

from .common import StreamWrapper

__all__ = ["Decoder", "basichandlers", "extension_extract_fn", "imagehandler"]

_TEXTS = ("txt", "text", "transcript")
_NUMBERS = ("cls", "cls2", "class", "count", "index", "inx", "id")
_IMAGES = ("jpg", "jpeg", "png", "ppm", "pgm", "pbm", "pnm")
_MODES = {"l": "L", "rgb": "RGB", "rgba": "RGBA"}


def basichandlers(extension: str, data: Any) -> Any:
    """What a file of text, a number, JSON or tensors holds; None of other files.

    Args:
        extension: The file's ending.
        data: The file, or its bytes.
    """
    if extension not in (*_TEXTS, *_NUMBERS, "json", "jsn", "pt"):
        return None
    content = data if isinstance(data, bytes) else data.read()
    if extension == "pt":
        return flambeau.load(io.BytesIO(content))
    text = content if isinstance(content, str) else content.decode("utf-8")
    if extension in _TEXTS:
        return text
    return json.loads(text) if extension in ("json", "jsn") else int(text)


def imagehandler(imagespec: str) -> Callable[[str, Any], Any]:
    """A handler of images, which gives objects of PIL, arrays of NumPy or tensors.

    Args:
        imagespec: ``"pil"``, ``"torch"``, or a mode with a depth: ``"rgb8"``, ``"torchl"``; with
            8 integers, else fractions of 255.

    Raises:
        ValueError: It is none of these.
    """
    spec = {"torch": "torchrgb", "pil": "pilrgb"}.get(imagespec, imagespec)
    kind = next((each for each in ("torch", "pil") if spec.startswith(each)), "")
    mode = spec.removeprefix(kind).removesuffix("8")
    if mode not in _MODES:
        raise ValueError(f"imagehandler({imagespec!r}): write pil, torch, or a mode such as rgb8")
    is_integer = spec.endswith("8")

    def handle(extension: str, data: Any) -> Any:
        if extension.lower() not in _IMAGES:
            return None
        import numpy
        from PIL import Image

        file = io.BytesIO(data if isinstance(data, bytes) else data.read())
        image = Image.open(file).convert(_MODES[mode])
        if kind == "pil":
            return image
        found: Any = numpy.asarray(image)
        if not is_integer:
            found = found.astype("f") / 255.0
        if kind != "torch":
            return found
        whole = found if found.ndim == 3 else found[:, :, None]
        return flambeau.tensor(whole.transpose(2, 0, 1).copy())

    return handle


def extension_extract_fn(pathname: str) -> str:
    """The ending of a path, without its dot."""
    return os.path.splitext(pathname)[1].removeprefix(".")


class Decoder:
    """Makes objects of the files in a sample, by the first handler that gives one.

    Args:
        handler: The handlers.
        key_fn: Makes what they are asked with of a path.
    """

    def __init__(self, *handler: Callable[[str, Any], Any],
                 key_fn: Callable[[str], str] = extension_extract_fn) -> None:
        self.handlers = list(handler)
        self.key_fn = key_fn

    def add_handler(self, *handler: Callable[[str, Any], Any]) -> None:
        """Let handlers be asked before the others."""
        self.handlers = [*handler, *self.handlers]

    def decode1(self, key: str, data: Any) -> Any:
        """What the first handler gives that knows the key; the file, if none does."""
        for handler in self.handlers:
            found = handler(key, data)
            if found is not None:
                return found
        return data

    def __call__(self, data: Any) -> dict[str, Any]:
        pairs = dict(data.items()) if isinstance(data, dict) else {data[0]: data[1]}
        made = {}
        for path, stream in pairs.items():
            made[path] = stream if path.startswith("_") else self.decode1(self.key_fn(path), stream)
            if made[path] is not stream and isinstance(stream, StreamWrapper | io.IOBase):
                stream.close()
        return made
