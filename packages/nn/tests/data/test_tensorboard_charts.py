"""Meshes, tensors, pages of charts and counted numbers for TensorBoard, as PyTorch writes them."""

from __future__ import annotations

import json

import numpy as np
import pytest

import flambeau

pytest.importorskip("tensorboard", reason="needs tensorboard")
from google.protobuf import json_format
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.util.tensor_util import make_ndarray

from flambeau.utils.tensorboard import SummaryWriter, summary

PAGES = {"loss": {"both": ["Multiline", ["train", "test"]],
                  "bounds": ["Margin", ["mean", "low", "high"]]}}
POINTS = np.arange(12, dtype=np.float32).reshape(1, 4, 3)


def read(folder):
    found = EventAccumulator(str(folder), size_guidance={"images": 0, "tensors": 0})
    found.Reload()
    return found


def numbers(found, tag):
    return make_ndarray(found.Tensors(tag)[0].tensor_proto)


def test_what_is_added_is_read_back(tmp_path):
    picture = flambeau.zeros(3, 20, 30)
    boxes = flambeau.tensor([[2.0, 3.0, 12.0, 13.0]])
    with SummaryWriter(tmp_path) as writer:
        writer.add_mesh("points", flambeau.tensor(POINTS), faces=[[[0, 1, 2]]], global_step=1)
        writer.add_tensor("weights", flambeau.eye(2))
        writer.add_custom_scalars(PAGES)
        writer.add_image_with_boxes("boxes", picture, boxes, labels="cat", rescale=2)
        writer.add_pr_curve_raw("curve", *np.arange(18.0).reshape(6, 3), num_thresholds=3)
        writer.add_histogram_raw("counts", 0.0, 3.0, 4, 6.0, 14.0, [1.0, 2.0, 4.0], [1, 1, 2])
        with pytest.raises(ValueError, match="3 and 1"):
            writer.add_histogram_raw("counts", 0.0, 3.0, 4, 6.0, 14.0, [1.0, 2.0, 4.0], [1])
        with pytest.raises(ValueError, match="2 labels of 1 boxes"):
            writer.add_image_with_boxes("boxes", picture, boxes, labels=["cat", "dog"])
        with pytest.raises(ValueError, match="'bounds' has 1 tags"):
            writer.add_custom_scalars_marginchart(["mean"], title="bounds")
    assert writer.file_writer is None
    found = read(tmp_path)
    assert numbers(found, "points_VERTEX").tolist() == POINTS.tolist()
    assert numbers(found, "points_FACE").tolist() == [[[0, 1, 2]]]
    assert numbers(found, "weights").tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert numbers(found, "curve").tolist() == np.arange(18.0).reshape(6, 3).tolist()
    assert found.Histograms("counts")[0].histogram_value.bucket == [1, 1, 2]
    assert (found.Images("boxes")[0].width, found.Images("boxes")[0].height) == (60, 40)
    layout = layout_pb2.Layout.FromString(numbers(found, "custom_scalars__config__").item())
    charts = layout.category[0].chart
    assert list(charts[0].multiline.tag) == ["train", "test"]
    assert charts[1].margin.series[0].lower == "low"


def test_settings_are_numbers_bools_and_strings():
    summary.hparams({"lr": flambeau.tensor(0.1), "n": np.int64(2)}, {"loss": 1.0})
    with pytest.raises(ValueError, match="'sizes' should be one of int"):
        summary.hparams({"sizes": [1, 2]}, {"loss": 1.0})


def _as_data(found):
    """A summary with its tensors as lists."""
    values = []
    for each in found.value:
        data = json_format.MessageToDict(each)
        data.get("metadata", {}).pop("displayName", None)
        if each.HasField("tensor"):
            data["tensor"] = make_ndarray(each.tensor).tolist()
        values.append(data)
    return json.loads(json.dumps(values, default=repr))


@pytest.mark.oracle
@pytest.mark.parametrize("made", [
    lambda s, x: s.mesh("m", x(POINTS), x(np.ones((1, 4, 3), np.uint8)), None, {"a": 1}),
    lambda s, x: s.tensor_proto("t", x(POINTS)), lambda s, x: s.custom_scalars(PAGES),
    lambda s, x: s.histogram_raw("h", 0.0, 3.0, 4, 6.0, 14.0, [1.0, 2.0, 4.0], [1, 1, 2]),
    lambda s, x: s.pr_curve_raw("p", *x(np.ones((6, 3))), 3),
    lambda s, x: s.image_boxes("b", x(np.zeros((3, 20, 30))), x(np.ones((1, 4)) * 9))])
def test_summaries_are_those_of_pytorch(made):
    torch = pytest.importorskip("torch")
    from torch.utils.tensorboard import summary as theirs

    assert _as_data(made(summary, flambeau.tensor)) == _as_data(made(theirs, torch.tensor))
