"""The class of masked tensors, under the name of PyTorch's module."""
from flambeau.masked._tensor import MaskedTensor, as_masked_tensor, is_masked_tensor, masked_tensor

__all__ = ["MaskedTensor", "as_masked_tensor", "is_masked_tensor", "masked_tensor"]
