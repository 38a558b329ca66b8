"""torchvision's transforms of tensors and of Pillow's images, data sets and pictures."""

from __future__ import annotations

import io
import os
import tempfile
from functools import partial
from typing import Any

import numpy
import torch
from PIL import Image
from torchvision import datasets, transforms, tv_tensors, utils
from torchvision.transforms import functional as F1
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional as F2
from worker import numbers

PIXELS = numpy.random.default_rng(5).integers(0, 256, (20, 30, 3), dtype="uint8")


def picture() -> Any:
    return Image.fromarray(PIXELS)


def image(kind: str) -> Any:
    pixels = torch.from_numpy(PIXELS.transpose(2, 0, 1).copy())
    return pixels if kind == "uint8" else pixels.float() / 255


def array(result: Any) -> Any:
    return numpy.asarray(result) if isinstance(result, Image.Image) else result


FUNCTIONS = {
    "resize": lambda F, x: F.resize(x, [13, 17], antialias=True),
    "resize plain": lambda F, x: F.resize(x, [13, 17], antialias=False),
    "resize nearest": lambda F, x: F.resize(x, [13, 47], F1.InterpolationMode.NEAREST),
    "resize bicubic": lambda F, x: F.resize(x, [33, 47], F1.InterpolationMode.BICUBIC,
        antialias=True),
    "crop": lambda F, x: F.crop(x, 2, 3, 10, 40), "center_crop": lambda F,
    x: F.center_crop(x, [9, 40]),
    "resized_crop": lambda F, x: F.resized_crop(x, 2, 3, 10, 12, [8, 8], antialias=True),
    "five_crop": lambda F, x: list(map(array, F.five_crop(x, [8, 8]))),
    "hflip": lambda F, x: F.hflip(x), "vflip": lambda F, x: F.vflip(x),
    "pad": lambda F, x: F.pad(x, [1, 2, 3, 4], fill=7), "pad edge": lambda F,
    x: F.pad(x, [2], padding_mode="edge"),
    "pad reflect": lambda F, x: F.pad(x, [2], padding_mode="reflect"),
    "pad symmetric": lambda F, x: F.pad(x, [2], padding_mode="symmetric"),
    "rotate": lambda F, x: F.rotate(x, 33.0),
    "rotate bilinear": lambda F, x: F.rotate(x, -20.0, F1.InterpolationMode.BILINEAR, expand=True,
        fill=[3.0]),
    "affine": lambda F, x: F.affine(x, 12.0, [2, 3], 1.2, [5.0, 3.0]),
    "perspective": lambda F, x: F.perspective(x, [[0, 0], [29, 0], [29, 19], [0, 19]],
        [[2, 3], [27, 1], [28, 17], [1, 18]]),
    "grayscale": lambda F, x: F.rgb_to_grayscale(x, 3),
    "brightness": lambda F, x: F.adjust_brightness(x, 1.3), "contrast": lambda F,
    x: F.adjust_contrast(x, 0.6),
    "saturation": lambda F, x: F.adjust_saturation(x, 1.7), "hue": lambda F,
    x: F.adjust_hue(x, 0.2),
    "gamma": lambda F, x: F.adjust_gamma(x, 0.8), "sharpness": lambda F,
    x: F.adjust_sharpness(x, 2.0),
    "invert": lambda F, x: F.invert(x), "autocontrast": lambda F, x: F.autocontrast(x),
    "posterize": lambda F, x: F.posterize(x, 3), "equalize": lambda F, x: F.equalize(x),
    "solarize": lambda F, x: F.solarize(x, 100 if not (isinstance(x,
                torch.Tensor) and x.is_floating_point()) else 0.4),
    "blur": lambda F, x: F.gaussian_blur(x, [5, 3]),
}


def function(name: str, kind: str, version: Any) -> Any:
    x = picture() if kind == "pil" else image(kind)
    return array(FUNCTIONS[name](version, x))


def kinds(name: str) -> tuple[str, ...]:
    return ("uint8",) if name in ("posterize", "equalize") else ("uint8", "float")


RANDOM = {
    "crop": lambda T: T.RandomCrop(12, padding=3), "resized": lambda T: T.RandomResizedCrop(9,
        antialias=True),
    "flips": lambda T: T.Compose([T.RandomHorizontalFlip(), T.RandomVerticalFlip()]),
    "jitter": lambda T: T.ColorJitter(0.3, 0.3, 0.3, 0.1),
    "affine": lambda T: T.RandomAffine(20, (0.1, 0.2), (0.8, 1.2), 5),
    "rotation": lambda T: T.RandomRotation(30), "perspective": lambda T: T.RandomPerspective(p=1.0),
    "blur": lambda T: T.GaussianBlur(3), "gray": lambda T: T.RandomGrayscale(0.5),
    "auto": lambda T: T.AutoAugment(), "rand": lambda T: T.RandAugment(),
    "trivial": lambda T: T.TrivialAugmentWide(),
    "augmix": lambda T: T.AugMix(), "choice": lambda T: T.RandomApply([T.RandomInvert(1.0)], 0.5),
    "elastic": lambda T: T.ElasticTransform(20.0, 2.0),
}


def drawn(name: str, version: Any, kind: str = "uint8") -> Any:
    """What random transforms make of one image, several times."""
    transform, results = RANDOM[name](version), []
    for seed in range(4):
        torch.manual_seed(seed)
        results.append(array(transform(picture() if kind == "pil" else image(kind))))
    return results


