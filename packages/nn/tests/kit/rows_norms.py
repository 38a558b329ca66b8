"""Rows of the kit: norms over the batch, over a sample and over channels."""

from modules_kit import row
from rows_spatial import LINE, PLANE, SHAPES, VOLUME, both

BATCHES = {1: [LINE, (5, 4)], 2: [PLANE, PLANE], 3: [VOLUME]}
OPTIONS = [
    {},
    {"momentum": None},
    {"momentum": 0.3, "eps": 1e-3},
    {"affine": False},
    {"bias": False},
    {"track_running_stats": False},
    {"affine": False, "track_running_stats": False},
]
INSTANCE_OPTIONS = [
    {},
    {"affine": True},
    {"affine": True, "bias": False},
    {"track_running_stats": True, "momentum": 0.3},
    {"affine": True, "track_running_stats": True, "eps": 1e-3},
]

ROWS = [
    *(
        row(f"BatchNorm{d}d", 4, inputs=BATCHES[d], scale=4, **options)
        for d in SHAPES
        for options in OPTIONS
    ),
    *(row("SyncBatchNorm", 4, inputs=[(5, 4), PLANE], scale=4, **o) for o in OPTIONS),
    *(
        row(f"InstanceNorm{d}d", 4, inputs=both(SHAPES[d]), scale=4, **options)
        for d in SHAPES
        for options in INSTANCE_OPTIONS
    ),
    row("LayerNorm", 8, inputs=[PLANE, (8,)], scale=4),
    row("LayerNorm", (7, 8), inputs=both(PLANE), scale=4, eps=1e-3),
    row("LayerNorm", 9, inputs=[LINE], scale=4, bias=False),
    row("LayerNorm", [9], inputs=[LINE], scale=4, elementwise_affine=False),
    row("RMSNorm", 8, inputs=[PLANE, (8,)], scale=4),
    row("RMSNorm", (7, 8), inputs=both(PLANE), scale=4, eps=1e-3),
    row("RMSNorm", 9, inputs=[LINE], scale=4, elementwise_affine=False),
    row("GroupNorm", 2, 4, inputs=[LINE, PLANE, VOLUME, (5, 4)], scale=4),
    row("GroupNorm", 1, 4, inputs=[PLANE], scale=4, bias=False),
    row("GroupNorm", 4, 4, inputs=[PLANE], scale=4, affine=False, eps=1e-3),
    row("LocalResponseNorm", 3, inputs=[LINE, PLANE, VOLUME], alpha=0.5),
    row("LocalResponseNorm", 2, inputs=[PLANE], alpha=0.5, beta=0.3, k=2.0),
    # PyTorch's windows are right only where they hold all channels.
    row("CrossMapLRN2d", 9, inputs=[PLANE], alpha=0.5),
    row("CrossMapLRN2d", 8, inputs=[PLANE], alpha=0.5, beta=0.3, k=2),
]
