"""Names of graph nodes, as PyTorch shows them: ``mul`` -> ``MulBackward0``."""
from __future__ import annotations

#: Operators whose node is called otherwise than their name says.
_NAMES = {
    "attention": "ScaledDotProductAttentionBackward0",
    "cast": "ToCopyBackward0",
    "clamp_both": "ClampBackward1",
    "clamp_max": "ClampBackward1",
    "clamp_min": "ClampBackward1",
    "contiguous_copy": "CloneBackward0",
    "conv2d": "ConvolutionBackward0",
    "copy": "CopyBackwards",
    "cross_entropy_rows": "NllLossBackward0",
    "elu_scaled": "EluBackward0",
    "embedding_bag_rows": "EmbeddingBagBackward0",
    "embedding_lookup": "EmbeddingBackward0",
    "gelu_exact": "GeluBackward0",
    "gelu_tanh": "GeluBackward0",
    "hardtanh_between": "HardtanhBackward0",
    "im2col": "Im2ColBackward0",
    "logsigmoid": "LogSigmoidBackward0",
    "max_pool2d_with_indices": "MaxPool2DWithIndicesBackward0",
    "max_pool2d_compact_indices": "MaxPool2DWithIndicesBackward0",
    "avg_pool2d": "AvgPool2DBackward0",
    "narrow": "SliceBackward0",
    "native_dropout": "NativeDropoutBackward0",
    "native_rms_norm": "FusedRmsNormBackward0",
    "nll_loss_rows": "NllLossBackward0",
    "norm_of": "LinalgVectorNormBackward0",
    "pdist_euclidean": "PdistBackward0",
    "prelu_rows": "PreluKernelBackward0",
    "real_part": "RealBackward0",
    "scatter.value": "ScatterBackward1",
    "softsign_of": "DivBackward0",
    "square": "PowBackward0",
    "tanhshrink": "SubBackward0",
    "threshold_at": "ThresholdBackward0",
    "to_device": "ToCopyBackward0",
}

#: Operators with a second form, and the parameter that tells: ``x.sum()`` is SumBackward0,
#: ``x.sum(dim=0)`` SumBackward1; a tensor exponent makes PowBackward1.
_VARIANTS = {"sum": "dim", "mean": "dim", "prod": "dim", "pow": "exponent"}


def backward_name(key: str) -> tuple[str, str | None]:
    """Name of an operator's node.

    Args:
        key: the operator, ``name`` or ``name.overload``.

    Returns:
        The name, and the parameter that turns its last ``0`` into ``1`` (or None).

    Example:
        >>> backward_name("log_softmax")
        ('LogSoftmaxBackward0', None)
        >>> backward_name("max.dim")
        ('MaxBackward0', None)
    """
    if key in _NAMES:
        return _NAMES[key], None
    name = key.rsplit("::", 1)[-1].partition(".")[0]
    return f"{_camel_case(name)}Backward0", _VARIANTS.get(key)


def _camel_case(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))
