"""Layers whose weights are int8, which take a quarter of the memory."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import flambeau
from flambeau import Tensor

from .._core import ops
from ..modules.attention import MultiheadAttention
from ..modules.linear import Linear
from ..modules.module import Module
from ..modules.sparse import Embedding
from .quantized_attention import attention_of

#: The kinds of layers that have a form in few bits.
KINDS: tuple[type[Module], ...] = (Linear, Embedding, MultiheadAttention)


def _rounded(weight: Tensor) -> tuple[Tensor, Tensor]:
    """A matrix as int8, and what one is worth in each of its rows."""
    scales = weight.abs().amax(1) / 127 if weight.shape[1] else weight.new_zeros(weight.shape[0])
    if not bool(scales.isfinite().all()):
        raise ValueError("quantize_dynamic(): a weight has elements that are infinite or NaN")
    whole = (weight / scales.clamp(min=flambeau.finfo(flambeau.float32).tiny)[:, None]).round()
    return whole.to(flambeau.int8), scales


class _Quantized(Module):
    """A matrix of int8 and a scale for each of its rows."""

    weight: Tensor
    scales: Tensor

    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        whole, scales = _rounded(weight.detach().float())
        self.register_buffer("weight", whole)
        self.register_buffer("scales", scales)

    def _apply(self, fn: Callable[..., Any], recurse: bool = True) -> Any:
        """Move to another device; a cast of the module leaves the scales in float32."""
        super()._apply(fn, recurse)
        self.scales = self.scales.float()
        return self


class QuantizedLinear(_Quantized):
    r"""``Linear`` with weights of int8 and inputs that are rounded to int8 as they come.

    ``weight[i, j] = scales[i] * whole[i, j]`` with integers from -127 to 127, and each row of
    the input likewise, by its own greatest magnitude. Products of integers are summed
    exactly. It computes outputs only: what it is made from is trained, not this.

    Shapes: input ``(*, in_features)``, output ``(*, out_features)``, ``weight`` of int8
    ``(out_features, in_features)``, ``scales`` and ``bias`` of float32 ``(out_features,)``.

    Args:
        linear: The layer whose weights it takes.

    Raises:
        ValueError: A weight is infinite or NaN.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> linear, x = nn.Linear(64, 32), flambeau.randn(8, 64)
        >>> with flambeau.no_grad():
        ...     difference = nn.utils.QuantizedLinear(linear)(x) - linear(x)
        >>> bool(difference.abs().max() < 0.1)
        True
    """

    bias: Tensor | None

    def __init__(self, linear: Linear) -> None:
        super().__init__(linear.weight)
        bias = linear.bias
        self.register_buffer("bias", None if bias is None else bias.detach().float().clone())

    def forward(self, input: Tensor) -> Tensor:
        """Apply the map to the last dimension of ``input``."""
        bias = self.bias if self.bias is None else self.bias.float()
        result: Tensor = ops.quantized_linear(input, self.weight, self.scales, bias)
        return result

    def rows(self, start: int, count: int) -> Callable[[Tensor], Tensor]:
        """The layer that computes some of the outputs."""
        part = slice(start, start + count)
        bias = self.bias if self.bias is None else self.bias.float()[part]
        return lambda input: ops.quantized_linear(input, self.weight[part], self.scales[part], bias)

    def extra_repr(self) -> str:
        rows, columns = self.weight.shape
        return f"in_features={columns}, out_features={rows}, bias={self.bias is not None}"


class QuantizedEmbedding(_Quantized):
    """``Embedding`` whose table is int8, with a scale for each row.

    Args:
        embedding: The table whose weights it takes.

    Raises:
        ValueError: A weight is infinite or NaN, or the table has ``max_norm``.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> table, words = nn.Embedding(100, 16), flambeau.tensor([[1, 5], [99, 1]])
        >>> quantized = nn.utils.QuantizedEmbedding(table)
        >>> bool((quantized(words) - table(words)).abs().max() < 0.05)
        True
    """

    def __init__(self, embedding: Embedding) -> None:
        if embedding.max_norm is not None:
            raise ValueError("QuantizedEmbedding: a table with max_norm changes as it is read; "
                             "set max_norm to None if its rows are final")
        super().__init__(embedding.weight)

    def forward(self, input: Tensor) -> Tensor:
        """The rows of the table at the indices of ``input``."""
        return self.weight[input].to(flambeau.float32) * self.scales[input].unsqueeze(-1)

    def extra_repr(self) -> str:
        rows, columns = self.weight.shape
        return f"{rows}, {columns}"


def quantize_dynamic(
    module: Module,
    kinds: tuple[type[Module], ...] = KINDS,
    skip: Callable[[str, Module], bool] | None = None,
) -> Module:
    """A copy of a trained network whose linear layers and tables have weights of int8.

    So have the projections of attention. Weights that several layers share are rounded once, and
    shared again. Layers of other kinds and subclasses (whose ``forward`` may be their own) stay as
    they are.

    Args:
        module: The network, which stays as it is.
        kinds: The kinds of layers that change, of ``Linear``, ``Embedding`` and
            ``MultiheadAttention``.
        skip: Called with a layer's name and the layer: true leaves it as it is.

    Returns:
        The copy, in evaluation mode. It computes outputs, not gradients.

    Raises:
        ValueError: ``kinds`` has another kind, a weight is infinite or NaN, or a table has
            ``max_norm``.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
        >>> nn.utils.quantize_dynamic(model, skip=lambda name, layer: name == "2")
        Sequential(
          (0): QuantizedLinear(in_features=64, out_features=128, bias=True)
          (1): ReLU()
          (2): Linear(in_features=128, out_features=10, bias=True)
        )

    The scheme is that of Jacob et al., Quantization and training of neural networks for efficient
    integer-arithmetic-only inference (2018), symmetric and with the inputs' ranges taken as they
    come.
    """
    forms: dict[type[Module], Callable[[Any], Module]] = {
        Linear: QuantizedLinear, Embedding: QuantizedEmbedding,
        MultiheadAttention: attention_of(QuantizedLinear)}
    return replace_layers(module, forms, kinds, skip, "quantize_dynamic")


def replace_layers(
    module: Module,
    forms: dict[type[Module], Callable[[Any], Module]],
    kinds: tuple[type[Module], ...],
    skip: Callable[[str, Module], bool] | None,
    title: str,
) -> Module:
    """A copy in evaluation mode, with another form instead of each layer of these kinds."""
    for kind in kinds:
        if kind not in forms:
            raise ValueError(f"{title}(): {kind.__name__} has no quantized form; kinds "
                             f"are {', '.join(known.__name__ for known in forms)}")
    result = copy.deepcopy(module)
    made: dict[int, Module] = {}
    for name, layer in list(result.named_modules(remove_duplicate=False)):
        if type(layer) in kinds and not (skip and skip(name, layer)):
            if id(layer) not in made:
                made[id(layer)] = _share(forms[type(layer)](layer), layer, made)
            if not name:
                return made[id(layer)].eval()
            parent, _, last = name.rpartition(".")
            setattr(result.get_submodule(parent), last, made[id(layer)])
    return result.eval()


def _share(quantized: Module, layer: Any, made: dict[int, Module]) -> Module:
    """The layer, with the matrix of an earlier one that is made from the same weight."""
    if not hasattr(layer, "weight"):
        return quantized
    same = made.setdefault(id(layer.weight), quantized)
    for name in ("weight", "scales", "offsets"):
        if name in same._buffers:
            setattr(quantized, name, same._buffers[name])
    return quantized
