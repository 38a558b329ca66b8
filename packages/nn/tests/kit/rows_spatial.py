"""Rows of the kit: convolutions, pooling, margins, resizing, moving of pixels, dropouts."""

import numpy as np
from modules_kit import Given, row

LINE, PLANE, VOLUME = (2, 4, 9), (2, 4, 7, 8), (2, 4, 5, 4, 6)
ALONE = {LINE: (4, 9), PLANE: (4, 7, 8), VOLUME: (4, 5, 4, 6)}
SHAPES = {1: LINE, 2: PLANE, 3: VOLUME}


def both(shape):
    """A batch and a single sample."""
    return [shape, ALONE[shape]]


def over_dims(name, *args, inputs=None, **options):
    """The same row for one, two and three dimensions."""
    return [row(f"{name}{d}d", *args, inputs=inputs or both(SHAPES[d]), **options) for d in SHAPES]


CONVOLUTIONS = [
    *over_dims("Conv", 4, 6, 3),
    *over_dims("Conv", 4, 6, 2, bias=False),
    *over_dims("Conv", 4, 6, 3, stride=2, padding=1, groups=2),
    *over_dims("Conv", 4, 8, 3, padding=2, dilation=2, groups=4),
    *over_dims("Conv", 4, 6, 3, padding="same", dilation=2),
    *over_dims("Conv", 4, 6, 2, padding="same"),
    *over_dims("Conv", 4, 6, 3, padding="valid"),
    *(
        each
        for mode in ("reflect", "replicate", "circular")
        for each in over_dims("Conv", 4, 3, 3, padding=1, stride=2, padding_mode=mode)
    ),
    *over_dims("Conv", 4, 3, 2, padding="same", padding_mode="circular"),
    *over_dims("Conv", 4, 3, 2, padding="valid", padding_mode="reflect"),
    row("Conv2d", 4, 6, (3, 2), (2, 1), (2, 1), (1, 2), 2, False, inputs=[PLANE]),
    row("Conv3d", 4, 2, (1, 2, 3), (1, 2, 1), (0, 1, 2), inputs=[VOLUME]),
    row("Conv2d", 4, 6, 1, inputs=[(0, 4, 3, 3)], smooth=False),
    *over_dims("ConvTranspose", 4, 6, 3),
    *over_dims("ConvTranspose", 4, 6, 2, stride=2, bias=False),
    *over_dims("ConvTranspose", 4, 6, 3, stride=2, padding=1, output_padding=1, groups=2),
    *over_dims("ConvTranspose", 4, 8, 2, dilation=2, groups=4),
    *over_dims("ConvTranspose", 4, 2, 3, stride=3, dilation=2, output_padding=2),
    row("ConvTranspose1d", 4, 6, 3, 2, 1, inputs=[LINE], call={"output_size": (18,)}),
    row("ConvTranspose2d", 4, 6, 3, 2, inputs=both(PLANE), call={"output_size": [16, 18]}),
    row("ConvTranspose2d", 4, 6, 3, 2, inputs=[PLANE], call={"output_size": (2, 6, 15, 17)}),
    row("ConvTranspose2d", 4, 2, (3, 2), (2, 1), (1, 0), (1, 0), inputs=[PLANE]),
    row("ConvTranspose3d", 4, 2, 2, 2, inputs=[VOLUME], call={"output_size": (11, 9, 13)}),
]


def indices(shape, window, size):
    """For every window of a plane, line or volume an element of its own, counted in the whole."""

    def make(rng):
        grids = np.meshgrid(*(np.arange(n) * window for n in shape[2:]), indexing="ij")
        positions = [grid + rng.integers(0, window, shape) for grid in grids]
        return np.ravel_multi_index(positions, size)

    return Given(make)


POOLINGS = [
    *over_dims("MaxPool", 2),
    *over_dims("MaxPool", 3, 2, 1, return_indices=True),
    *over_dims("MaxPool", 2, 1, 0, 2, ceil_mode=True),
    *over_dims("MaxPool", 3, stride=2, ceil_mode=True),
    row("MaxPool2d", (3, 2), (2, 1), (1, 0), inputs=[PLANE]),
    row("MaxPool3d", (1, 2, 3), inputs=[VOLUME]),
    *over_dims("AvgPool", 2),
    *over_dims("AvgPool", 3, 2, 1),
    *over_dims("AvgPool", 3, 2, 1, ceil_mode=True, count_include_pad=False),
    row("AvgPool2d", 2, inputs=[PLANE], divisor_override=3),
    row("AvgPool3d", (1, 2, 3), inputs=[VOLUME], divisor_override=5),
    *over_dims("LPPool", 2, 3, scale=3),
    *over_dims("LPPool", 1, 2, 1, ceil_mode=True, scale=3),
    *over_dims("AdaptiveAvgPool", 1),
    *over_dims("AdaptiveAvgPool", 3),
    *over_dims("AdaptiveMaxPool", 1),
    *over_dims("AdaptiveMaxPool", 3, return_indices=True),
    row("AdaptiveAvgPool2d", (None, 4), inputs=[PLANE]),
    row("AdaptiveAvgPool3d", (2, None, 3), inputs=[VOLUME]),
    row("AdaptiveMaxPool2d", (3, None), inputs=[PLANE]),
    row("AdaptiveMaxPool3d", (2, 1, None), inputs=[VOLUME]),
    row("AdaptiveAvgPool2d", 9, inputs=[PLANE]),
    row("MaxUnpool1d", 2, inputs=[[(2, 3, 4), indices((2, 3, 4), 2, (8,))]]),
    row("MaxUnpool2d", 2, inputs=[[(2, 3, 4, 3), indices((2, 3, 4, 3), 2, (8, 6))]]),
    row("MaxUnpool3d", 2, inputs=[[(1, 2, 2, 3, 2), indices((1, 2, 2, 3, 2), 2, (4, 6, 4))]]),
    row(
        "MaxUnpool2d",
        2,
        inputs=[[(2, 3, 4, 3), indices((2, 3, 4, 3), 2, (9, 7))]],
        call={"output_size": (9, 7)},
    ),
]

