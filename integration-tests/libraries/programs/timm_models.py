"""timm: three hundred networks over all families, forwards; of each tenth, gradients too."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import timm
import torch
from worker import fill, gradients, numbers

LINES = (Path(__file__).parent / "timm_names.txt").read_text().splitlines()
FAMILIES = [line.split() for line in LINES]     # a line per family, smallest first
NAMES = [names[i] for i in range(max(map(len, FAMILIES))) for names in FAMILIES if i < len(names)]


def run(name: str, is_trained: bool) -> Any:
    """Scores of an image, and gradients."""
    model = fill(timm.create_model(name, num_classes=10)).eval()
    size = model.pretrained_cfg.get("input_size", (3, 224, 224))
    image = numbers(1, *size)
    if not is_trained:
        with torch.no_grad():
            return model(image)
    scores = model(image)
    first = scores[0] if isinstance(scores, list | tuple) else scores
    (first * numbers(*first.shape, seed=4)).sum().backward()
    return scores, gradients(model)


CASES = {name: partial(run, name, index % 10 == 0) for index, name in enumerate(NAMES)}
