"""torchvision's operators, each against what it is said to do, in plain Python loops."""

from __future__ import annotations

import math
from typing import Any

import numpy
import torch
from torchvision import ops
from worker import numbers

IS_FLAMBEAU = "flambeau" in torch.__version__
ROIS = ((0, 1.2, 2.1, 9.7, 11.3), (1, 0, 0, 15, 13), (1, 3.4, 1.1, 3.6, 1.2), (0, -2, -3, 4, 20),
        (0, 7.5, 2.5, 12.5, 6.5), (1, 5, 5, 4, 4))


def rois() -> Any:
    return torch.tensor(ROIS, dtype=torch.float32)


def boxes(count: int, seed: int = 3) -> Any:
    corners = 10 * numbers(count, 2, seed=seed).abs()
    return torch.cat((corners, corners + 1 + 8 * numbers(count, 2, seed=seed + 1).abs()), 1)


def suppress(dets: Any, scores: Any, threshold: float) -> Any:
    """What `nms` is said to do."""
    kept: list[int] = []
    for i in scores.argsort(descending=True, stable=True).tolist():
        overlaps = ops.box_iou(dets[i:i + 1], dets[kept])[0] if kept else torch.zeros(1)
        if not (overlaps > threshold).any():
            kept.append(i)
    return torch.tensor(kept)


def nms() -> Any:
    results = []
    for count, threshold in ((40, 0.5), (40, 0.1), (200, 0.7), (1, 0.5)):
        dets, scores = boxes(count), numbers(count, seed=7)
        scores[::5] = scores[0]
        results.append((ops.nms if IS_FLAMBEAU else suppress)(dets, scores, threshold))
    return results


def bilinear(image: Any, y: float, x: float, border: bool) -> Any:
    """A point between pixels of ``(C, H, W)``."""
    height, width = image.shape[1:]
    if border:
        if y < -1 or y > height or x < -1 or x > width:
            return image[:, 0, 0] * 0
        y, x = min(max(y, 0), height - 1), min(max(x, 0), width - 1)
    top, left = math.floor(y), math.floor(x)
    found = image[:, 0, 0] * 0
    for row, a in ((top, 1 - (y - top)), (top + 1, y - top)):
        for column, b in ((left, 1 - (x - left)), (left + 1, x - left)):
            if 0 <= row < height and 0 <= column < width:
                found = found + image[:, row, column] * (a * b)
    return found


def align_slowly(features: Any, regions: Any, size: tuple[int, int], scale: float, ratio: int,
                 aligned: bool, dealt: bool = False) -> Any:
    """What `roi_align` and `ps_roi_align` are said to do."""
    result = []
    for image, *corners in regions.tolist():
        shift = 0.5 if aligned or dealt else 0.0
        x1, y1, x2, y2 = (c * scale - shift for c in corners)
        w, h = x2 - x1, y2 - y1
        if not aligned and not dealt:
            w, h = max(w, 1.0), max(h, 1.0)
        bh, bw = h / size[0], w / size[1]
        gh, gw = (ratio, ratio) if ratio > 0 else (math.ceil(bh), math.ceil(bw))
        for i in range(size[0]):
            for j in range(size[1]):
                maps = features[int(image)]
                maps = maps[i * size[1] + j::size[0] * size[1]] if dealt else maps
                points = [bilinear(maps, y1 + bh * (i + (a + 0.5) / gh),
                        x1 + bw * (j + (b + 0.5) / gw),
                                   True) for a in range(gh) for b in range(gw)]
                result.append(sum(points) / len(points) if points else maps[:, 0, 0] * 0)
    return torch.stack(result).reshape(len(regions), *size, -1).permute(0, 3, 1, 2)


def with_gradient(function: Any, *inputs: Any) -> Any:
    """A result, and its gradients for fixed cotangents."""
    leaves = [each.clone().requires_grad_() for each in inputs]
    result = function(*leaves)
    torch.manual_seed(1)
    (result * numbers(*result.shape, seed=9)).sum().backward()
    return result, [leaf.grad for leaf in leaves]


