"""Random numbers: of this library's generator, not of another runtime's."""

from __future__ import annotations

import flambeau as fl
from flambeau.onnx.importing.reading import dtype_of
from flambeau.onnx.importing.table import Call, computes


def _generator(call: Call) -> fl.Generator | None:
    seed = call.get("seed")
    return None if seed is None else fl.Generator().manual_seed(int(seed))


def _filled(call: Call, shape: list[int], dtype: fl.dtype) -> fl.Tensor:
    out = fl.empty(shape, dtype=dtype, device=call.device)
    if call.op.startswith("RandomUniform"):
        return out.uniform_(call.get("low", 0.0), call.get("high", 1.0),
                            generator=_generator(call))
    return out.normal_(call.get("mean", 0.0), call.get("scale", 1.0), generator=_generator(call))


@computes("RandomUniform", "RandomNormal", placed=True)
def drawn(call: Call) -> fl.Tensor:
    """Independent numbers."""
    return _filled(call, call.get("shape"), dtype_of(call.get("dtype", 1)))


@computes("RandomUniformLike", "RandomNormalLike", placed=True)
def drawn_like(call: Call, x: fl.Tensor) -> fl.Tensor:
    """Independent numbers in the shape of a tensor."""
    dtype = dtype_of(call.get("dtype")) if call.get("dtype") else x.dtype
    return _filled(call, list(x.shape), dtype)


@computes("Bernoulli")
def bernoulli(call: Call, x: fl.Tensor) -> fl.Tensor:
    """1 with the given probabilities."""
    dtype = dtype_of(call.get("dtype")) if call.get("dtype") else x.dtype
    return fl.bernoulli(x, generator=_generator(call)).to(dtype)


@computes("Multinomial")
def multinomial(call: Call, x: fl.Tensor) -> fl.Tensor:
    """Classes drawn by the logarithms of their probabilities."""
    found = fl.multinomial(fl.softmax(x, -1), call.get("sample_size", 1), True,
                           generator=_generator(call))
    return found.to(dtype_of(call.get("dtype", 6)))
