"""Summaries by themselves, for programs that add them to a writer's file on their own."""

from __future__ import annotations

from typing import Any

from . import parts, summaries
from .parts import custom_scalars, histogram_raw, tensor_proto
from .summaries import audio

__all__ = ["audio", "custom_scalars", "histogram", "histogram_raw", "hparams", "image",
           "image_boxes", "mesh", "pr_curve", "pr_curve_raw", "scalar", "tensor_proto", "text",
           "video"]


def hparams(
    hparam_dict: dict[str, Any],
    metric_dict: dict[str, Any],
    hparam_domain_discrete: dict[str, list[Any]] | None = None,
) -> tuple[Any, Any, Any]:
    """The settings of a run: the page's columns, the run's beginning and its end.

    Args:
        hparam_dict: Numbers, bools and strings by name.
        metric_dict: Numbers by the tag under which curves have them.
        hparam_domain_discrete: All values that a setting may have.

    Returns:
        Three summaries, which go into one file.

    Raises:
        TypeError: The settings or the metrics are no dict.
        ValueError: A setting is no number, bool, string, or tensor of one number.

    Example:
        >>> from flambeau.utils.tensorboard.summary import hparams
        >>> columns, begin, end = hparams({"lr": 0.1}, {"loss": 0.5})
        >>> begin.value[0].tag
        '_hparams_/session_start_info'
    """
    return summaries.settings_of_run(hparam_dict, metric_dict, hparam_domain_discrete)


def scalar(
    name: str,
    tensor: Any,
    collections: Any = None,
    new_style: bool = False,
    double_precision: bool = False,
) -> Any:
    """A number.

    Args:
        name: Its tag.
        tensor: The number, or a tensor of one.
        collections: Accepted for compatibility.
        new_style: Keep it as a tensor.
        double_precision: Keep it in float64.
    """
    return summaries.scalar(name, tensor, double_precision, new_style)


def histogram(name: str, values: Any, bins: Any, max_bins: int | None = None) -> Any:
    """How often values occur.

    Args:
        name: Its tag.
        values: Numbers.
        bins: As for ``numpy.histogram``, or ``"tensorflow"``.
        max_bins: How many bins are kept at most.
    """
    return summaries.histogram(name, values, bins, max_bins)


def image(tag: str, tensor: Any, rescale: float = 1, dataformats: str = "NCHW") -> Any:
    """A picture, or a grid of several.

    Args:
        tag: Its tag.
        tensor: Bytes, or numbers from 0 to 1.
        rescale: Accepted for compatibility.
        dataformats: The order of its dimensions.
    """
    return summaries.image(tag, tensor, dataformats)


def text(tag: str, text: str) -> Any:
    """Words.

    Args:
        tag: Their tag.
        text: The words.
    """
    return summaries.words(tag, text)


def video(tag: str, tensor: Any, fps: float = 4) -> Any:
    """Moving pictures, as a GIF.

    Args:
        tag: Their tag.
        tensor: Bytes, or numbers from 0 to 1, of shape (pictures, frames, channels, height, width).
        fps: Frames per second.
    """
    return summaries.video(tag, tensor, fps)


def pr_curve(
    tag: str, labels: Any, predictions: Any, num_thresholds: int = 127, weights: Any = None
) -> Any:
    """The precision and the recall at thresholds.

    Args:
        tag: Its tag.
        labels: Bools: which examples are of the class.
        predictions: How likely each is held to be.
        num_thresholds: How many thresholds there are.
        weights: How much each example counts.
    """
    return summaries.precision_recall(tag, labels, predictions, num_thresholds, weights)


def pr_curve_raw(tag: str, tp: Any, fp: Any, tn: Any, fn: Any, precision: Any, recall: Any,
                 num_thresholds: int = 127, weights: Any = None) -> Any:
    """The precision and the recall at thresholds, whose numbers were counted before.

    Args:
        tag: Its tag.
        tp: True positives, for each threshold, like the next five.
        fp: False positives.
        tn: True negatives.
        fn: False negatives.
        precision: The precision.
        recall: The recall.
        num_thresholds: How many thresholds there are.
        weights: Has no effect.
    """
    rows = (tp, fp, tn, fn, precision, recall)
    return parts.precision_recall_raw(tag, rows, num_thresholds)


def mesh(tag: str, vertices: Any, colors: Any, faces: Any, config_dict: Any,
         display_name: str | None = None, description: str | None = None) -> Any:
    """Points in space.

    Args:
        tag: Their tag.
        vertices: Their coordinates, of shape (samples, points, 3).
        colors: Bytes of the same shape, or None.
        faces: Triangles by the indices of their points, or None.
        config_dict: Settings of the page's camera and light.
        display_name: Has no effect.
        description: Has no effect.
    """
    return parts.mesh(tag, vertices, colors, faces, config_dict)


def image_boxes(tag: str, tensor_image: Any, tensor_boxes: Any, rescale: float = 1,
                dataformats: str = "CHW", labels: Any = None) -> Any:
    """A picture with boxes.

    Args:
        tag: Its tag.
        tensor_image: Bytes, or numbers from 0 to 1.
        tensor_boxes: The left, upper, right and lower edge of each box.
        rescale: How many times as large it is stored.
        dataformats: The order of its dimensions.
        labels: The name of each box, or None.
    """
    return parts.image_boxes(tag, tensor_image, tensor_boxes, rescale, dataformats, labels)
