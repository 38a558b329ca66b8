"""ResNet-18, built from modules, learns to read digits that are enlarged to its scale.

    python resnet.py --out results

The names of the parameters are those of torchvision, so that its weights load. The network is
that of He et al., "Deep Residual Learning for Image Recognition" (2016).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from helpers import Digits, accuracy, load_digits, options, plot_curves, report, start
from tqdm import tqdm

import flambeau
from flambeau import Tensor, nn, optim
from flambeau.nn import functional as F
from flambeau.utils.data import DataLoader, TensorDataset


def conv3x3(inputs: int, outputs: int, stride: int = 1) -> nn.Conv2d:
    """A convolution without bias, because a norm follows it."""
    return nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False)


class BasicBlock(nn.Module):
    """Two convolutions, and a way around them."""

    def __init__(self, inputs: int, outputs: int, stride: int = 1) -> None:
        super().__init__()
        self.conv1 = conv3x3(inputs, outputs, stride)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = conv3x3(outputs, outputs)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.downsample = None
        if stride != 1 or inputs != outputs:
            shrink = nn.Conv2d(inputs, outputs, 1, stride=stride, bias=False)
            self.downsample = nn.Sequential(shrink, nn.BatchNorm2d(outputs))

    def forward(self, x: Tensor) -> Tensor:
        around = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn1(self.conv1(x)))
        return self.relu(self.bn2(self.conv2(out)) + around)


class ResNet(nn.Module):
    """Four stages of blocks; each after the first halves the picture and doubles the channels."""

    def __init__(
        self,
        depths: Sequence[int] = (2, 2, 2, 2),
        classes: int = 1000,
        channels: int = 3,
        width: int = 64,
    ) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, width, 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        self.layer1 = self.stage(width, width, depths[0], 1)
        self.layer2 = self.stage(width, 2 * width, depths[1], 2)
        self.layer3 = self.stage(2 * width, 4 * width, depths[2], 2)
        self.layer4 = self.stage(4 * width, 8 * width, depths[3], 2)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(8 * width, classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    @staticmethod
    def stage(inputs: int, outputs: int, depth: int, stride: int) -> nn.Sequential:
        """Blocks of one size."""
        first = BasicBlock(inputs, outputs, stride)
        return nn.Sequential(first, *(BasicBlock(outputs, outputs) for _ in range(depth - 1)))

    def forward(self, x: Tensor) -> Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(self.avgpool(x).flatten(1))


def enlarge(images: Tensor, size: int) -> Tensor:
    """Digits of 8 by 8 pixels as pictures in three equal colours, at most of one size."""
    wide = F.interpolate(images, size=(size, size), mode="bilinear", align_corners=False)
    return wide.expand(-1, 3, -1, -1)


def train(model: nn.Module, digits: Digits, size: int, epochs: int) -> list[float]:
    """Teach the model, and return the loss of every step."""
    batches = DataLoader(TensorDataset(*digits), batch_size=32, shuffle=True, drop_last=True)
    steps = epochs * len(batches)
    optimizer = optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-4)
    schedule = optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.02, total_steps=steps)
    losses = []
    model.train()
    with tqdm(total=steps, desc="training", unit="step") as progress:
        for _ in range(epochs):
            for images, labels in batches:
                loss = F.cross_entropy(model(enlarge(images, size)), labels)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                schedule.step()
                losses.append(loss.item())
                progress.update()
                progress.set_postfix(loss=f"{losses[-1]:.4f}")
    return losses


def predict(model: nn.Module, images: Tensor, size: int) -> Tensor:
    """The digit that the model takes each picture for."""
    model.eval()
    with flambeau.no_grad():
        parts = [model(enlarge(part, size)).argmax(dim=1) for part in images.split(64)]
    return flambeau.cat(parts)


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Train, evaluate, and write the results."""
    parser = options("Train ResNet-18 on enlarged digits.", "resnet")
    parser.add_argument("--epochs", type=int, default=3, help="passes over the training digits")
    parser.add_argument("--size", type=int, default=64, help="pixels in a row of a picture")
    parser.add_argument("--width", type=int, default=64, help="channels of the first stage")
    parser.add_argument("--digits", type=int, default=None, help="how many to train on")
    arguments = parser.parse_args(argv)
    began = start(arguments)

    train_digits, test_digits = load_digits()
    train_digits = Digits(*(each[: arguments.digits] for each in train_digits))
    model = ResNet(classes=10, width=arguments.width)
    losses = train(model, train_digits, arguments.size, arguments.epochs)
    guesses = predict(model, test_digits.images, arguments.size)
    right = accuracy(guesses, test_digits.labels)

    plot_curves(arguments.out / "loss.png", "ResNet-18 on digits", "step", {"loss": losses})
    return report({"loss": losses, "held-out accuracy": right}, began)


if __name__ == "__main__":
    main()