def erased() -> Any:
    torch.manual_seed(2)
    return [T.RandomErasing(p=1.0)(image("float")) for T in (transforms, v2)]


def pipeline(version: Any) -> Any:
    """The usual steps from a picture to a batch."""
    if version is transforms:
        steps = [transforms.Resize(16), transforms.CenterCrop(14), transforms.ToTensor()]
    else:
        steps = [v2.ToImage(), v2.Resize(16), v2.CenterCrop(14),
            v2.ToDtype(torch.float32, scale=True)]
    return version.Compose([*steps, version.Normalize([0.5, 0.4, 0.3], [0.2, 0.2, 0.3])])(picture())


def conversions() -> Any:
    x = F1.to_tensor(picture())
    return [x, F1.pil_to_tensor(picture()), numpy.asarray(F1.to_pil_image(x)),
            F1.convert_image_dtype(image("uint8"), torch.float32),
            F1.convert_image_dtype(x, torch.uint8),
            F2.to_dtype(image("uint8"), torch.float64, scale=True),
            F2.normalize(x, [0.5] * 3, [0.2] * 3)]


def annotated() -> Any:
    """An image with boxes, a mask and key points, which are moved together."""
    boxes = tv_tensors.BoundingBoxes([[2, 3, 10, 12], [5, 1, 25, 18]], format="XYXY",
        canvas_size=(20, 30))
    mask = tv_tensors.Mask(torch.from_numpy((PIXELS[:, :, 0] > 100).astype("uint8")))
    sample = {"image": tv_tensors.Image(image("uint8")), "boxes": boxes, "mask": mask,
              "labels": torch.tensor([1, 2])}
    torch.manual_seed(4)
    steps = v2.Compose([v2.RandomHorizontalFlip(1.0), v2.RandomResizedCrop(16, antialias=True),
                        v2.RandomRotation(20), v2.ClampBoundingBoxes(), v2.SanitizeBoundingBoxes(),
                        v2.ToDtype({tv_tensors.Image: torch.float32, "others": None}, scale=True)])
    result = steps(sample)
    return [result, [type(each).__name__ for each in result.values()], str(result["boxes"].format),
            result["boxes"].canvas_size]


def mixed() -> Any:
    torch.manual_seed(1)
    labels = torch.tensor([0, 2, 1, 1])
    images = numbers(4, 3, 8, 8)
    return [kind(num_classes=3)(images, labels) for kind in (v2.MixUp, v2.CutMix)]


def fake() -> Any:
    data = datasets.FakeData(6, (3, 8, 8), 4, transforms.ToTensor())
    return [[batch, labels] for batch, labels in torch.utils.data.DataLoader(data, 4)]


def folder() -> Any:
    """Pictures in folders of classes, as files."""
    with tempfile.TemporaryDirectory() as root:
        for kind in ("cat", "dog"):
            os.makedirs(f"{root}/{kind}")
            for i in range(3):
                Image.fromarray(PIXELS[i:]).save(f"{root}/{kind}/{i}.png")
        data = datasets.ImageFolder(root, transforms.Compose([transforms.ToTensor(),
                                                              transforms.CenterCrop(8)]))
        loaded = [[x, y] for x, y in torch.utils.data.DataLoader(data, 4, shuffle=True)]
        return data.classes, data.class_to_idx, loaded


def digits() -> Any:
    """MNIST's files, which are written here."""
    with tempfile.TemporaryDirectory() as root:
        raw = f"{root}/MNIST/raw"
        os.makedirs(raw)
        for part in ("train", "t10k"):
            with open(f"{raw}/{part}-images-idx3-ubyte", "wb") as file:
                file.write(bytes([0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 28, 0, 0, 0,
                            28]) + bytes(range(98)) * 16)
            with open(f"{raw}/{part}-labels-idx1-ubyte", "wb") as file:
                file.write(bytes([0, 0, 8, 1, 0, 0, 0, 2, 3, 7]))
        data = datasets.MNIST(root, transform=transforms.ToTensor())
        return [data[0], data[1], len(data), str(data)[:20]]


def grid() -> Any:
    images = image("float").unsqueeze(0).repeat(5, 1, 1, 1)
    buffer = io.BytesIO()
    utils.save_image(images, buffer, format="png", nrow=3)
    boxes = torch.tensor([[2.0, 3, 10, 12]])
    return [utils.make_grid(images, nrow=2, padding=1, normalize=True),
        numpy.asarray(Image.open(buffer)),
            utils.draw_bounding_boxes(image("uint8"), boxes, colors="red"),
            utils.draw_segmentation_masks(image("uint8"), image("uint8")[0] > 99, colors="blue")]


CASES = {
    **{f"{tag} {name} {kind}": partial(function, name, kind, version)
       for tag, version in (("v1", F1), ("v2", F2)) for name in FUNCTIONS
       for kind in (*kinds(name), "pil")},
    **{f"{tag} random {name} {kind}": partial(drawn, name, version, kind)
       for tag, version in (("v1", transforms), ("v2", v2)) for name in RANDOM
       for kind in ("uint8", "pil")},
    "erased": erased, "conversions": conversions, "annotated": annotated, "mixed": mixed,
    "pipeline v1": partial(pipeline, transforms), "pipeline v2": partial(pipeline, v2),
    "fake": fake, "folder": folder, "digits": digits, "grid": grid,
}
