"""What a writer adds besides curves and pictures: meshes, pages of charts, counted numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flambeau.utils.tensorboard.parts as parts


class Charts:
    """Methods of `SummaryWriter`."""

    def _add(self, summary: Any, step: Any, walltime: float | None) -> None:
        raise NotImplementedError

    def add_mesh(self, tag: str, vertices: Any, colors: Any = None, faces: Any = None,
                 config_dict: dict[str, Any] | None = None, global_step: int | None = None,
                 walltime: float | None = None) -> None:
        """Add points in space.

        Args:
            tag: Their name.
            vertices: Their coordinates, of shape (samples, points, 3).
            colors: Bytes of the same shape.
            faces: Triangles by the indices of their points, of shape (samples, triangles, 3).
            config_dict: Settings of the page's camera and light.
            global_step: The step.
            walltime: The time in seconds; now when left out.
        """
        self._add(parts.mesh(tag, vertices, colors, faces, config_dict), global_step, walltime)

    def add_tensor(self, tag: str, tensor: Any, global_step: int | None = None,
                   walltime: float | None = None) -> None:
        """Add a tensor's numbers.

        Args:
            tag: Their name.
            tensor: The tensor.
            global_step: The step.
            walltime: The time in seconds; now when left out.
        """
        self._add(parts.tensor_proto(tag, tensor), global_step, walltime)

    def add_custom_scalars(self, layout: dict[str, dict[str, Any]]) -> None:
        """Say which curves share a chart; once for a writer.

        Args:
            layout: ``{page: {chart: ["Multiline", tags]}}``, or ``["Margin", [value, lower,
                upper]]`` for a curve with bounds.
        """
        self._add(parts.custom_scalars(layout), None, None)

    def add_custom_scalars_multilinechart(self, tags: Sequence[str], category: str = "default",
                                          title: str = "untitled") -> None:
        """Say that curves share a chart.

        Args:
            tags: Their names.
            category: The title of the page.
            title: That of the chart.
        """
        self.add_custom_scalars({category: {title: ["Multiline", list(tags)]}})

    def add_custom_scalars_marginchart(self, tags: Sequence[str], category: str = "default",
                                       title: str = "untitled") -> None:
        """Say that a curve has bounds.

        Args:
            tags: The names of the value, its lower and its upper bound.
            category: The title of the page.
            title: That of the chart.
        """
        self.add_custom_scalars({category: {title: ["Margin", list(tags)]}})

    def add_histogram_raw(self, tag: str, min: Any, max: Any, num: Any, sum: Any, sum_squares: Any,
                          bucket_limits: Any, bucket_counts: Any, global_step: int | None = None,
                          walltime: float | None = None) -> None:
        """Add bins that were counted before.

        Args:
            tag: Their name.
            min: The least number.
            max: The greatest number.
            num: How many numbers there are.
            sum: Their sum.
            sum_squares: The sum of their squares.
            bucket_limits: The upper edge of each bin.
            bucket_counts: How many numbers lie in each.
            global_step: The step.
            walltime: The time in seconds; now when left out.

        Raises:
            ValueError: There are more bins than edges, or fewer.
        """
        if len(bucket_limits) != len(bucket_counts):
            raise ValueError("add_histogram_raw(): len(bucket_limits) != len(bucket_counts): "
                             f"{len(bucket_limits)} and {len(bucket_counts)}")
        made = parts.histogram_raw(tag, min, max, num, sum, sum_squares, bucket_limits,
                                   bucket_counts)
        self._add(made, global_step, walltime)

    def add_pr_curve_raw(self, tag: str, true_positive_counts: Any, false_positive_counts: Any,
                         true_negative_counts: Any, false_negative_counts: Any, precision: Any,
                         recall: Any, global_step: int | None = None, num_thresholds: int = 127,
                         weights: Any = None, walltime: float | None = None) -> None:
        """Add a curve of precision and recall whose numbers were counted before.

        Args:
            tag: Its name.
            true_positive_counts: For each threshold, like the next five.
            false_positive_counts: See above.
            true_negative_counts: See above.
            false_negative_counts: See above.
            precision: See above.
            recall: See above.
            global_step: The step.
            num_thresholds: How many thresholds there are.
            weights: Has no effect.
            walltime: The time in seconds; now when left out.
        """
        rows = (true_positive_counts, false_positive_counts, true_negative_counts,
                false_negative_counts, precision, recall)
        self._add(parts.precision_recall_raw(tag, rows, num_thresholds), global_step, walltime)

    def add_image_with_boxes(self, tag: str, img_tensor: Any, box_tensor: Any,
                             global_step: int | None = None, walltime: float | None = None,
                             rescale: float = 1, dataformats: str = "CHW",
                             labels: Sequence[str] | str | None = None) -> None:
        """Add a picture with boxes.

        Args:
            tag: Its name.
            img_tensor: Bytes, or numbers from 0 to 1.
            box_tensor: The left, upper, right and lower edge of each box.
            global_step: The step.
            walltime: The time in seconds; now when left out.
            rescale: How many times as large it is stored.
            dataformats: The order of its dimensions.
            labels: The name of each box.

        Raises:
            ValueError: There are more names than boxes, or fewer.
        """
        labels = [labels] if isinstance(labels, str) else labels
        if labels is not None and len(labels) != len(box_tensor):
            raise ValueError(f"add_image_with_boxes(): {len(labels)} labels of {len(box_tensor)} "
                             "boxes; give one for each")
        made = parts.image_boxes(tag, img_tensor, box_tensor, rescale, dataformats, labels)
        self._add(made, global_step, walltime)
