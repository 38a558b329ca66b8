"""Summaries as TensorBoard stores them, from tensors, arrays and numbers."""

from __future__ import annotations

import io
import time
import wave
from typing import Any

import numpy as np

import flambeau
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary, SummaryMetadata
from tensorboard.plugins.pr_curve import metadata as pr_curve
from tensorboard.plugins.text import metadata as text
from tensorboard.util.tensor_util import make_tensor_proto

_MOST_BYTE = 255


def array_of(value: Any) -> np.ndarray[Any, Any]:
    """Numbers of a tensor, an array, a list or a number."""
    if isinstance(value, flambeau.Tensor):
        value = value.detach().cpu()
        return value.float().numpy() if value.dtype is flambeau.bfloat16 else value.numpy()
    return np.asarray(value)


def scalar(tag: str, value: Any, double_precision: bool = False, new_style: bool = False) -> Any:
    """One number."""
    numbers = array_of(value).reshape(-1)
    if numbers.size != 1:
        raise ValueError(
            f"add_scalar(): {tag!r} has {numbers.size} elements; a scalar has one. Write "
            "x.mean(), or add_histogram() for all of them"
        )
    if not new_style and not double_precision:
        return Summary(value=[Summary.Value(tag=tag, simple_value=float(numbers[0]))])
    dtype = np.float64 if double_precision else np.float32
    data = SummaryMetadata.PluginData(plugin_name="scalars")
    return Summary(
        value=[
            Summary.Value(
                tag=tag,
                tensor=make_tensor_proto(np.array(numbers[0], dtype)),
                metadata=SummaryMetadata(plugin_data=data, data_class="DATA_CLASS_SCALAR"),
            )
        ]
    )


