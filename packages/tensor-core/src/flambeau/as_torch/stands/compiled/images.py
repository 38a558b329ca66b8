"""The operators of torchvision's library of image files, by Pillow."""
from __future__ import annotations

import io
from typing import Any

import numpy

import flambeau
from flambeau.core import Tensor

#: Pillow's names of `torchvision.io.ImageReadMode`.
MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}


def read_file(filename: str) -> Tensor:
    """The bytes of a file, uint8."""
    with open(filename, "rb") as file:
        return flambeau.tensor(bytearray(file.read()), dtype=flambeau.uint8)


def write_file(filename: str, data: Tensor) -> None:
    """Write bytes to a file."""
    with open(filename, "wb") as file:
        file.write(data.cpu().numpy().tobytes())


def _opened(data: Tensor) -> Any:
    from PIL import Image

    if data.dtype != flambeau.uint8 or data.dim() != 1:
        raise RuntimeError("an encoded image is a 1-d tensor of uint8, got "
                           f"{data.dtype} of shape {tuple(data.shape)}")
    return Image.open(io.BytesIO(data.cpu().numpy().tobytes()))


def _pixels(image: Any) -> Tensor:
    """Shape ``(channels, height, width)``."""
    array = numpy.array(image)
    return flambeau.from_numpy(array[None] if array.ndim == 2
                               else numpy.ascontiguousarray(array.transpose(2, 0, 1)))


def decode_image(data: Tensor, mode: int = 0, apply_exif_orientation: bool = False) -> Tensor:
    """The pixels of an encoded image: shape ``(channels, height, width)``."""
    from PIL import ImageOps

    image = _opened(data)
    if getattr(image, "n_frames", 1) > 1 and image.format == "GIF":
        return decode_gif(data)
    if apply_exif_orientation:
        image = ImageOps.exif_transpose(image)
    if mode in MODES:
        image = image.convert(MODES[mode])
    elif image.mode == "P":
        image = image.convert("RGB")
    return _pixels(image)


def decode_gif(data: Tensor) -> Tensor:
    """The frames of an animation: shape ``(frames, 3, height, width)``, one without `frames`."""
    from PIL import ImageSequence

    frames = [_pixels(frame.convert("RGB")) for frame in ImageSequence.Iterator(_opened(data))]
    return frames[0] if len(frames) == 1 else flambeau.stack(frames)


def _encoded(image: Tensor, **options: Any) -> Tensor:
    from PIL import Image

    if image.dtype != flambeau.uint8 or image.dim() != 3 or image.size(0) not in (1, 3):
        raise RuntimeError("an image is a tensor of uint8 of shape (1 or 3, height, width), got "
                           f"{image.dtype} of shape {tuple(image.shape)}")
    array = image.cpu().numpy()
    picture = Image.fromarray(array[0] if array.shape[0] == 1 else array.transpose(1, 2, 0))
    buffer = io.BytesIO()
    picture.save(buffer, **options)
    return flambeau.tensor(bytearray(buffer.getvalue()), dtype=flambeau.uint8)


def encode_png(image: Tensor, compression_level: int) -> Tensor:
    """The bytes of a PNG file."""
    return _encoded(image, format="PNG", compress_level=compression_level)


def encode_jpeg(image: Tensor, quality: int) -> Tensor:
    """The bytes of a JPEG file."""
    return _encoded(image, format="JPEG", quality=quality)


NAMESPACE = "image"
_DECODED = "(Tensor data, int mode, bool apply_exif_orientation=False) -> Tensor"
OPERATORS: dict[str, Any] = {
    "read_file(str filename) -> Tensor": read_file,
    "write_file(str filename, Tensor data) -> ()": write_file,
    **{f"decode_{kind}{_DECODED}": decode_image for kind in ("image", "png", "jpeg", "webp")},
    "decode_gif(Tensor data) -> Tensor": decode_gif,
    "encode_png(Tensor image, int compression_level) -> Tensor": encode_png,
    "encode_jpeg(Tensor image, int quality) -> Tensor": encode_jpeg,
}
