"""Names that PyTorch's files of modules have and that stand in other files here.

Programs import layers, and the bases that they derive their own from, out of the files.
"""

from __future__ import annotations

import importlib

#: File of this folder -> names of ``flambeau.nn`` that can be imported from it too.
FROM_NN = {
    "activation": ("MultiheadAttention",),
    "batchnorm": ("LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d"),
    "container": ("ParameterDict", "ParameterList"),
    "conv": (
        "ConvTranspose1d",
        "ConvTranspose2d",
        "ConvTranspose3d",
        "LazyConv1d",
        "LazyConv2d",
        "LazyConv3d",
        "LazyConvTranspose1d",
        "LazyConvTranspose2d",
        "LazyConvTranspose3d",
    ),
    "instancenorm": ("LazyInstanceNorm1d", "LazyInstanceNorm2d", "LazyInstanceNorm3d"),
    "linear": ("Bilinear", "LazyLinear"),
    "pooling": (
        "AdaptiveAvgPool1d",
        "AdaptiveAvgPool2d",
        "AdaptiveAvgPool3d",
        "AdaptiveMaxPool1d",
        "AdaptiveMaxPool2d",
        "AdaptiveMaxPool3d",
        "FractionalMaxPool2d",
        "FractionalMaxPool3d",
        "MaxUnpool1d",
        "MaxUnpool2d",
        "MaxUnpool3d",
    ),
    "rnn": ("GRUCell", "LSTMCell", "RNNCell", "RNNCellBase"),
}
#: (file, PyTorch's private name, file and name of the same class here)
BASES = (
    ("loss", "_Loss", "loss._base", "Loss"),
    ("loss", "_WeightedLoss", "loss._base", "WeightedLoss"),
    (
        "linear",
        "NonDynamicallyQuantizableLinear",
        "attention",
        "NonDynamicallyQuantizableLinear",
    ),
)


def add(exported: dict[str, object]) -> None:
    """Put the names into the files.

    Args:
        exported: The namespace of ``flambeau.nn``.
    """
    for file, names in FROM_NN.items():
        home = vars(_file(file))
        home.update({name: exported[name] for name in names})
        for name in names:
            _is_of(exported[name], file)
    for file, name, source, own in BASES:
        found = getattr(_file(source), own)
        setattr(_file(file), name, found)
        if name == own:
            _is_of(found, file)


def _is_of(found: object, file: str) -> None:
    """Say in which file of PyTorch's a class is: files of PyTorch's format name it so."""
    found._pytorch_module = f"torch.nn.modules.{file}"  # type: ignore[attr-defined]


def _file(name: str) -> object:
    return importlib.import_module(f"{__package__}.{name}")