MARGINS = [
    *(
        row(f"{kind}Pad{d}d", 2 if d < 3 else 1, inputs=both(SHAPES[d]))
        for kind in ("Circular", "Reflection", "Replication", "Zero")
        for d in SHAPES
    ),
    *over_dims("ConstantPad", 2, 0.5),
    *(
        row(f"{kind}Pad{d}d", tuple(range(3 - d, 3 + d))[: 2 * d], inputs=both(SHAPES[d]))
        for kind in ("Circular", "Reflection", "Replication", "Zero")
        for d in (1, 2)
    ),
    row("ConstantPad2d", (1, -1, 0, 2), -3, inputs=both(PLANE)),
    row("ConstantPad3d", (1, 0, 2, -1, 0, 1), 0.25, inputs=both(VOLUME)),
    row("ReplicationPad3d", (1, 0, 2, 0, 0, 1), inputs=both(VOLUME)),
    row("ReflectionPad3d", (1, 0, 2, 0, 0, 1), inputs=both(VOLUME)),
    row("CircularPad3d", (1, 0, 2, 0, 0, 1), inputs=both(VOLUME)),
]

RESIZING = [
    row("Upsample", 7, inputs=[LINE]),
    row("Upsample", inputs=[LINE], scale_factor=2.5, mode="linear"),
    row("Upsample", inputs=[PLANE], scale_factor=(2, 0.5)),
    row("Upsample", (5, 9), inputs=[PLANE], mode="bilinear"),
    row("Upsample", inputs=[PLANE], scale_factor=2, mode="bilinear", align_corners=True),
    row("Upsample", inputs=[PLANE], scale_factor=1.7, mode="bicubic", align_corners=False),
    row(
        "Upsample",
        inputs=[PLANE],
        scale_factor=1.3,
        mode="bilinear",
        align_corners=False,
        recompute_scale_factor=True,
    ),
    row("Upsample", inputs=[VOLUME], scale_factor=2, mode="trilinear", align_corners=True),
    row("Upsample", (3, 4, 5), inputs=[VOLUME]),
    row("UpsamplingNearest2d", inputs=[PLANE], scale_factor=2),
    row("UpsamplingNearest2d", (3, 5), inputs=[PLANE]),
    row("UpsamplingBilinear2d", inputs=[PLANE], scale_factor=(2, 3)),
    row("UpsamplingBilinear2d", 5, inputs=[PLANE]),
    row("PixelShuffle", 2, inputs=[(2, 8, 3, 4), (8, 3, 4), (2, 1, 4, 2, 2)]),
    row("PixelUnshuffle", 2, inputs=[(2, 3, 4, 6), (3, 4, 6)]),
    row("ChannelShuffle", 2, inputs=[PLANE, LINE]),
    row("Unfold", 2, inputs=both(PLANE)),
    row("Unfold", (3, 2), (1, 2), (1, 0), (2, 1), inputs=both(PLANE)),
    row("Fold", (4, 5), 2, inputs=[(2, 8, 12), (8, 12)]),
    row("Fold", (7, 8), (3, 2), (1, 2), (1, 0), (2, 1), inputs=[(2, 12, 24)]),
    row("Flatten", inputs=[PLANE]),
    row("Flatten", 0, 2, inputs=[PLANE]),
    row("Unflatten", 1, (2, 2), inputs=[PLANE]),
    row("Unflatten", -1, (2, -1), inputs=[PLANE]),
]

DROPOUTS = [
    row(name, *args, inputs=[shape], train=False)
    for name, shape in [
        ("Dropout", LINE),
        ("Dropout1d", LINE),
        ("Dropout2d", PLANE),
        ("Dropout3d", VOLUME),
        ("AlphaDropout", LINE),
        ("FeatureAlphaDropout", PLANE),
    ]
    for args in [(), (0.2, True)]
]

ROWS = [*CONVOLUTIONS, *POOLINGS, *MARGINS, *RESIZING, *DROPOUTS]
