"""What convolutions and pooling share: padding and windows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import flambeau as fl
from flambeau.nn import functional as F
from flambeau.onnx.importing.table import Call


@dataclass(frozen=True)
class Windows:
    """Where windows lie over an image.

    Args:
        kernel: their sizes.
        strides: distances between them.
        dilations: distances between their elements.
        before: elements added at the start of each dimension.
        after: elements added at the end.
        counts: how many windows there are.
    """

    kernel: list[int]
    strides: list[int]
    dilations: list[int]
    before: list[int]
    after: list[int]
    counts: list[int]

    @property
    def is_even(self) -> bool:
        """Whether both ends are padded alike."""
        return self.before == self.after


def windows_of(call: Call, image: Any, kernel: list[int], ceil: bool = False) -> Windows:
    """The windows that a node's attributes describe."""
    d = len(kernel)
    strides = call.get("strides") or [1] * d
    dilations = call.get("dilations") or [1] * d
    reach = [w * (k - 1) + 1 for k, w in zip(kernel, dilations, strict=True)]
    auto = call.get("auto_pad", "NOTSET")
    pads = call.get("pads") or [0] * 2 * d
    before, after = list(pads[:d]), list(pads[d:])
    if auto in ("SAME_UPPER", "SAME_LOWER"):
        total = [max((-(-n // s) - 1) * s + r - n, 0)
                 for n, s, r in zip(image, strides, reach, strict=True)]
        less, more = [n // 2 for n in total], [n - n // 2 for n in total]
        before, after = (less, more) if auto == "SAME_UPPER" else (more, less)
    elif auto == "VALID":
        before, after = [0] * d, [0] * d
    counts = []
    for n, s, r, b, a in zip(image, strides, reach, before, after, strict=True):
        room = n + b + a - r
        count = -(-room // s) + 1 if ceil else room // s + 1
        counts.append(count - 1 if ceil and (count - 1) * s >= n + b else count)
    return Windows(list(kernel), list(strides), list(dilations), before, after, counts)


def padded(x: fl.Tensor, windows: Windows, value: float | int) -> fl.Tensor:
    """An image with all elements that windows lie over."""
    flat: list[int] = []
    for k in reversed(range(len(windows.kernel))):
        n = x.shape[k + 2] + windows.before[k] + windows.after[k]
        end = (windows.counts[k] - 1) * windows.strides[k] + (
            windows.kernel[k] - 1) * windows.dilations[k] + 1
        flat += [windows.before[k], windows.after[k] + max(end - n, 0)]
    return F.pad(x, flat, value=value) if any(flat) else x


def unfolded(x: fl.Tensor, windows: Windows) -> fl.Tensor:
    """All windows of a padded image: ``[batch, channels, *counts, *kernel]``."""
    d = len(windows.kernel)
    for k in range(d):
        reach = (windows.kernel[k] - 1) * windows.dilations[k] + 1
        x = x.unfold(k + 2, reach, windows.strides[k]).narrow(k + 2, 0, windows.counts[k])
        x = x[..., ::windows.dilations[k]]
    return x
