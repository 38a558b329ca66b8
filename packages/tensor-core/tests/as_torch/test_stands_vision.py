"""What libraries of pictures and hubs ask of the alias."""
from __future__ import annotations

import pytest
from test_alias import lines


def test_hub_reads_weights_that_are_there(tmp_path):
    (tmp_path / "hubconf.py").write_text(
        "def double(x):\n    'Twice a number.'\n    return 2 * x\n_hidden = double\n")
    assert lines("""
        import hashlib, os, pathlib, sys
        import torch
        folder = sys.argv[1]
        torch.hub.set_dir(folder)
        print(torch.hub.get_dir() == folder, torch.hub.list(folder, source="local"))
        print(torch.hub.load(folder, "double", 4, source="local"),
              torch.hub.help(folder, "double", source="local"))
        torch.save({"weight": torch.arange(3)}, folder + "/w.pth")
        digest = hashlib.sha256(open(folder + "/w.pth", "rb").read()).hexdigest()
        address = pathlib.Path(folder, "w.pth").as_uri()
        for name in (f"net-{digest[:8]}.pth", "net-00000000.pth"):
            try:
                print(torch.hub.load_state_dict_from_url(address, check_hash=True, file_name=name))
            except RuntimeError as error:
                print("another" if "SHA-256" in str(error) else error)
        print(len(os.listdir(folder + "/checkpoints")))
        from torch.hub import HASH_REGEX, _get_torch_home, tqdm, urlparse
        from torch.utils.model_zoo import load_url, tqdm
        print(load_url is torch.hub.load_state_dict_from_url, HASH_REGEX.search("a-0f.b").group(1))
        try:
            torch.hub.load("owner/name", "net")
        except NotImplementedError as error:
            print("local" in str(error))
    """, str(tmp_path)) == ["True ['double']", "8 Twice a number.", "{'weight': tensor([0, 1, 2])}",
                            "another", "1", "True 0f", "True"]


def test_compiled_libraries_of_others_are_refused():
    assert lines("""
        import torch
        try:
            torch.ops.load_library("/lib/mine/_C.so")
        except OSError as error:
            print("compiled for PyTorch" in str(error))
    """) == ["True"]


SET_UP = """
    import torch
    torch.ops.load_library("torchvision/_C.so")
    ops = torch.ops.torchvision
    features = torch.arange(32.).reshape(1, 2, 4, 4).requires_grad_()
"""


def vision(code):
    pytest.importorskip("flambeau.nn", reason="needs flambeau-nn")
    return lines(SET_UP + code)


def test_boxes_that_overlap_a_better_one_are_dropped():
    assert vision("""
    boxes = torch.tensor([[0., 0, 2, 2], [0, 0, 2, 1], [5, 5, 6, 6], [0, 0, 2, 2]])
    scores = torch.tensor([0.5, 0.9, 0.1, 0.5])
    for threshold in (0.4, 0.5, 1.0):
        print(ops.nms(boxes, scores, threshold).tolist())
    print(ops.nms.default(boxes[:0], scores[:0], 0.5))
    """) == ["[1, 2]", "[1, 0, 2]", "[1, 0, 3, 2]", "tensor([], dtype=torch.int64)"]


def test_regions_are_means_and_maxima_of_pixels():
    assert vision("""
    whole = torch.tensor([[0., 0, 0, 4, 4]])
    print(ops.roi_align(features, whole, 1.0, 2, 2, 2, True).tolist())
    print(ops.ps_roi_align(features[:, :1].repeat(1, 4, 1, 1), whole, 1.0, 2, 2, 2)[0].tolist())
    found, places = ops.roi_pool(features, whole, 0.5, 1, 1)
    print(found.tolist(), places.tolist(), places.dtype)
    means, channels = ops.ps_roi_pool(features, whole[:, :1].expand(1, 5) + 0, 1.0, 1, 2)
    print(means.tolist(), channels.tolist())
    ops.roi_align(features, whole, 1.0, 1, 1, 2, True).sum().backward()
    print(features.grad.sum().item())
    print(ops.roi_pool(features, whole[:0], 1.0, 2, 2)[0].shape)
    try:
        ops.roi_align(features, whole + 1, 1.0, 2, 2, 2, True)
    except RuntimeError as error:
        print(error)
    """) == ["[[[[2.5, 4.5], [10.5, 12.5]], [[18.5, 20.5], [26.5, 28.5]]]]",
             "[[[[2.5, 4.5], [10.5, 12.5]]]]",
             "[[[[10.0]], [[26.0]]]] [[[[10]], [[10]]]] torch.int32",
             "[[[[0.0, 16.0]]]] [[[[0, 1]]]]", "2.0", "torch.Size([0, 2, 2, 2])",
             "roi_align: rois name images that are not there: input has 1"]


