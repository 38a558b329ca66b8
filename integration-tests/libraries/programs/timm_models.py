"""timm: three hundred networks over all families, forwards; of each tenth, gradients too.

Images are small where a network takes any size. Networks that amplify roundings from layer to layer
with these weights, as PyTorch's results in float32 and in float64 show, are compared in float64.
"""

from __future__ import annotations

import contextlib
from functools import partial
from pathlib import Path
from typing import Any

import timm
import torch
from worker import fill, gradients, numbers

LINES = (Path(__file__).parent / "timm_names.txt").read_text().splitlines()
FAMILIES = [line.split() for line in LINES]     # a line per family, smallest first
NAMES = [names[i] for i in range(max(map(len, FAMILIES))) for names in FAMILIES if i < len(names)]


AMPLIFY = frozenset((
    "dpn48b", "efficientvit_m0", "fastvit_mci0", "ghostnetv3_050", "hrnet_w18_small_v2",
    "iformer_m", "legacy_xception", "levit_conv_128", "repvit_m2", "resnet50s", "shvit_s3",
    "starnet_s050", "starnet_s1", "starnet_s100", "starnet_s150", "visformer_small",
    "xcit_nano_12_p16_224"))
#: Pixels per side, where a network takes any number.
SMALL = 128


def images(model: Any, count: int) -> Any:
    """Small images that a network takes."""
    asked = model.pretrained_cfg
    size = tuple(asked.get("input_size", (3, 224, 224)))
    least = max(SMALL, *(asked.get("min_input_size") or (0,)))
    small = numbers(count, size[0], *(min(each, least) for each in size[1:]))
    if not asked.get("fixed_input_size"):
        with contextlib.suppress(Exception), torch.no_grad():
            model(small)
            return small
    return numbers(count, *size)


def run(name: str, is_trained: bool) -> Any:
    """Scores, and gradients of two images: PyTorch's batch norm is wrong in the gradient of one.

    Its backward in evaluation reads a gradient whose strides are those of the last dimension first
    and whose batch of one has another stride as if it were contiguous (seen in 2.13 on CPUs).
    """
    model = fill(timm.create_model(name, num_classes=10)).eval()
    image = images(model, 2 if is_trained else 1)
    if name in AMPLIFY:
        model, image = model.double(), image.double()
    if not is_trained:
        with torch.no_grad():
            return model(image)
    scores = model(image)
    first = scores[0] if isinstance(scores, list | tuple) else scores
    (first * numbers(*first.shape, seed=4).to(first)).sum().backward()
    return scores, gradients(model)


CASES = {name: partial(run, name, index % 10 == 0) for index, name in enumerate(NAMES)}
