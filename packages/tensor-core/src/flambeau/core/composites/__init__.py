"""Operators written in terms of other operators.

The functions here are ordinary Python; some modules are compiled (docs/design/build.md). The
definition ``name`` (or ``name.overload``) of category composite is served by the function ``name``
(``name__overload``), which gets its parameters in order. They may not look at values, so that they
can be traced.
"""
from __future__ import annotations


def find(symbol: str):
    """The function that serves a composite."""
    from flambeau.core.composites import attention, conv, norm, recurrent, reduce, sort, special
    from flambeau.core.composites.fft import stft
    from flambeau.core.composites.index import embedding, indices
    from flambeau.core.composites.linalg import decompositions, norms, systems
    from flambeau.core.composites.loss import ctc, losses, margins
    from flambeau.core.composites.matmul import products
    from flambeau.core.composites.pointwise import (
        activations,
        arithmetic,
        comparison,
        numbers,
    )
    from flambeau.core.composites.pool import fractional, pooling
    from flambeau.core.composites.random import dropout, random
    from flambeau.core.composites.resample import grids, interpolate
    from flambeau.core.composites.shape import joins, movement, rearrange, shapes
    from flambeau.core.composites.statistics import differences, histograms, moments, quantiles

    for module in (shapes, movement, joins, rearrange, indices, sort, arithmetic, comparison,
                   numbers, special, products, attention, norm, embedding, activations,
                   losses, decompositions, systems, norms, moments, quantiles, differences,
                   histograms, random, dropout, conv, pooling, fractional, margins, interpolate,
                   grids, ctc, stft, recurrent, reduce):
        function = getattr(module, symbol, None)
        if function is not None:
            return function
    raise NotImplementedError(f"the composite {symbol!r} has no function")
