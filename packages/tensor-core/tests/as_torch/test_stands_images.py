"""Image files as torchvision's library reads them: formats, depths, modes, orientations, errors."""
from __future__ import annotations

import pytest
from test_alias import lines

SET_UP = '''
import io, struct, zlib
import numpy as np
import torch
from PIL import Image, ImageOps
torch.ops.load_library("torchvision/image.so")
ops, rng = torch.ops.image, np.random.default_rng(0)

def as_bytes(array_or_image, kind="PNG", **options):
    image = array_or_image if hasattr(array_or_image, "save") else Image.fromarray(array_or_image)
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return torch.frombuffer(bytearray(buffer.getvalue()), dtype=torch.uint8)

def deep(pixels, kind, orientation=None):
    """A PNG file of 16 bits a channel, whose rows are stored as differences to their left."""
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(
            ">I", zlib.crc32(name + data))
    height, width, channels = pixels.shape
    rows = np.ascontiguousarray(pixels.astype(">u2")).view(np.uint8).reshape(height, -1)
    before = np.zeros_like(rows)
    before[:, 2 * channels:] = rows[:, :-2 * channels]
    rows = np.concatenate([np.ones((height, 1), np.uint8), rows - before], 1)
    exif = Image.Exif()
    exif[0x0112] = orientation or 1
    data = b"\\x89PNG\\r\\n\\x1a\\n" + chunk(
        b"IHDR", struct.pack(">IIBBBBB", width, height, 16, kind, 0, 0, 0)) + chunk(
        b"eXIf", exif.tobytes()[6:]) + chunk(
        b"IDAT", zlib.compress(rows.tobytes())) + chunk(b"IEND", b"")
    return torch.frombuffer(bytearray(data), dtype=torch.uint8)

def chw(array):
    return torch.from_numpy(np.ascontiguousarray(np.atleast_3d(array).transpose(2, 0, 1)))
'''


def decoded(code):
    pytest.importorskip("PIL", reason="needs Pillow")
    return lines(SET_UP + code)


def test_sixteen_bits_a_channel_are_kept():
    assert decoded('''
full = 65535
for channels, kind in ((1, 0), (2, 4), (3, 2), (4, 6)):
    pixels = rng.integers(0, full + 1, (5, 7, channels)).astype(np.uint16)
    data = deep(pixels, kind)
    alpha = pixels[..., -1:] if channels in (2, 4) else np.full_like(pixels[..., :1], full)
    color = pixels[..., :3] if channels > 2 else pixels[..., :1]
    gray = color if color.shape[2] == 1 else np.rint(
        color[..., :1] * 0.299 + color[..., 1:2] * 0.587 + color[..., 2:] * 0.114)
    rgb = np.repeat(color, 3, 2) if color.shape[2] == 1 else color
    wanted = [pixels, gray, np.concatenate([gray, alpha], 2), rgb, np.concatenate([rgb, alpha], 2)]
    for mode, want in enumerate(wanted):
        found = ops.decode_png(data, mode, False)
        print(found.dtype, torch.equal(found, chw(want.astype(np.uint16))))
''') == ["torch.uint16 True"] * 20


def test_pixels_are_given_as_they_are_stored():
    assert decoded('''
pixels = rng.integers(0, 256, (6, 9, 4)).astype(np.uint8)
palette = Image.fromarray(pixels[..., :3]).quantize(8)
print(torch.equal(ops.decode_png(as_bytes(palette), 0), chw(np.array(palette))))
print(torch.equal(ops.decode_png(as_bytes(palette), 3), chw(np.array(palette.convert("RGB")))))
bits = pixels[..., 0] > 99
print(torch.equal(ops.decode_png(as_bytes(bits), 0), chw(bits * np.uint8(255))))
inks = Image.fromarray(pixels, "CMYK")
data = as_bytes(inks, "JPEG", quality=100)
read = Image.open(io.BytesIO(bytes(data.numpy())))
how = read.tile[0].args[0]
stored = 255 - np.array(read)           # what Adobe's files hold are complements
print(how, torch.equal(ops.decode_jpeg(data, 0), chw(stored)))
print(torch.equal(ops.decode_jpeg(data, 3), chw(np.array(read.convert("RGB")))))
found = ops.decode_image(as_bytes(pixels[..., :3]), 0)
print(torch.equal(found, chw(pixels[..., :3])), found.stride())
found += 1
''') == ["True", "True", "True", "CMYK;I True", "True", "True (1, 27, 3)"]


def test_orientations_are_those_of_pillow():
    assert decoded('''
pixels = rng.integers(0, 256, (4, 5, 3)).astype(np.uint8)
for orientation in range(10):
    exif = Image.Exif()
    exif[0x0112] = orientation
    data = as_bytes(pixels, exif=exif.tobytes())
    want = np.array(ImageOps.exif_transpose(Image.open(io.BytesIO(bytes(data.numpy())))))
    same = torch.equal(ops.decode_image(data, 0, True), chw(want))
    high = ops.decode_png(deep(pixels.astype(np.uint16) * 257, 2, orientation), 0, True)
    print(same, torch.equal(high.int(), chw(want).int() * 257),
          torch.equal(ops.decode_image(data, 0, False), chw(pixels)))
''') == ["True True True"] * 10


def test_animations_have_frames():
    assert decoded('''
first, second = (Image.fromarray(np.full((3, 4, 3), n, np.uint8)) for n in (10, 200))
for frames in ([], [second]):
    data = as_bytes(first, "GIF", save_all=True, append_images=frames)
    found = ops.decode_gif(data)
    print(found.shape, torch.equal(found, ops.decode_image(data, 0)), found.max().item())
''') == ["torch.Size([3, 3, 4]) True 10", "torch.Size([2, 3, 3, 4]) True 200"]


def test_refusals_say_what_is_wrong():
    assert decoded('''
pixels = torch.zeros(3, 4, 4, dtype=torch.uint8)
png = ops.encode_png(pixels, 6)
jpeg = as_bytes(rng.integers(0, 256, (64, 64, 3)).astype(np.uint8), "JPEG")
for call, word in [
    (lambda: ops.decode_png(png[None], 0), "1-dimensional"),
    (lambda: ops.decode_jpeg(png.float(), 0), "uint8 data type"),
    (lambda: ops.decode_gif(png[::2]), "contiguous"),
    (lambda: ops.decode_jpeg(png, 0), "Not a JPEG file"),
    (lambda: ops.decode_png(jpeg, 0), "not png"),
    (lambda: ops.decode_image(png[:5], 0), "Unsupported image file"),
    (lambda: ops.decode_jpeg(jpeg[:-900], 0), "incomplete or truncated"),
    (lambda: ops.read_file("not/there"), "No such file or directory: 'not/there'"),
    (lambda: ops.encode_png(pixels.float(), 6), "dtype should be uint8"),
    (lambda: ops.encode_png(pixels, 10), "between 0 and 9"),
    (lambda: ops.encode_jpeg(pixels[:2], 75), "channels should be 1 or 3, got: 2"),
    (lambda: ops.encode_jpeg(pixels[0], 75), "3-dimensional"),
]:
    try:
        call()
        print("no error")
    except RuntimeError as error:
        print(word in str(error) or error)
''') == ["True"] * 12
