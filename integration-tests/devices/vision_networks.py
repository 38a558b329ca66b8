"""Small networks over pictures."""
from __future__ import annotations

import flambeau as fl
from flambeau import nn
from flambeau.nn import functional as F


class _Block(nn.Module):
    def __init__(self, channels: int, planes: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, planes, 3, stride, 1, bias=False)
        self.second = nn.Conv2d(planes, planes, 3, 1, 1, bias=False)
        self.norms = nn.ModuleList([nn.BatchNorm2d(planes), nn.BatchNorm2d(planes)])
        self.shortcut = nn.Conv2d(channels, planes, 1, stride) if stride > 1 else nn.Identity()

    def forward(self, x):
        y = F.relu(self.norms[0](self.first(x)), inplace=True)
        return F.relu(self.norms[1](self.second(y)) + self.shortcut(x))


class ResNet(nn.Module):
    """Blocks with shortcuts and batch norms."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 6, 3, padding=1), nn.BatchNorm2d(6), nn.ReLU())
        self.blocks = nn.Sequential(_Block(6, 6, 1), _Block(6, 8, 2))
        self.last = nn.Linear(8, 5)

    def forward(self, x):
        x = self.blocks(F.max_pool2d(self.stem(x), 3, 2, 1))
        return self.last(F.adaptive_avg_pool2d(x, 1).flatten(1))


class Depthwise(nn.Module):
    """Convolutions of single channels, group norms, dilation, averages."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 8, 1), nn.Conv2d(8, 8, 3, padding=2, dilation=2, groups=8),
            nn.GroupNorm(2, 8), nn.GELU(), nn.AvgPool2d(2), nn.Conv2d(8, 8, 3, groups=4),
            nn.InstanceNorm2d(8, affine=True), nn.Hardswish(), nn.Flatten(), nn.LazyLinear(5))
        self.layers(fl.zeros(1, 3, 8, 8))

    def forward(self, x):
        return self.layers(x)


class UNet(nn.Module):
    """Down and up again, with what was there on the way joined."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(2, 6, 3, padding=1), nn.GroupNorm(2, 6), nn.SiLU())
        self.bottom = nn.Sequential(nn.Conv2d(6, 8, 3, padding=1), nn.BatchNorm2d(8), nn.SiLU())
        self.up = nn.ConvTranspose2d(8, 6, 2, 2)
        self.last = nn.Conv2d(12, 3, 3, padding=1, padding_mode="reflect")

    def forward(self, x):
        x = self.down(x)
        y = self.up(self.bottom(F.max_pool2d(x, 2)))
        return self.last(fl.cat([x, y], 1))


class ViT(nn.Module):
    """Patches as words, and one that stands for the class."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, 16, 4, 4)
        self.token = nn.Parameter(fl.zeros(1, 1, 16))
        self.positions = nn.Parameter(fl.randn(1, 5, 16) * 0.02)
        self.block = nn.TransformerEncoderLayer(16, 4, 32, 0.0, batch_first=True)
        self.last = nn.Linear(16, 5)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = fl.cat([self.token.expand(len(x), -1, -1), x], 1) + self.positions
        return self.last(self.block(x)[:, 0])
