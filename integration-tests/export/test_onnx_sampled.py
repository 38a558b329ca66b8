"""Regions of images, inverse spectrograms and windows as ONNX models, at several sizes."""

import numpy as np
import pytest

import flambeau as fl
from flambeau import onnx
from flambeau.core.vision.points import roi_align

onnxruntime = pytest.importorskip("onnxruntime")


def check(fn, given, dynamic, more):
    """One model for several sizes gives what the function gives; read again, it still does."""
    model = onnx.export(fn, given, input_names=list(dynamic), dynamic_axes=dynamic)
    session = onnxruntime.InferenceSession(model.SerializeToString(),
                                           providers=["CPUExecutionProvider"])
    read = onnx.load(model)
    for inputs in (given, *more):
        want = fn(*inputs)
        [found] = session.run(None, {name: each.numpy()
                                     for name, each in zip(dynamic, inputs, strict=True)})
        for result in (found, read(*inputs).detach().numpy()):
            assert result.shape == tuple(want.shape)
            np.testing.assert_allclose(result, want.numpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("settings", [
    {}, {"center": False, "length": 40}, {"normalized": True}, {"length": 70}], ids=str)
def test_inverse_spectrograms_of_batches(settings):
    fl.manual_seed(0)
    window = fl.hann_window(16) + 0.1
    there = {key: settings[key] for key in ("center", "normalized") if key in settings}

    def fn(x):
        terms = fl.stft(x, 16, 4, window=window, return_complex=True, **there)
        return fl.istft(terms * 0.5, 16, 4, window=window, **settings)

    check(fn, (fl.randn(2, 64),), {"x": {0: "b"}}, [(fl.randn(1, 64),), (fl.randn(5, 64),)])


@pytest.mark.filterwarnings("ignore:.*known to be right for frames from 2 on")
def test_inverse_spectrograms_of_any_length():
    window = fl.hann_window(16)

    def fn(terms):
        return fl.istft(fl.view_as_complex(terms), 16, 4, window=window)

    check(fn, (fl.randn(2, 9, 9, 2),), {"terms": {2: "frames"}},
          [(fl.randn(2, 9, 12, 2),), (fl.randn(2, 9, 30, 2),)])


def test_windows_that_do_not_overlap_are_refused_when_traced():
    with pytest.raises(RuntimeError, match="window overlap add"):
        onnx.export(lambda terms: fl.istft(fl.view_as_complex(terms), 16, 16, window=fl.hann_window(
            16)), fl.randn(2, 9, 9, 2))


def regions(count):
    corners = fl.rand(count, 2) * 20 - 3
    boxes = fl.cat([corners, corners + fl.rand(count, 2) * 15], 1)
    return fl.cat([fl.randint(0, 3, (count, 1)).float(), boxes], 1)


@pytest.mark.parametrize(("points", "aligned"), [(2, True), (3, False), (1, True)])
def test_regions(points, aligned):
    fl.manual_seed(1)
    x = fl.randn(3, 5, 12, 14)
    check(lambda x, rois: roi_align(x, rois, 0.7, 4, 3, points, aligned), (x, regions(4)),
          {"x": {}, "rois": {0: "k"}}, [(x, regions(1)), (x, regions(9))])


def test_regions_of_images_that_are_not_there_are_refused_by_a_program():
    program = fl.jit.trace(lambda x, rois: roi_align(x, rois, 1.0, 2, 2, 2, True),
                           (fl.randn(2, 3, 8, 8), fl.tensor([[0.0, 1, 1, 5, 5]])), dynamic=False)
    for image in (-1.0, 2.0):
        with pytest.raises(IndexError):
            program(fl.randn(2, 3, 8, 8), fl.tensor([[image, 1, 1, 5, 5]]))


def test_windows_whose_number_varies():
    check(lambda x: fl.cat([x, x]).unfold(0, 4, 2).sum(1), (fl.randn(6, 3),), {"x": {0: "t"}},
          [(fl.randn(2, 3),), (fl.randn(9, 3),)])


def test_a_model_that_is_right_up_to_a_size_only_says_so():
    with pytest.warns(UserWarning, match=r"right for t from 28 to 30 alone.*unfold"):
        onnx.export(lambda x: x.unfold(1, 4, 3).sum(1), fl.randn(2, 30),
                    input_names=["x"], dynamic_axes={"x": {1: "t"}})


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
@pytest.mark.parametrize("size", [(2, 3), (7, 49), (16, 10), (1, 60)])
def test_nearest_elements_of_any_image(mode, size):
    """Where positions are no exact numbers, another rounding picks other elements: 14 to 2."""
    def fn(x):
        return fl.nn.functional.interpolate(x, size=size, mode=mode)

    more = [(fl.randn(1, 2, n, m),) for n, m in ((14, 21), (28, 39), (52, 60), (60, 1), (7, 7))]
    check(fn, (fl.randn(2, 2, 12, 12),), {"x": {0: "b", 2: "h", 3: "w"}}, more)
    for (x,) in more:
        check(fn, (x,), {"x": {}}, [])


@pytest.mark.parametrize("settings", [
    {"mode": "nearest"}, {"mode": "nearest-exact"}, {"mode": "bilinear"}, {"mode": "bicubic"},
    {"mode": "bilinear", "antialias": True}, {"mode": "bilinear", "align_corners": True}], ids=str)
@pytest.mark.parametrize("factor", [0.3, 0.5, 1.1, 1.5, 2, 3.3, (1.1, 2.0)], ids=str)
def test_images_times_a_factor(settings, factor):
    """A factor that leaves a size as it is moves elements all the same."""
    for n in (4, 7, 9, 10, 34):
        def fn(x):
            return fl.nn.functional.interpolate(x, scale_factor=factor, **settings)

        check(fn, (fl.randn(1, 2, n, 8),), {"x": {}}, [])


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "bilinear"])
@pytest.mark.parametrize("factor", [2, 3, 7])
def test_images_of_any_size_times_a_factor(mode, factor):
    check(lambda x: fl.nn.functional.interpolate(x, scale_factor=factor, mode=mode),
          (fl.randn(2, 2, 5, 6),), {"x": {0: "b", 2: "h", 3: "w"}},
          [(fl.randn(1, 2, n, m),) for n, m in ((1, 1), (13, 2), (4, 31))])
