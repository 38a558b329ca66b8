"""What the operators of regions of interest check first."""
from __future__ import annotations

from flambeau.core import Tensor
from flambeau.core._core import may_read


def check_rois(name: str, features: Tensor, rois: Tensor) -> None:
    """Refuse regions that are not rows of (image, x1, y1, x2, y2) in the features' dtype.

    Raises:
        RuntimeError: They are something else.
    """
    if features.dim() != 4:
        raise RuntimeError(f"{name}: input must have shape (images, channels, height, width), got "
                           f"{tuple(features.shape)}")
    if rois.dim() != 2 or rois.size(1) != 5:
        raise RuntimeError(f"{name}: rois must have shape (regions, 5), got {tuple(rois.shape)}; "
                           "a row is (index of the image, x1, y1, x2, y2)")
    if rois.dtype != features.dtype:
        raise RuntimeError(f"{name}: input and rois must have the same type, got {features.dtype} "
                           f"and {rois.dtype}; write rois.to(input.dtype)")
    looks = may_read(rois) or rois.device.type != "cpu"
    if not looks or not rois.size(0):
        return
    if not 0 <= int(rois[:, 0].min()) <= int(rois[:, 0].max()) < features.size(0):
        raise RuntimeError(f"{name}: rois name images that are not there: input has "
                           f"{features.size(0)}")


def check_channels(name: str, features: Tensor, height: int, width: int) -> None:
    """Refuse channels that cannot be dealt out to the bins.

    Raises:
        RuntimeError: Their number is no multiple of the number of bins.
    """
    if features.size(1) % (height * width):
        raise RuntimeError(f"{name}: input channels must be a multiple of pooling height * pooling "
                           f"width, got {features.size(1)} for {height} * {width}")