def test_convolution_with_moved_points():
    assert vision("""
    weight, bias = torch.ones(1, 2, 1, 1), torch.tensor([0.5])
    offset = torch.zeros(1, 2, 4, 4)
    mask = torch.ones(1, 1, 4, 4)
    def run(use_mask=True):
        return ops.deform_conv2d(features, weight, offset, mask, bias, 1, 1, 0, 0, 1, 1, 1, 1,
                                 use_mask)
    print(torch.equal(run(), torch.nn.functional.conv2d(features, weight, bias)))
    offset[0, 0], offset[0, 1, 0, 0] = 1, 0.5     # one row down; half a column to the right
    mask[0, 0, 0] = 2
    print(run()[0, 0].tolist(), run(False)[0, 0, 0].tolist())
    """) == ["True", "[[50.5, 52.5, 56.5, 60.5], [32.5, 34.5, 36.5, 38.5], "
             "[40.5, 42.5, 44.5, 46.5], [0.5, 0.5, 0.5, 0.5]] [25.5, 26.5, 28.5, 30.5]"]


def test_deformed_convolutions_of_no_images_and_wrong_masks():
    assert vision("""
    def run(images, channels, mask):
        x, weight = torch.rand(images, channels, 5, 4), torch.rand(3, channels // 2, 2, 2)
        offset = torch.zeros(images, 16, 4, 3)
        return ops.deform_conv2d(x, weight[:, :].repeat(2, 1, 1, 1), offset, mask,
                                 torch.zeros(6), 1, 1, 0, 0, 1, 1, 2, 2, True)
    print(run(0, 4, torch.ones(0, 8, 4, 3)).shape, run(2, 4, torch.ones(2, 8, 4, 3)).shape)
    try:
        run(2, 4, torch.ones(2, 4, 4, 3))
    except RuntimeError as error:
        print("mask.shape[1] is not valid" in str(error))
    """) == ["torch.Size([0, 6, 4, 3]) torch.Size([2, 6, 4, 3])", "True"]


def test_quantized_boxes_and_regions_are_those_of_their_values():
    assert vision("""
    torch.manual_seed(0)
    corners = torch.randint(0, 8, (9, 2)).float()
    boxes = torch.cat([corners, corners + torch.randint(1, 8, (9, 2))], 1)
    quantize, scores = torch.quantize_per_tensor, torch.arange(9.0)
    q = quantize(boxes, 0.5, 3, torch.quint8)
    print(torch.equal(ops.qnms(q.int_repr(), scores.to(torch.uint8), 0.3),
                      ops.nms(q.dequantize(), scores, 0.3)))
    image = quantize(torch.rand(1, 2, 8, 8) * 40, 0.25, 10, torch.quint8)
    rois = quantize(torch.cat([torch.zeros(9, 1), boxes], 1), 0.5, 0, torch.quint8)
    found = ops.qroi_align(image.int_repr(), rois.int_repr(), 0.25, 10, 0.5, 0, 1.0, 3, 3, 2, True)
    want = ops.roi_align(image.dequantize(), rois.dequantize(), 1.0, 3, 3, 2, True)
    off = found.int() - quantize(want, 0.25, 10, torch.quint8).int_repr().int()
    print(found.dtype, off.abs().max().item() <= 1, (off != 0).float().mean().item() < 0.05)
    try:
        ops.qroi_align(image.int_repr().repeat(2, 1, 1, 1), rois.int_repr(), 1., 0, 1., 0, 1.0, 3,
                       3, 2, True)
    except RuntimeError as error:
        print("Only one image per batch" in str(error))
    """) == ["True", "torch.uint8 True True", "True"]


def test_pictures_by_pillow(tmp_path):
    pytest.importorskip("PIL", reason="needs Pillow")
    assert lines("""
        import sys, torch
        torch.ops.load_library("/lib/torchvision/image.so")
        ops, path = torch.ops.image, sys.argv[1] + "/x.png"
        pixels = torch.arange(24, dtype=torch.uint8).reshape(3, 2, 4)
        ops.write_file(path, ops.encode_png(pixels, 6))
        print(torch.equal(ops.decode_png(ops.read_file(path), 0, False), pixels))
        print(ops.decode_image(ops.encode_jpeg(pixels, 95), 1, False).shape)
        try:
            ops.decode_png(pixels, 0, False)
        except RuntimeError as error:
            print("1-dimensional" in str(error))
    """, str(tmp_path)) == ["True", "torch.Size([1, 2, 4])", "True"]
