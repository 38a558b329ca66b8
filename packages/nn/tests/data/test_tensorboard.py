"""Files for TensorBoard, read back by TensorBoard."""

from __future__ import annotations

import io
import os
from pathlib import Path

import numpy as np
import pytest

import flambeau

pytest.importorskip("tensorboard", reason="needs tensorboard")
from google.protobuf import text_format
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.projector.projector_config_pb2 import ProjectorConfig

from flambeau.utils.tensorboard import SummaryWriter, summary
from flambeau.utils.tensorboard.summaries import as_pixels


def read(folder):
    found = EventAccumulator(str(folder), size_guidance={"images": 0, "scalars": 0, "tensors": 0})
    found.Reload()
    return found


def test_scalars(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        for i in range(3):
            writer.add_scalar("loss", flambeau.tensor([1 / (i + 1)]), i, walltime=10.0 + i)
        writer.add_scalar("exact", 1 / 3, double_precision=True)
        writer.add_scalars("both", {"a": 1, "b": flambeau.tensor(2.0, dtype=flambeau.bfloat16)}, 3)
        with pytest.raises(ValueError, match="'x' has 2 elements.*add_histogram"):
            writer.add_scalar("x", flambeau.ones(2))
        assert writer.get_logdir() == str(tmp_path)
    found = read(tmp_path)
    assert [(e.step, e.wall_time, round(e.value, 4)) for e in found.Scalars("loss")] == [
        (0, 10, 1), (1, 11, 0.5), (2, 12, 0.3333)]
    assert found.Tensors("exact")[0].tensor_proto.double_val[:] in ([1 / 3], [])
    assert read(tmp_path / "both_b").Scalars("both")[0].value == 2


def test_histograms_count_every_number(tmp_path):
    values = flambeau.tensor([-3.0, 0.5, 0.5, 2.0, 1e-15])
    with SummaryWriter(tmp_path) as writer:
        writer.add_histogram("h", values, 1)
        writer.add_histogram("few", values, 1, bins=[-4, -2, 0, 2, 4], max_bins=2)
        with pytest.raises(ValueError, match="no elements"):
            writer.add_histogram("none", flambeau.ones(0))
    for tag in ("h", "few"):
        found = read(tmp_path).Histograms(tag)[0].histogram_value
        assert (found.min, found.max, found.num, sum(found.bucket)) == (-3, 2, 5, 5)
        assert found.sum_squares == pytest.approx(13.5)
    assert found.bucket_limit == [-4, 0, 4] and found.bucket == [0, 1, 4]


@pytest.mark.parametrize(("count", "size"), [(1, (2, 3)), (3, (2, 12)), (5, (4, 12))])
@pytest.mark.parametrize("channels", [1, 3])
def test_moving_pictures(tmp_path, count, size, channels):
    from PIL import Image

    frames = flambeau.zeros(count, 2, channels, 2, 3)
    frames[-1, 1, :, 1, 2] = 1.0            # the last picture, in the second frame
    with SummaryWriter(tmp_path) as writer:
        writer.add_video("all", frames, 1, fps=10)
        writer.add_video("bytes", (frames * 255).to(flambeau.uint8))
        with pytest.raises(ValueError, match=r"shape \[2, 3\]; give one of shape"):
            writer.add_video("x", flambeau.ones(2, 3))
    for tag in ("all", "bytes"):
        found = read(tmp_path).Images(tag)[0]
        assert (found.height, found.width) == size
        with Image.open(io.BytesIO(found.encoded_image_string)) as picture:
            assert picture.n_frames == 2
            assert picture.info["duration"] == (100 if tag == "all" else 250)
            assert not np.asarray(picture.convert("L")).any()
            picture.seek(1)
            pixels = np.asarray(picture.convert("L"))
    left, top = (count - 1) % (size[1] // 3) * 3, (count - 1) // (size[1] // 3) * 2
    assert np.argwhere(pixels == 255).tolist() == [[top + 1, left + 2]]


def test_a_closed_writer_goes_on_in_another_file(tmp_path):
    writer = SummaryWriter(tmp_path)
    writer.add_scalar("loss", 1.0, 0)
    writer.close()
    writer.close()
    writer.add_scalar("loss", 2.0, 1)
    assert writer._get_file_writer() is writer.file_writer is not None
    writer.close()
    assert [each.value for each in read(tmp_path).Scalars("loss")] == [1.0, 2.0]
    assert len(list(tmp_path.iterdir())) == 2


def test_pictures(tmp_path):
    from PIL import Image

    picture = flambeau.zeros(3, 2, 4)
    picture[0, :, 1] = 1.0
    with SummaryWriter(tmp_path) as writer:
        writer.add_image("one", picture, 1)
        writer.add_images("many", flambeau.arange(40).view(10, 1, 2, 2).to(flambeau.uint8))
        with pytest.raises(ValueError, match=r"shape \[2, 2\].*'CHW'"):
            writer.add_image("x", flambeau.ones(2, 2))
    path = tmp_path / "x.png"
    path.write_bytes(read(tmp_path).Images("one")[0].encoded_image_string)
    assert np.asarray(Image.open(path))[0, 1].tolist() == [255, 0, 0]
    assert read(tmp_path).Images("many")[0].width == 16


def test_grids_of_pictures():
    pictures = np.arange(9 * 2).reshape(9, 1, 2, 1)
    grid = as_pixels(pictures, "NCHW")
    assert grid.shape == (4, 8, 3)
    assert grid[..., 0].tolist() == [list(range(0, 16, 2)), list(range(1, 17, 2)),
                                     [16] + [0] * 7, [17] + [0] * 7]
    assert as_pixels(np.ones((2, 3, 4)), "HWC").shape == (2, 3, 4)


def test_precision_and_recall(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_pr_curve("pr", flambeau.tensor([0, 1, 1, 0]),
                            flambeau.tensor([0.1, 0.9, 0.6, 0.7]), num_thresholds=5)
    from tensorboard.util.tensor_util import make_ndarray

    rows = make_ndarray(read(tmp_path).Tensors("pr")[0].tensor_proto)
    assert rows[0].tolist() == [2, 2, 2, 1, 0] and rows[1].tolist() == [2, 1, 1, 0, 0]
    assert rows[4].tolist() == pytest.approx([0.5, 2 / 3, 2 / 3, 1, 0])
    assert rows[5].tolist() == [1, 1, 1, 0.5, 0]


def test_texts_sounds_and_settings(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_text("note", "**bold**")
        writer.add_audio("tone", flambeau.zeros(100), sample_rate=8000)
        writer.add_hparams({"rate": 0.1, "deep": True, "name": "x"}, {"accuracy": 0.5},
                           {"rate": [0.1, 0.2]}, run_name="run")
    found = read(tmp_path)
    assert found.Tensors("note/text_summary")[0].tensor_proto.string_val == [b"**bold**"]
    assert found.Audio("tone")[0].length_frames in (0, 100)
    run = read(tmp_path / "run")
    assert run.Scalars("accuracy")[0].value == 0.5
    assert set(run.summary_metadata) >= {"_hparams_/experiment", "_hparams_/session_start_info",
                                         "_hparams_/session_end_info"}


def projected(folder: Path) -> ProjectorConfig:
    return text_format.Parse((folder / "projector_config.pbtxt").read_text(), ProjectorConfig())


def test_embeddings_are_tables_that_the_projector_finds(tmp_path):
    from PIL import Image

    pictures = flambeau.zeros(5, 1, 2, 3)
    pictures[4] = 1.0
    with SummaryWriter(tmp_path) as writer:
        writer.add_embedding(flambeau.arange(10.0).view(5, 2), "abcde", pictures, 7, "a b")
        writer.add_embedding(flambeau.ones(2, 3), [[1, "x"], [2, "y"]],
                             metadata_header=["id", "name"])
        writer.add_embedding(flambeau.zeros(2, 3))
    first, again = projected(tmp_path).embeddings
    assert first.tensor_name == "a b:00007" and again.tensor_name == "default:00000"
    assert (tmp_path / first.tensor_path).read_text().splitlines()[:2] == ["0.0\t1.0", "2.0\t3.0"]
    assert (tmp_path / first.metadata_path).read_text() == "a\nb\nc\nd\ne\n"
    assert list(first.sprite.single_image_dim) == [3, 2]
    sprite = np.asarray(Image.open(tmp_path / first.sprite.image_path))
    assert sprite.shape == (6, 9, 3)             # a square of 3 x 3 pictures
    assert sprite[2:4, 3:6].min() == 255 and sprite.sum() == 255 * 2 * 3 * 3
    assert (tmp_path / again.tensor_path).read_text().startswith("0.0\t0.0\t0.0\n")
    assert (tmp_path / "00000/default/metadata.tsv").read_text() == "id\tname\n1\tx\n2\ty\n"


@pytest.mark.parametrize("given, said", [
    ({"mat": np.ones(3)}, r"shape \[3\]"),
    ({"metadata": ["a"]}, "1 labels for 2 points"),
    ({"metadata": [["a"], ["b"]], "metadata_header": ["x", "y"]}, "names 2 columns"),
    ({"label_img": np.ones((1, 3, 2, 2))}, r"pictures as \(2, 3, height, width\)"),
])
def test_labels_are_as_many_as_points(tmp_path, given, said):
    with SummaryWriter(tmp_path) as writer, pytest.raises(ValueError, match=said):
        writer.add_embedding(**{"mat": np.ones((2, 3)), **given})


def test_the_folder_is_named_by_the_time(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    SummaryWriter(comment="-x").close()
    assert os.listdir("runs")[0].endswith("-x")


def test_graphs_join_the_parts_that_are_called(tmp_path):
    shared = flambeau.nn.ReLU()
    net = flambeau.nn.Sequential(flambeau.nn.Linear(2, 3), shared, flambeau.nn.Linear(3, 3), shared)
    with SummaryWriter(tmp_path) as writer:
        writer.add_graph(net, flambeau.ones(5, 2))
        with pytest.raises(ValueError, match="give an input"):
            writer.add_graph(net)
    joined = {node.name: (node.op, list(node.input)) for node in read(tmp_path).Graph().node}
    assert joined == {
        "input/0": ("IO Node", []), "Sequential/0": ("Linear", ["input/0"]),
        "Sequential/1": ("ReLU", ["Sequential/0"]), "Sequential/2": ("Linear", ["Sequential/1"]),
        "Sequential/1_2": ("ReLU", ["Sequential/2"]), "output": ("IO Node", ["Sequential/1_2"])}
    assert net.training and not net[0]._forward_hooks


def test_settings_in_a_file_of_ones_own(tmp_path):
    made = summary.hparams({"rate": 0.1, "name": "x"}, {"loss": 1.0}, {"name": ["x", "y"]})
    with SummaryWriter(tmp_path) as writer:
        for each in made:
            writer.file_writer.add_summary(each)
        writer.file_writer.add_summary(summary.scalar("loss", flambeau.tensor(0.5)), 3)
        writer.file_writer.add_summary(summary.text("note", "words"))
    found = read(tmp_path)
    assert [event.value for event in found.Scalars("loss")] == [0.5]
    assert set(found.summary_metadata) >= {"_hparams_/experiment", "_hparams_/session_start_info",
                                           "_hparams_/session_end_info"}
    for wrong in (([], {}), ({}, 3), ({"rate": 1}, {}, {"other": [1]})):
        with pytest.raises(TypeError, match="hparams"):
            summary.hparams(*wrong)