def histogram(tag: str, values: Any, bins: Any, max_bins: int | None) -> Any:
    """How many numbers lie in each bin, and their moments."""
    numbers = array_of(values).reshape(-1).astype(np.float64)
    if not numbers.size:
        raise ValueError(f"add_histogram(): {tag!r} has no elements")
    edges = _growing_edges() if bins == "tensorflow" else bins
    counts, limits = np.histogram(numbers, bins=edges)
    if max_bins is not None and len(counts) > max_bins:
        step = -(-len(counts) // max_bins)
        padded = np.concatenate([counts, np.zeros(-len(counts) % step, counts.dtype)])
        counts = padded.reshape(-1, step).sum(1)
        limits = np.concatenate([limits[:-1:step], limits[-1:]])
    filled = np.flatnonzero(counts)
    if not filled.size:
        raise ValueError(f"add_histogram(): no element of {tag!r} lies in the bins")
    first, last = filled[0], filled[-1] + 1
    made = HistogramProto(
        min=numbers.min(),
        max=numbers.max(),
        num=len(numbers),
        sum=numbers.sum(),
        sum_squares=numbers.dot(numbers),
        bucket_limit=[limits[first], *limits[first + 1 : last + 1]],
        bucket=[0, *counts[first:last]],
    )
    return Summary(value=[Summary.Value(tag=tag, histo=made)])


def _growing_edges() -> np.ndarray[Any, Any]:
    """Edges that grow by a tenth each, on both sides of zero, as TensorFlow's."""
    positive = 1e-12 * 1.1 ** np.arange(int(np.ceil(np.log(1e32) / np.log(1.1))))
    return np.concatenate([-positive[::-1], [0.0], positive])


def image(tag: str, picture: Any, dataformats: str) -> Any:
    """A picture, or several in a grid: bytes, or numbers from 0 to 1."""
    from PIL import Image

    pixels = in_bytes(as_pixels(array_of(picture), dataformats))
    height, width, channels = pixels.shape
    target = io.BytesIO()
    Image.fromarray(pixels[..., 0] if channels == 1 else pixels).save(target, format="PNG")
    made = Summary.Image(
        height=height, width=width, colorspace=channels, encoded_image_string=target.getvalue()
    )
    return Summary(value=[Summary.Value(tag=tag, image=made)])


def video(tag: str, frames: Any, fps: float) -> Any:
    """Frames of several pictures side by side, ``(n, t, c, h, w)``, as a GIF."""
    from PIL import Image

    moving = in_bytes(array_of(frames))
    if moving.ndim != 5 or moving.shape[2] not in (1, 3):
        raise ValueError(
            f"add_video(): an array of shape {list(moving.shape)}; give one of shape "
            "(pictures, frames, channels, height, width) with one or three channels"
        )
    count, channels = moving.shape[0], moving.shape[2]
    room = 1 << (count - 1).bit_length()        # as in PyTorch: of a power of two, some are black
    across = room >> (count.bit_length() - 1) // 2
    blank = np.zeros((room - count, *moving.shape[1:]), np.uint8)
    pictures = np.concatenate([moving, blank]).transpose(1, 0, 3, 4, 2)
    grids = [grid_of(each, across) for each in pictures]
    stills = [Image.fromarray(each[..., 0] if channels == 1 else each) for each in grids]
    target = io.BytesIO()
    stills[0].save(target, format="GIF", save_all=True, append_images=stills[1:],
                   duration=round(1000 / fps), loop=0)
    made = Summary.Image(height=grids[0].shape[0], width=grids[0].shape[1], colorspace=channels,
                         encoded_image_string=target.getvalue())
    return Summary(value=[Summary.Value(tag=tag, image=made)])


def in_bytes(pixels: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Numbers from 0 to 1 as bytes; bytes as they are."""
    if pixels.dtype == np.uint8:
        return pixels
    return (pixels.astype(np.float32) * _MOST_BYTE).clip(0, _MOST_BYTE).astype(np.uint8)


def as_pixels(array: np.ndarray[Any, Any], dataformats: str) -> np.ndarray[Any, Any]:
    """The picture as rows, columns and channels (three, or four with opacity)."""
    letters = dataformats.upper()
    if len(letters) != array.ndim or set(letters) - set("NCHW") or len(set(letters)) != array.ndim:
        raise ValueError(
            f"add_image(): an array of shape {list(array.shape)} does not have the dimensions "
            f"{dataformats!r}; give dataformats='HWC', 'CHW', 'HW' or, for several, 'NCHW'"
        )
    for letter in "NC":
        if letter not in letters:
            array, letters = array[None], letter + letters
    array = array.transpose([letters.index(letter) for letter in "NHWC"])
    grid = grid_of(array, 8)
    return np.repeat(grid, 3, axis=2) if grid.shape[2] == 1 else grid


def grid_of(pictures: np.ndarray[Any, Any], most: int) -> np.ndarray[Any, Any]:
    """Pictures side by side, so many in a row at most."""
    count, height, width, channels = pictures.shape
    across = min(count, most)
    down = -(-count // across)
    grid = np.zeros((down * height, across * width, channels), pictures.dtype)
    for i, picture in enumerate(pictures):
        top, left = i // across * height, i % across * width
        grid[top : top + height, left : left + width] = picture
    return grid


def audio(tag: str, sound: Any, sample_rate: int) -> Any:
    """One channel of sound: numbers from -1 to 1."""
    numbers = array_of(sound).reshape(-1).clip(-1, 1)
    target = io.BytesIO()
    with wave.open(target, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(sample_rate)
        file.writeframes((numbers * 32767.0).astype("<i2").tobytes())
    made = Summary.Audio(
        sample_rate=sample_rate,
        num_channels=1,
        length_frames=numbers.size,
        encoded_audio_string=target.getvalue(),
        content_type="audio/wav",
    )
    return Summary(value=[Summary.Value(tag=tag, audio=made)])


def words(tag: str, content: str) -> Any:
    """A text in Markdown."""
    content_of_plugin = text.create_summary_metadata("", "").plugin_data.content
    data = SummaryMetadata.PluginData(plugin_name=text.PLUGIN_NAME, content=content_of_plugin)
    return Summary(
        value=[
            Summary.Value(
                tag=f"{tag}/text_summary",
                tensor=make_tensor_proto([content.encode()]),
                metadata=SummaryMetadata(plugin_data=data),
            )
        ]
    )


def precision_recall(
    tag: str, labels: Any, predictions: Any, num_thresholds: int, weights: Any
) -> Any:
    """Precision and recall of a classifier of two classes, for thresholds from 0 to 1."""
    true = array_of(labels).reshape(-1).astype(bool)
    scores = array_of(predictions).reshape(-1).astype(np.float64)
    weight = np.ones(true.size) if weights is None else array_of(weights).reshape(-1)
    place = np.clip((scores * (num_thresholds - 1)).astype(int), 0, num_thresholds - 1)
    above = [
        np.bincount(place, np.where(kind, weight, 0), num_thresholds)[::-1].cumsum()[::-1]
        for kind in (true, ~true)
    ]
    tp, fp = above
    tn, fn = fp[0] - fp, tp[0] - tp
    least = np.finfo(np.float32).tiny
    rows = np.stack([tp, fp, tn, fn, tp / np.maximum(tp + fp, least), tp / max(tp[0], least)])
    metadata = pr_curve.create_summary_metadata(
        display_name=tag, description="", num_thresholds=num_thresholds
    )
    return Summary(
        value=[
            Summary.Value(
                tag=tag, metadata=metadata, tensor=make_tensor_proto(rows.astype(np.float32))
            )
        ]
    )


def settings_of_run(
    settings: dict[str, Any], metrics: dict[str, Any], domains: dict[str, list[Any]] | None
) -> tuple[Any, Any, Any]:
    """The columns of the page of hyperparameters, the beginning of a run, and its end."""
    from tensorboard.plugins.hparams import summary_v2 as pages

    for what, given in (("hparam_dict", settings), ("metric_dict", metrics)):
        if not isinstance(given, dict):
            raise TypeError(f"hparams(): parameter: {what} should be a dictionary, got {given!r}")
    if unknown := (domains or {}).keys() - settings:
        raise TypeError(
            f"hparams(): parameter: hparam_domain_discrete has {sorted(unknown)}, which "
            "hparam_dict has not"
        )
    settings = {name: _setting(name, value) for name, value in settings.items()}
    allowed = {name: pages.Discrete(values) for name, values in (domains or {}).items()}
    columns = pages.hparams_config_pb(
        [pages.HParam(name, allowed.get(name)) for name in settings],
        [pages.Metric(tag) for tag in metrics],
    )
    return columns, pages.hparams_pb(settings), _end_of_session()


def _setting(name: str, value: Any) -> Any:
    """A number, a bool or a string."""
    if isinstance(value, flambeau.Tensor):
        value = value.item()
    if not isinstance(value, bool | int | float | str | np.generic):
        raise ValueError(
            f"hparams(): the value of {name!r} should be one of int, float, str, bool, or a tensor "
            f"of one number, not {type(value).__name__}"
        )
    return value


def _end_of_session() -> Any:
    """That a run with settings is over."""
    from tensorboard.plugins.hparams import api_pb2, metadata, plugin_data_pb2

    over = plugin_data_pb2.SessionEndInfo(status=api_pb2.STATUS_SUCCESS, end_time_secs=time.time())
    data = plugin_data_pb2.HParamsPluginData(session_end_info=over)
    return Summary(
        value=[
            Summary.Value(
                tag=metadata.SESSION_END_INFO_TAG,
                metadata=metadata.create_summary_metadata(data),
                tensor=metadata.NULL_TENSOR,
            )
        ]
    )
