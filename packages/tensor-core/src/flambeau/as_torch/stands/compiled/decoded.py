"""Encoded images as tensors, as torchvision's library of image files gives them, by Pillow."""
from __future__ import annotations

import io
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy

import flambeau
from flambeau.core import Tensor

#: Pillow's names of `torchvision.io.ImageReadMode`.
MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}
#: How bytes are refused that are in another format.
REFUSALS = {"PNG": "Content is not png", "JPEG": "Not a JPEG file",
            "WEBP": "WebPGetFeatures failed. The content is not webp",
            "GIF": "DGifOpenFileName() failed - 103. The content is not gif"}
#: What brightness is made of.
WEIGHTS = numpy.array([0.299, 0.587, 0.114])

#: What makes an image upright, by the orientation in its EXIF data.
TURNS: dict[int, Callable[[numpy.ndarray], numpy.ndarray]] = {
    2: numpy.fliplr, 3: partial(numpy.rot90, k=2), 4: numpy.flipud,
    5: lambda image: image.swapaxes(0, 1), 6: partial(numpy.rot90, k=-1),
    7: lambda image: image[::-1, ::-1].swapaxes(0, 1), 8: numpy.rot90}


def _opened(data: Tensor, kind: str | None = None) -> Any:
    from PIL import Image

    if data.dtype != flambeau.uint8:
        raise RuntimeError(f"Input tensor must have uint8 data type, got {data.dtype}")
    if data.dim() != 1:
        raise RuntimeError(f"Input tensor must be 1-dimensional, got shape {tuple(data.shape)}")
    if not data.is_contiguous():
        raise RuntimeError("Input tensor must be contiguous; write data.contiguous()")
    buffer = io.BytesIO(data.cpu().numpy().tobytes())
    try:
        return Image.open(buffer, formats=[kind] if kind else list(REFUSALS))
    except OSError as error:
        refusal = REFUSALS.get(kind or "", "Unsupported image file. Only jpeg, png, webp and gif "
                               "are currently supported")
        raise RuntimeError(f"{refusal} ({error})") from None


def _array(image: Any) -> numpy.ndarray:
    """The pixels of an image: shape ``(height, width)`` or ``(height, width, channels)``."""
    try:
        return numpy.array(image)
    except OSError as error:
        raise RuntimeError(f"Image is incomplete or truncated, or damaged ({error})") from None


def _tensor(array: numpy.ndarray) -> Tensor:
    """Shape ``(channels, height, width)``, where channels lie side by side in memory."""
    return flambeau.from_numpy(numpy.ascontiguousarray(array)).permute(2, 0, 1)


def decode_image(data: Tensor, mode: int = 0, apply_exif_orientation: bool = False,
                 kind: str | None = None) -> Tensor:
    """The pixels of an encoded image: shape ``(channels, height, width)``."""
    image = _opened(data, kind)
    if image.format == "GIF":
        return decode_gif(data)
    deep = image.format == "PNG" and str(image.tile[0].args).endswith("16B")
    array = numpy.atleast_3d(_deep(data, mode) if deep else _plain(image, mode))
    orientation = image.getexif().get(0x0112, 1) if apply_exif_orientation else 1
    return _tensor(TURNS[orientation](array) if orientation in TURNS else array)


def _plain(image: Any, mode: int) -> numpy.ndarray:
    """The pixels of an image of at most 8 bits a channel."""
    if mode in MODES:
        return _array(image.convert(MODES[mode]))
    if image.mode == "CMYK" and "CMYK;I" in image.tile[0].args:
        return 255 - _array(image)              # as they are stored
    return _array(image.convert("L") if image.mode == "1" else image)


def _deep(data: Tensor, mode: int) -> numpy.ndarray:
    """The pixels of a PNG image of 16 bits a channel, of which Pillow keeps the upper 8.

    The lower ones are where a file of the other order of bytes would have the upper ones.
    """
    image = _opened(data)
    stored = image.tile[0].args
    if image.mode == "I;16":
        array = _array(image)[..., None]
    elif stored == "LA;16B":        # four bytes a pixel
        array = numpy.ascontiguousarray(_array(_as_stored(image, "RGBA"))).view(">u2")
    else:
        lower = _array(_as_stored(_opened(data), stored.replace("16B", "16L")))
        array = _array(image).astype(numpy.uint16) << 8 | lower
    return _with_channels(array.astype(numpy.uint16), mode)


def _as_stored(image: Any, stored: str) -> Any:
    """An image that is not read yet, to be read in another form."""
    image.tile = [image.tile[0]._replace(args=stored)]
    return image


def _with_channels(array: numpy.ndarray, mode: int) -> numpy.ndarray:
    """Channels as a mode has them; 0 leaves them as they are."""
    if mode not in MODES:
        return array
    channels, alpha = array.shape[2], array[..., -1:]
    color = array[..., :channels - (channels in (2, 4))]
    if channels in (1, 3):
        alpha = numpy.full_like(alpha, 65535)
    if MODES[mode].startswith("RGB"):
        color = numpy.broadcast_to(color, (*color.shape[:2], 3))
    elif color.shape[2] == 3:
        color = numpy.rint(color @ WEIGHTS)[..., None].astype(numpy.uint16)
    return numpy.concatenate([color, alpha], 2) if MODES[mode].endswith("A") else color.copy()


def decode_gif(data: Tensor) -> Tensor:
    """The frames of an animation: shape ``(frames, 3, height, width)``, one without `frames`."""
    from PIL import ImageSequence

    frames = [_array(frame.convert("RGB"))
              for frame in ImageSequence.Iterator(_opened(data, "GIF"))]
    if len(frames) == 1:
        return _tensor(frames[0])
    return flambeau.from_numpy(numpy.stack(frames)).permute(0, 3, 1, 2)


decode_png = partial(decode_image, kind="PNG")
decode_jpeg = partial(decode_image, kind="JPEG")
decode_webp = partial(decode_image, kind="WEBP")