def roi_align() -> Any:
    results = []
    for ratio in (2, 1, -1):
        for aligned in (False, True):
            def run(x: Any, ratio: int = ratio, aligned: bool = aligned) -> Any:
                if IS_FLAMBEAU:
                    return ops.roi_align(x, rois(), (3, 4), 0.8, ratio, aligned)
                return align_slowly(x, rois(), (3, 4), 0.8, ratio, aligned)
            results.append(with_gradient(run, numbers(2, 3, 14, 16)))
    return results


def ps_roi_align() -> Any:
    def run(x: Any) -> Any:
        if IS_FLAMBEAU:
            return ops.ps_roi_align(x, rois(), (2, 3), 0.8, 2)
        return align_slowly(x, rois(), (2, 3), 0.8, 2, True, dealt=True)
    return with_gradient(run, numbers(2, 12, 14, 16))


def round_away(value: float) -> int:
    return int(math.copysign(math.floor(abs(value) + 0.5), value))


def pool_slowly(x: Any, regions: Any, size: tuple[int, int], scale: float, dealt: bool) -> Any:
    """What `roi_pool` and `ps_roi_pool` do."""
    result = []
    more, less = (0, 1) if dealt else (1, 0)
    for image, *corners in regions.tolist():
        x1, y1, x2, y2 = (round_away(float(numpy.float32(c) * numpy.float32(scale)))
                          for c in corners)
        edges = []
        for start, end, bins, limit in ((y1, y2, size[0], x.shape[2]),
            (x1, x2, size[1], x.shape[3])):
            step = numpy.float32(max(end - start + more, 1)) / numpy.float32(bins)
            edges.append([(min(max(int(numpy.floor(numpy.float32(b) * step)) + start, 0),
                            limit - less),
                           min(max(int(numpy.ceil(numpy.float32(b + 1) * step)) + start, 0),
                               limit - less))
                          for b in range(bins)])
        for i, (top, bottom) in enumerate(edges[0]):
            for j, (left, right) in enumerate(edges[1]):
                maps = x[int(image)]
                maps = maps[i * size[1] + j::size[0] * size[1]] if dealt else maps
                part = maps[:, top:bottom, left:right].flatten(1)
                if not part.shape[1]:
                    result.append(maps[:, 0, 0] * 0)
                else:
                    result.append(part.mean(1) if dealt else part.max(1).values)
    return torch.stack(result).reshape(len(regions), *size, -1).permute(0, 3, 1, 2)


def roi_pool() -> Any:
    def run(x: Any) -> Any:
        if IS_FLAMBEAU:
            return ops.roi_pool(x, rois(), (3, 4), 0.8)
        return pool_slowly(x, rois(), (3, 4), 0.8, False)
    return with_gradient(run, numbers(2, 3, 14, 16))


def ps_roi_pool() -> Any:
    def run(x: Any) -> Any:
        if IS_FLAMBEAU:
            return ops.ps_roi_pool(x, rois(), (3, 2), 0.8)
        return pool_slowly(x, rois(), (3, 2), 0.8, True)
    return with_gradient(run, numbers(2, 12, 14, 16))


