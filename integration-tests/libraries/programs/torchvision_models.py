"""torchvision's networks: one of each family, forwards and a gradient."""

from __future__ import annotations

import io
from functools import partial
from typing import Any

import numpy
import torch
import torchvision
from torchvision import models
from worker import fill, gradients, numbers

CLASSIFICATION = {
    "alexnet": 64, "convnext_tiny": 32, "densenet121": 32, "efficientnet_b0": 32,
    "efficientnet_v2_s": 32, "googlenet": 64, "inception_v3": 96, "maxvit_t": 224,
    "mnasnet0_5": 32, "mobilenet_v2": 32, "mobilenet_v3_small": 32, "regnet_x_400mf": 32,
    "regnet_y_400mf": 32, "resnet18": 32, "resnet50": 32, "resnext50_32x4d": 32,
    "shufflenet_v2_x0_5": 32, "squeezenet1_1": 64, "swin_t": 64, "swin_v2_t": 64, "vgg11": 32,
    "vgg11_bn": 32, "vit_b_32": 224, "wide_resnet50_2": 32,
}
SEGMENTATION = ("deeplabv3_mobilenet_v3_large", "fcn_resnet50", "lraspp_mobilenet_v3_large",
                "deeplabv3_resnet50")
DETECTION = ("fasterrcnn_mobilenet_v3_large_320_fpn", "fasterrcnn_resnet50_fpn",
             "retinanet_resnet50_fpn", "ssd300_vgg16", "ssdlite320_mobilenet_v3_large",
             "fcos_resnet50_fpn", "maskrcnn_resnet50_fpn", "keypointrcnn_resnet50_fpn")
EXPORTED = ("fasterrcnn_mobilenet_v3_large_320_fpn", "fasterrcnn_resnet50_fpn",
            "retinanet_resnet50_fpn", "fcos_resnet50_fpn", "ssdlite320_mobilenet_v3_large")
VIDEO = {"r3d_18": 32, "mc3_18": 32, "r2plus1d_18": 32, "s3d": 224, "mvit_v2_s": 224,
         "swin3d_t": 32}


def classify(name: str, size: int) -> Any:
    """Scores of two images, and the gradients of one training step."""
    options = {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
    model = fill(models.get_model(name, weights=None, num_classes=10, **options))
    images = numbers(2, 3, size, size)
    model.eval()
    scores = model(images)
    torch.nn.functional.cross_entropy(scores, torch.tensor([3, 7])).backward()
    return scores, gradients(model)


def segment(name: str) -> Any:
    """Scores of the pixels of an image."""
    model = fill(models.get_model(name, weights=None, weights_backbone=None, num_classes=5)).eval()
    scores = model(numbers(1, 3, 64, 64))
    scores["out"].mean().backward()
    return scores, gradients(model)


def detect(name: str) -> Any:
    """What the first layers and the heads of a detector give (boxes need compiled operators)."""
    model = fill(models.get_model(name, weights=None, weights_backbone=None, num_classes=5)).eval()
    images, _ = model.transform([numbers(3, 96, 128).sigmoid()])
    features = model.backbone(images.tensors)
    if isinstance(features, torch.Tensor):
        features = {"0": features}
    values = list(features.values())
    heads = model.rpn.head(values) if hasattr(model, "rpn") else model.head(values)
    generate = model.rpn.anchor_generator if hasattr(model, "rpn") else model.anchor_generator
    return features, heads, generate(images, values)


def exported(name: str) -> Any:
    """Whether onnxruntime finds in two images what a detector finds whose model it runs."""
    try:
        torch.ops.torchvision.nms(torch.zeros(1, 4), torch.zeros(1), 0.5)
    except (AttributeError, RuntimeError):      # torchvision's compiled operators are missing
        return [True] * 2
    import onnxruntime

    options = {} if name.startswith("ssd") else {"min_size": 96, "max_size": 128}
    options |= {"box_score_thresh": 0.0} if name.startswith("faster") else {}
    model = fill(models.get_model(name, weights=None, weights_backbone=None, num_classes=5,
                                  **options)).eval()
    images = [numbers(3, 90, 120, seed=seed).sigmoid() for seed in (1, 2)]
    file = io.BytesIO()
    torch.onnx.export(model, ([images[0]],), file, dynamo=False)
    session = onnxruntime.InferenceSession(file.getvalue(), providers=["CPUExecutionProvider"])
    (given,) = session.get_inputs()
    alike = []
    for image in images:
        with torch.no_grad():
            (wanted,) = model([image])
        rows, others = (numpy.column_stack([numpy.asarray(each) for each in some])
                        for some in (session.run(None, {given.name: image.numpy()}),
                                     wanted.values()))
        apart = numpy.abs(rows[:, None] - others).max(2)    # equal scores stand in any order
        alike.append(rows.shape == others.shape and bool(
            (apart.min(0) < 0.05).all() and (apart.min(1) < 0.05).all()))  # of 120 pixels
    return alike


def watch(name: str, size: int) -> Any:
    """Scores of a short film."""
    model = fill(models.get_model(name, weights=None)).eval()
    frames = 16 if size > 100 else 4
    with torch.no_grad():
        return model(numbers(1, 3, frames, size, size))


def flow() -> Any:
    """Optical flow between two images."""
    model = fill(models.get_model("raft_small", weights=None)).eval()
    with torch.no_grad():
        return model(numbers(1, 3, 128, 128), numbers(1, 3, 128, 128, seed=2),
                     num_flow_updates=2)[-1].shape


def extractor() -> Any:
    """What inner layers give."""
    layers = models._utils.IntermediateLayerGetter(fill(models.resnet18()).eval(),
                                                   {"layer1": "a", "layer3": "b"})
    return layers(numbers(1, 3, 32, 32))


CASES = {
    **{f"classify {name}": partial(classify, name, size) for name, size in CLASSIFICATION.items()},
    **{f"segment {name}": partial(segment, name) for name in SEGMENTATION},
    **{f"detect {name}": partial(detect, name) for name in DETECTION},
    **{f"exported {name}": partial(exported, name) for name in EXPORTED},
    **{f"watch {name}": partial(watch, name, size) for name, size in VIDEO.items()},
    "flow": flow, "extractor": extractor, "version": lambda: torchvision.__version__,
}
