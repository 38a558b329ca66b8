"""Vectors that TensorBoard's projector shows: tables of text, and pictures in one square."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf import text_format

from tensorboard.plugins.projector.projector_config_pb2 import EmbeddingInfo, ProjectorConfig

from .summaries import array_of, grid_of, in_bytes

#: The file that the projector looks for in a folder of logs.
CONFIG = "projector_config.pbtxt"


def write_embedding(
    log_dir: str,
    mat: Any,
    metadata: Sequence[Any] | None,
    label_img: Any,
    step: int,
    tag: str,
    header: Sequence[str] | None,
) -> None:
    """Write vectors and what is known of them, and name the files in the projector's list."""
    vectors = array_of(mat)
    if vectors.ndim != 2:
        raise ValueError(
            f"add_embedding(): mat has shape {list(vectors.shape)}; give a row for each point"
        )
    info = EmbeddingInfo(tensor_name=f"{tag}:{step:05d}")
    where = f"{step:05d}/{_file_name(tag)}"
    folder = Path(log_dir, where)
    folder.mkdir(parents=True, exist_ok=True)
    _write_table(folder / "tensors.tsv", vectors.tolist())
    info.tensor_path = f"{where}/tensors.tsv"
    if metadata is not None:
        _write_table(folder / "metadata.tsv", _labels(metadata, header, len(vectors)))
        info.metadata_path = f"{where}/metadata.tsv"
    if label_img is not None:
        pictures = array_of(label_img)
        _write_sprite(folder / "sprite.png", pictures, len(vectors))
        info.sprite.image_path = f"{where}/sprite.png"
        info.sprite.single_image_dim.extend([pictures.shape[3], pictures.shape[2]])
    _list_embedding(Path(log_dir, CONFIG), info)


def _list_embedding(path: Path, info: EmbeddingInfo) -> None:
    """Name the files in the list, instead of an embedding of the same name and step."""
    config = ProjectorConfig()
    if path.exists():
        text_format.Parse(path.read_text(), config)
    others = [each for each in config.embeddings if each.tensor_name != info.tensor_name]
    del config.embeddings[:]
    config.embeddings.extend([*others, info])
    path.write_text(text_format.MessageToString(config))


def _file_name(tag: str) -> str:
    """The tag, with other characters than letters and digits as numbers."""
    return "".join(c if c.isascii() and c.isalnum() or c in "_-" else f"%{ord(c):02x}" for c in tag)


def _labels(
    metadata: Sequence[Any], header: Sequence[str] | None, points: int
) -> list[Sequence[Any]]:
    rows = [row if header else [row] for row in metadata]
    if len(rows) != points:
        raise ValueError(
            f"add_embedding(): metadata has {len(rows)} labels for {points} points of mat"
        )
    if header and any(len(row) != len(header) for row in rows):
        raise ValueError(
            f"add_embedding(): metadata_header names {len(header)} columns; give as many labels "
            "for each point"
        )
    return [header, *rows] if header else rows


def _write_table(path: Path, rows: Sequence[Sequence[Any]]) -> None:
    path.write_text("".join("\t".join(map(str, row)) + "\n" for row in rows))


def _write_sprite(path: Path, pictures: Any, points: int) -> None:
    """Write the pictures, rows by rows of a square that the projector cuts up again."""
    from PIL import Image

    if pictures.ndim != 4 or len(pictures) != points or pictures.shape[1] not in (1, 3):
        raise ValueError(
            f"add_embedding(): label_img has shape {list(pictures.shape)}; give pictures as "
            f"({points}, 3, height, width), one for each point"
        )
    across = math.ceil(math.sqrt(len(pictures)))
    pictures = in_bytes(pictures.transpose(0, 2, 3, 1))
    if pictures.shape[3] == 1:
        pictures = np.repeat(pictures, 3, axis=3)
    grid = grid_of(pictures, across)
    missing = across * pictures.shape[1] - len(grid)
    Image.fromarray(np.pad(grid, ((0, missing), (0, 0), (0, 0)))).save(path, format="PNG")