def deform_slowly(x: Any, offset: Any, weight: Any, bias: Any, mask: Any, stride: int,
                  padding: int, dilation: int) -> Any:
    """What `deform_conv2d` is said to do."""
    images, channels = x.shape[:2]
    out, per_group, kh, kw = weight.shape
    groups, points = channels // per_group, kh * kw
    offset_groups = offset.shape[1] // (2 * points)
    columns = []
    for n in range(images):
        for i in range(offset.shape[2]):
            for j in range(offset.shape[3]):
                for c in range(channels):
                    g = c // (channels // offset_groups)
                    for p in range(points):
                        k = g * points + p
                        y = i * stride - padding + p // kw * dilation + offset[n, 2 * k, i, j]
                        z = j * stride - padding + p % kw * dilation + offset[n, 2 * k + 1, i, j]
                        columns.append(moved(x[n, c], y, z) * mask[n, k, i, j])
    cells = offset.shape[2] * offset.shape[3]
    grid = torch.stack(columns).reshape(images, cells, groups, -1)
    result = torch.einsum("nlgk,gok->ngol", grid, weight.reshape(groups, out // groups, -1))
    return result.reshape(images, out, *offset.shape[2:]) + bias.reshape(-1, 1, 1)


def moved(image: Any, y: Any, x: Any) -> Any:
    """A point between pixels of ``(H, W)``, differentiable in its place."""
    top, left = math.floor(y), math.floor(x)
    found = image[0, 0] * 0
    for row, a in ((top, 1 - (y - top)), (top + 1, y - top)):
        for column, b in ((left, 1 - (x - left)), (left + 1, x - left)):
            if 0 <= row < image.shape[0] and 0 <= column < image.shape[1]:
                found = found + image[row, column] * a * b
    return found


def deform_conv2d() -> Any:
    results = []
    for stride, padding, dilation, spread in ((1, 1, 1, 0.7), (2, 0, 1, 2.0), (1, 2, 2, 0.0)):
        x, weight, bias = numbers(2, 4, 5, 6), numbers(6, 2, 3, 3), numbers(6)
        down = (5 + 2 * padding - dilation * 2 - 1) // stride + 1
        across = (6 + 2 * padding - dilation * 2 - 1) // stride + 1
        offset = spread * numbers(2, 36, down, across)
        mask = numbers(2, 18, down, across).sigmoid()
        settings = {"stride": stride, "padding": padding, "dilation": dilation}

        def run(x: Any, offset: Any, weight: Any, bias: Any, mask: Any,
                settings: Any = settings) -> Any:
            if IS_FLAMBEAU:
                return ops.deform_conv2d(x, offset, weight, bias, mask=mask, **settings)
            return deform_slowly(x, offset, weight, bias, mask, **settings)
        results.append(with_gradient(run, x, offset, weight, bias, mask))
    return results


def empty() -> Any:
    if not IS_FLAMBEAU:
        return [0, [0, 3, 2, 2], [0, 3, 2, 2]]
    none, features = torch.zeros(0, 5), numbers(1, 3, 8, 8)
    return [len(ops.nms(torch.zeros(0, 4), torch.zeros(0), 0.5)),
            list(ops.roi_align(features, none, 2).shape),
            list(ops.roi_pool(features, none, 2).shape)]


def losses() -> Any:
    logits, targets = numbers(5, 3), (numbers(5, 3, seed=2) > 0).float()
    a, b = boxes(6), boxes(6, seed=8)
    return [with_gradient(lambda x: ops.sigmoid_focal_loss(x, targets), logits),
            *(with_gradient(lambda x, f=f: f(x, b), a) for f in (
                ops.generalized_box_iou_loss, ops.distance_box_iou_loss,
                ops.complete_box_iou_loss))]


def geometry() -> Any:
    a, b = boxes(6), boxes(4, seed=8)
    return [ops.box_iou(a, b), ops.generalized_box_iou(a, b), ops.box_area(a),
            ops.distance_box_iou(a, b), ops.complete_box_iou(a, b),
            ops.clip_boxes_to_image(a, (12, 9)), ops.remove_small_boxes(a, 3.0),
            *(ops.box_convert(ops.box_convert(a, "xyxy", kind), kind, "xyxy")
              for kind in ("xywh", "cxcywh")),
            ops.masks_to_boxes(numbers(3, 8, 9) > 1)]


def layers() -> Any:
    torch.manual_seed(3)
    x = numbers(2, 4, 8, 8)
    results = [ops.SqueezeExcitation(4, 2)(x), ops.Conv2dNormActivation(4, 6)(x),
               ops.MLP(8, [16, 4])(x), ops.Permute([0, 2, 3, 1])(x), ops.FrozenBatchNorm2d(4)(x)]
    pyramid = ops.FeaturePyramidNetwork([4, 6], 5)
    results.append(pyramid({"a": x, "b": numbers(2, 6, 4, 4)}))
    return results


CASES = {each.__name__: each for each in (
    nms, roi_align, ps_roi_align, roi_pool, ps_roi_pool, deform_conv2d, empty, losses, geometry,
    layers)}
