"""All rows, in the order of the reference pages."""
from __future__ import annotations

from flambeau.core.table.autocast import with_policies
from flambeau.core.table.out_dtypes import with_exact_outs
from flambeau.core.table.row import Row
from flambeau.core.table.rows import (
    activations,
    arithmetic,
    comparison,
    complex,
    composites,
    creation,
    fourier,
    indexing,
    linalg,
    linalg_composites,
    linalg_products,
    losses,
    margins,
    matrix,
    movement,
    network,
    normalization,
    numbers,
    places,
    random,
    recurrent,
    reductions,
    resize,
    sampling,
    special,
    statistics,
    transcendental,
    views,
    windows,
)

_MODULES = (arithmetic, comparison, numbers, complex, transcendental, special, activations,
            reductions, statistics, views, movement, indexing, places, matrix, linalg,
            linalg_composites, linalg_products, network, creation, random, composites, losses,
            windows, margins, normalization, resize, sampling, fourier,
            recurrent)

ROWS: tuple[Row, ...] = with_exact_outs(with_policies(
    tuple(row for module in _MODULES for row in module.ROWS)))


def by_name(key: str) -> Row:
    """The row with this key (``"add"``, ``"max.dim"``)."""
    for row in ROWS:
        if row.key == key:
            return row
    raise KeyError(f"no operator {key!r} in the table")
