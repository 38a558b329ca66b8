"""``SummaryWriter``: files that TensorBoard shows."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any

from .charts import Charts
from .file_writer import FileWriter, event_pb2
from .summaries import (
    audio,
    histogram,
    image,
    precision_recall,
    scalar,
    settings_of_run,
    video,
    words,
)


class SummaryWriter(Charts):
    """Writes curves, histograms, pictures, texts and sounds for TensorBoard.

    Args:
        log_dir: The folder; ``runs/`` with the time and the machine's name when left out.
        comment: What such a folder's name ends in.
        purge_step: Steps from here on that an earlier run wrote are hidden.
        max_queue: How many events wait before they are written.
        flush_secs: How long they wait, in seconds.
        filename_suffix: What the files' names end in.

    Example:
        >>> import tempfile
        >>> from flambeau.utils.tensorboard import SummaryWriter
        >>> with SummaryWriter(tempfile.mkdtemp()) as writer:
        ...     writer.add_scalar("loss", 0.5, global_step=1)
    """

    def __init__(
        self,
        log_dir: Any = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: int = 120,
        filename_suffix: str = "",
    ) -> None:
        if not log_dir:
            now = time.strftime("%b%d_%H-%M-%S")
            log_dir = os.path.join("runs", f"{now}_{socket.gethostname()}{comment}")
        self.log_dir = os.fspath(log_dir)
        self._options = (max_queue, flush_secs, filename_suffix)
        self.all_writers: dict[str, FileWriter] | None = {}
        self.file_writer: FileWriter | None = self._writer(self.log_dir)
        if purge_step is not None:
            start = event_pb2.SessionLog(status=event_pb2.SessionLog.START)
            self.file_writer.add_event(event_pb2.Event(file_version="brain.Event:2"), purge_step)
            self.file_writer.add_event(event_pb2.Event(session_log=start), purge_step)

    def _writer(self, folder: str) -> FileWriter:
        if self.all_writers is None:        # it was closed: what follows is in another file
            self.all_writers = {}
            self.file_writer = self._writer(self.log_dir)
        if folder not in self.all_writers:
            self.all_writers[folder] = FileWriter(folder, *self._options)
        return self.all_writers[folder]

    def _get_file_writer(self) -> FileWriter:
        """What writes to the folder's file, for programs that add their own summaries."""
        return self._writer(self.log_dir)

    def _add(self, summary: Any, step: Any, walltime: float | None) -> None:
        self._writer(self.log_dir).add_summary(summary, step, walltime)

    def get_logdir(self) -> str:
        """The folder."""
        return self.log_dir

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """Add a number to a curve.

        Args:
            tag: The name of the curve.
            scalar_value: A number, or a tensor of one element.
            global_step: Where on the curve.
            walltime: When, in seconds since 1970; now when left out.
            new_style: Store it as a tensor.
            double_precision: Store it as float64, as a tensor.

        Raises:
            ValueError: ``scalar_value`` has more than one element.
        """
        made = scalar(tag, scalar_value, double_precision, new_style)
        self._add(made, global_step, walltime)

    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: dict[str, Any],
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Add numbers to several curves of one diagram, each of which has a folder of its own."""
        for name, value in tag_scalar_dict.items():
            folder = os.path.join(self.log_dir, f"{main_tag.replace('/', '_')}_{name}")
            made = scalar(main_tag, value)
            self._writer(folder).add_summary(made, global_step, walltime)

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: int | None = None,
        bins: Any = "tensorflow",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        """Add how numbers are distributed.

        Args:
            tag: The name.
            values: A tensor or array of any shape.
            global_step: When in training.
            bins: ``"tensorflow"``, or what ``numpy.histogram`` takes.
            walltime: As in ``add_scalar``.
            max_bins: Neighbouring bins are joined until there are so many at most.
        """
        self._add(histogram(tag, values, bins, max_bins), global_step, walltime)

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        """Add a picture: bytes from 0 to 255, or numbers from 0 to 1.

        Args:
            tag: The name.
            img_tensor: Of one, three or four channels.
            global_step: When in training.
            walltime: As in ``add_scalar``.
            dataformats: Which dimension is which: ``"CHW"``, ``"HWC"``, ``"HW"``.
        """
        self._add(image(tag, img_tensor, dataformats), global_step, walltime)

    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Add pictures side by side; arguments as in ``add_image``."""
        self.add_image(tag, img_tensor, global_step, walltime, dataformats)

    def add_figure(
        self,
        tag: str,
        figure: Any,
        global_step: int | None = None,
        close: bool = True,
        walltime: float | None = None,
    ) -> None:
        """Add a figure of matplotlib, or several, and close them unless ``close`` is False."""
        import numpy as np
        from matplotlib import pyplot
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        pictures = []
        for each in figure if isinstance(figure, list) else [figure]:
            canvas = FigureCanvasAgg(each)
            canvas.draw()
            pictures.append(np.asarray(canvas.buffer_rgba())[..., :3])
            if close:
                pyplot.close(each)
        self.add_image(tag, np.stack(pictures), global_step, walltime, "NHWC")

    def add_audio(
        self,
        tag: str,
        snd_tensor: Any,
        global_step: int | None = None,
        sample_rate: int = 44100,
        walltime: float | None = None,
    ) -> None:
        """Add sound: numbers from -1 to 1, ``sample_rate`` of them each second."""
        self._add(audio(tag, snd_tensor, sample_rate), global_step, walltime)

    def add_text(
        self,
        tag: str,
        text_string: str,
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Add a text in Markdown."""
        self._add(words(tag, text_string), global_step, walltime)

    def add_pr_curve(
        self,
        tag: str,
        labels: Any,
        predictions: Any,
        global_step: int | None = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Add precision and recall of predictions from 0 to 1 of labels 0 and 1."""
        made = precision_recall(tag, labels, predictions, num_thresholds, weights)
        self._add(made, global_step, walltime)

    def add_hparams(
        self,
        hparam_dict: dict[str, Any],
        metric_dict: dict[str, Any],
        hparam_domain_discrete: dict[str, list[Any]] | None = None,
        run_name: str | None = None,
        global_step: int | None = None,
    ) -> None:
        """Add the settings of a run and what came of it, for the page of hyperparameters.

        Args:
            hparam_dict: Numbers, bools and strings by name.
            metric_dict: Numbers by the tag under which curves have them.
            hparam_domain_discrete: All values that a setting may have.
            run_name: The folder of this run below the writer's; the time when left out.
            global_step: When in training.
        """
        made = settings_of_run(hparam_dict, metric_dict, hparam_domain_discrete)
        folder = os.path.join(self.log_dir, run_name or str(time.time()))
        with SummaryWriter(folder) as run:
            for each in made:
                run._add(each, global_step, None)
            for tag, value in metric_dict.items():
                run.add_scalar(tag, value, global_step)

    def add_graph(
        self,
        model: Any,
        input_to_model: Any = None,
        verbose: bool = False,
        use_strict_trace: bool = True,
    ) -> None:
        """Add the graph of a module's parts: a node for each that has no parts itself.

        Args:
            model: The module, which is called once, without gradients.
            input_to_model: Its argument, or a tuple of them.
            verbose: Print the graph.
            use_strict_trace: Nothing: modules are called, not traced.
        """
        if input_to_model is None:
            raise ValueError("add_graph(): give an input, with which the module is called once")
        from .graphs import graph_of

        graph = graph_of(model, input_to_model)
        if verbose:
            print(graph)
        self._writer(self.log_dir).add_event(
            event_pb2.Event(graph_def=graph.SerializeToString())
        )

    def add_embedding(
        self,
        mat: Any,
        metadata: Sequence[Any] | None = None,
        label_img: Any = None,
        global_step: int | None = None,
        tag: str = "default",
        metadata_header: Sequence[str] | None = None,
    ) -> None:
        """Add points of many dimensions, which TensorBoard's projector shows in two or three.

        Args:
            mat: The points, of shape ``(n, d)``.
            metadata: A label for each point, or with ``metadata_header`` a list of labels.
            label_img: A picture for each point, of shape ``(n, c, h, w)``.
            global_step: The step, 0 by default.
            tag: The name.
            metadata_header: What the labels of a point are.

        Raises:
            ValueError: Labels or pictures are not as many as points.
        """
        from .embeddings import write_embedding

        step = 0 if global_step is None else int(global_step)
        folder = self._writer(self.log_dir).get_logdir()
        write_embedding(folder, mat, metadata, label_img, step, tag, metadata_header)

    def add_video(
        self,
        tag: str,
        vid_tensor: Any,
        global_step: int | None = None,
        fps: float = 4,
        walltime: float | None = None,
    ) -> None:
        """Add moving pictures, which are stored as a GIF.

        Args:
            tag: The name.
            vid_tensor: Bytes, or numbers from 0 to 1, of shape ``(n, t, c, h, w)``: ``t`` frames of
                ``n`` pictures side by side, of one or three channels.
            global_step: The step.
            fps: Frames per second.
            walltime: When, in seconds since 1970; now when left out.

        Raises:
            ValueError: ``vid_tensor`` has another shape.
        """
        self._add(video(tag, vid_tensor, fps), global_step, walltime)

    def flush(self) -> None:
        """Write what waits."""
        for writer in (self.all_writers or {}).values():
            writer.flush()

    def close(self) -> None:
        """Write what waits, and close the files."""
        for writer in (self.all_writers or {}).values():
            writer.flush()
            writer.close()
        self.file_writer = self.all_writers = None

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
