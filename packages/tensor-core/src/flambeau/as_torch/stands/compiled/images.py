"""The operators of torchvision's library of image files, by Pillow."""
from __future__ import annotations

import io
from typing import Any

import flambeau
from flambeau.as_torch.stands.compiled import decoded
from flambeau.core import Tensor


def read_file(filename: str) -> Tensor:
    """The bytes of a file, uint8."""
    try:
        with open(filename, "rb") as file:
            return flambeau.tensor(bytearray(file.read()), dtype=flambeau.uint8)
    except OSError as error:
        raise RuntimeError(str(error)) from error


def write_file(filename: str, data: Tensor) -> None:
    """Write bytes to a file."""
    with open(filename, "wb") as file:
        file.write(data.cpu().numpy().tobytes())


def _encoded(image: Tensor, **options: Any) -> Tensor:
    from PIL import Image

    if image.dtype != flambeau.uint8:
        raise RuntimeError(f"Input tensor dtype should be uint8, got {image.dtype}; write "
                           "(image * 255).to(torch.uint8) for colours from 0 to 1")
    if image.dim() != 3:
        raise RuntimeError("Input data should be a 3-dimensional tensor, of channels, rows and "
                           f"columns; got shape {tuple(image.shape)}")
    if image.size(0) not in (1, 3):
        raise RuntimeError(f"The number of channels should be 1 or 3, got: {image.size(0)}")
    array = image.cpu().numpy()
    picture = Image.fromarray(array[0] if array.shape[0] == 1 else array.transpose(1, 2, 0))
    buffer = io.BytesIO()
    picture.save(buffer, **options)
    return flambeau.tensor(bytearray(buffer.getvalue()), dtype=flambeau.uint8)


def encode_png(image: Tensor, compression_level: int) -> Tensor:
    """The bytes of a PNG file."""
    if not 0 <= compression_level <= 9:
        raise RuntimeError("Compression level should be between 0 and 9, got "
                           f"{compression_level}")
    return _encoded(image, format="PNG", compress_level=compression_level)


def encode_jpeg(image: Tensor, quality: int) -> Tensor:
    """The bytes of a JPEG file."""
    return _encoded(image, format="JPEG", quality=quality)


NAMESPACE = "image"
_DECODED = "(Tensor data, int mode, bool apply_exif_orientation=False) -> Tensor"
OPERATORS: dict[str, Any] = {
    "read_file(str filename) -> Tensor": read_file,
    "write_file(str filename, Tensor data) -> ()": write_file,
    **{f"decode_{kind}{_DECODED}": getattr(decoded, f"decode_{kind}")
       for kind in ("image", "png", "jpeg", "webp")},
    "decode_gif(Tensor data) -> Tensor": decoded.decode_gif,
    "encode_png(Tensor image, int compression_level) -> Tensor": encode_png,
    "encode_jpeg(Tensor image, int quality) -> Tensor": encode_jpeg,
}
