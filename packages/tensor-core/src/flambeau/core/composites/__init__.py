"""Operators written in terms of other operators.

The functions here are ordinary Python; some modules are compiled (docs/design/build.md). A row
``name`` (or ``name.overload``) of category composite is served by the function ``name``
(``name__overload``), which gets the row's parameters in order. They may not look at values, so
that they can be traced.
"""
from __future__ import annotations


def find(symbol: str):
    """The function that serves a composite row."""
    from flambeau.core.composites import (
        activations,
        arithmetic,
        comparison,
        complex,
        convolution,
        dropout,
        fourier,
        histograms,
        joins,
        linalg,
        linalg_systems,
        losses,
        margins,
        matrix,
        movement,
        network,
        normalization,
        norms,
        numbers,
        order,
        places,
        pooling,
        pooling_adaptive,
        pooling_random,
        random,
        recurrent,
        resize,
        sampling,
        segments,
        shapes,
        special,
        spectrogram,
        statistics,
    )

    for module in (shapes, movement, joins, order, places, arithmetic, comparison, complex, numbers,
                   special, matrix, network, activations, losses, linalg, linalg_systems, norms,
                   statistics, histograms, random, dropout, convolution, pooling, pooling_adaptive,
                   pooling_random, margins, normalization, resize, sampling, fourier, spectrogram,
                   recurrent, segments):
        function = getattr(module, symbol, None)
        if function is not None:
            return function
    raise NotImplementedError(f"the composite row {symbol!r} has no function")
