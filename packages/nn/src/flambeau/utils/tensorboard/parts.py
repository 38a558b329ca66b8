"""Summaries of meshes, tensors, pages of charts, and of numbers that were counted before."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np

from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary, SummaryMetadata
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.mesh import metadata as meshes
from tensorboard.plugins.mesh.plugin_data_pb2 import MeshPluginData
from tensorboard.plugins.pr_curve import metadata as pr_curve
from tensorboard.util.tensor_util import make_tensor_proto

from .summaries import array_of, as_pixels, in_bytes


def _of_plugin(tag: str, plugin: str, content: Any) -> Any:
    data = SummaryMetadata.PluginData(plugin_name=plugin)
    return Summary.Value(tag=tag, tensor=content, metadata=SummaryMetadata(plugin_data=data))


def tensor_proto(tag: str, tensor: Any) -> Any:
    """A tensor's numbers."""
    return Summary(value=[_of_plugin(tag, "tensor", make_tensor_proto(array_of(tensor)))])


def mesh(tag: str, vertices: Any, colors: Any, faces: Any, config_dict: Any) -> Any:
    """Points in space, with colors and triangles if there are any."""
    kinds = (MeshPluginData.VERTEX, MeshPluginData.FACE, MeshPluginData.COLOR)
    given = [(array_of(x), kind) for x, kind in zip((vertices, faces, colors), kinds, strict=True)
             if x is not None]
    components = meshes.get_components_bitmask([kind for _, kind in given])
    config = json.dumps(config_dict or {}, sort_keys=True)
    return Summary(value=[
        Summary.Value(
            tag=meshes.get_instance_name(tag, kind), tensor=make_tensor_proto(array),
            metadata=meshes.create_summary_metadata(
                tag, "", kind, components, array.shape, "", json_config=config))
        for array, kind in given])


def custom_scalars(layout: dict[str, dict[str, Any]]) -> Any:
    """Which curves share a chart, by the titles of pages and charts."""
    pages = [layout_pb2.Category(title=title, chart=[_chart(*each) for each in charts.items()])
             for title, charts in layout.items()]
    content = layout_pb2.Layout(category=pages).SerializeToString()
    return Summary(value=[_of_plugin("custom_scalars__config__", "custom_scalars",
                                     make_tensor_proto(content))])


def _chart(title: str, kind_and_tags: Any) -> Any:
    kind, tags = kind_and_tags
    if kind == "Margin":
        if len(tags) != 3:
            raise ValueError(f"add_custom_scalars(): the margin {title!r} has {len(tags)} tags; "
                             "give those of the value, its lower and its upper bound")
        series = layout_pb2.MarginChartContent.Series(value=tags[0], lower=tags[1], upper=tags[2])
        return layout_pb2.Chart(title=title,
                                margin=layout_pb2.MarginChartContent(series=[series]))
    return layout_pb2.Chart(title=title, multiline=layout_pb2.MultilineChartContent(tag=tags))


def histogram_raw(name: str, min: Any, max: Any, num: Any, sum: Any, sum_squares: Any,
                  bucket_limits: Any, bucket_counts: Any) -> Any:
    """Bins that were counted before."""
    made = HistogramProto(min=min, max=max, num=num, sum=sum, sum_squares=sum_squares,
                          bucket_limit=bucket_limits, bucket=bucket_counts)
    return Summary(value=[Summary.Value(tag=name, histo=made)])


def precision_recall_raw(tag: str, rows: Any, num_thresholds: int) -> Any:
    """A curve whose positives and negatives were counted before."""
    content = np.stack([array_of(row) for row in rows]).astype(np.float32)
    metadata = pr_curve.create_summary_metadata(
        display_name=tag, description="", num_thresholds=num_thresholds)
    return Summary(value=[Summary.Value(tag=tag, metadata=metadata,
                                        tensor=make_tensor_proto(content))])


def image_boxes(tag: str, picture: Any, boxes: Any, rescale: float, dataformats: str,
                labels: Any) -> Any:
    """A picture with red boxes: their left, upper, right and lower edges."""
    from PIL import Image, ImageDraw

    pixels = in_bytes(as_pixels(array_of(picture), dataformats))[..., :3]
    drawn = Image.fromarray(pixels)
    draw = ImageDraw.Draw(drawn)
    for number, (left, upper, right, lower) in enumerate(array_of(boxes)):
        draw.line([(left, upper), (left, lower), (right, lower), (right, upper), (left, upper)],
                  width=2, fill="red")
        if labels is not None:
            draw.text((left, upper), labels[number], fill="red")
    drawn = drawn.resize((int(drawn.width * rescale), int(drawn.height * rescale)))
    target = io.BytesIO()
    drawn.save(target, format="PNG")
    made = Summary.Image(height=drawn.height, width=drawn.width, colorspace=3,
                         encoded_image_string=target.getvalue())
    return Summary(value=[Summary.Value(tag=tag, image=made)])
