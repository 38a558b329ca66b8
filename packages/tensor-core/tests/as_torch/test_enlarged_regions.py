"""Regions enlarged all at once, beside what torchvision's loops do one by one."""
from __future__ import annotations

import pytest
from test_alias import lines

import flambeau as fl
from flambeau.core.vision import enlarged


@pytest.fixture
def interpolate():
    nn = pytest.importorskip("flambeau.nn", reason="needs flambeau-nn")
    pytest.importorskip("flambeau.jit", reason="needs flambeau-jit")
    return nn.functional.interpolate


def pasted(mask, box, height, width, interpolate):
    """One mask at the size of its box, cut to the image."""
    x1, y1, x2, y2 = box.tolist()
    size = max(y2 - y1 + 1, 1), max(x2 - x1 + 1, 1)
    found = interpolate(mask[None], size=size, mode="bilinear", align_corners=False)[0, 0]
    image = fl.zeros(height, width)
    for y in range(max(y1, 0), min(y2 + 1, height)):
        for x in range(max(x1, 0), min(x2 + 1, width)):
            image[y, x] = found[y - y1, x - x1]
    return image


def test_masks_are_pasted(interpolate):
    masks = fl.rand(5, 1, 8, 8)
    boxes = fl.tensor([[3, 4, 20, 15], [-5, -2, 10, 12], [12, 9, 60, 70], [5, 5, 5, 5],
                       [-9, 3, -4, 8]])
    found = enlarged.paste_masks(masks, boxes, fl.tensor(18), fl.tensor(23))
    for one, mask, box in zip(found, masks, boxes, strict=True):
        assert fl.allclose(one, pasted(mask, box, 18, 23, interpolate), atol=1e-5)
    assert enlarged.paste_masks(masks[:0], boxes[:0], fl.tensor(4), fl.tensor(5)).shape == (0, 4, 5)


def test_keypoints_are_found(interpolate):
    maps = fl.randn(4, 3, 7, 7)
    rois = fl.tensor([[1.0, 2, 30.5, 20], [0, 0, 9, 7], [3, 3, 15.5, 30.2], [2, 2, 2.5, 2.5]])
    width, height = ((rois[:, k + 2] - rois[:, k]).clamp(min=1) for k in (0, 1))
    points, most = enlarged.find_keypoints(maps, rois, width.ceil(), height.ceil(), width, height,
                                           rois[:, 0], rois[:, 1], fl.tensor(3))
    for i in range(4):
        size = int(height[i].ceil()), int(width[i].ceil())
        large = interpolate(maps[i][None], size=size, mode="bicubic", align_corners=False)[0]
        at = large.flatten(1).argmax(1)
        x = (at % size[1] + 0.5) * (width[i] / size[1]) + rois[i, 0]
        y = (at // size[1] + 0.5) * (height[i] / size[0]) + rois[i, 1]
        assert fl.allclose(points[i], fl.stack((x, y, fl.ones(3))), atol=1e-4)
        assert fl.allclose(most[i], large.flatten(1).max(1)[0], atol=1e-5)


def test_what_exporters_of_graphs_ask():
    pytest.importorskip("flambeau.jit", reason="needs flambeau-jit")
    assert lines("""
        import torch
        from torch.onnx import operators
        tensors, what = torch.jit._flatten(({"a": torch.ones(2)}, [torch.zeros(3), None], "b"))
        print([tuple(each.shape) for each in tensors])
        print(torch.jit._unflatten([torch.ones(1), torch.ones(1)], what)[0]["a"].shape)
        print(operators.shape_as_tensor(torch.ones(4, 5)), torch._C._get_tracing_state())
    """) == ["[(2,), (3,)]", "torch.Size([1])", "tensor([4, 5]) None"]
