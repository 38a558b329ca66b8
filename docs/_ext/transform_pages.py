"""Sphinx extension: a reference page that says how each operator runs under the transforms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from written_pages import register

from flambeau.autograd.transforms.batching import batch_way
from flambeau.autograd.transforms.forward import forward_way
from flambeau.core.opdefs import OPDEFS
from flambeau.core.opdefs.opdef import BATCHING, JVP

if TYPE_CHECKING:
    from sphinx.application import Sphinx

HEADING = "Operators under the transforms"
INTRODUCTION = """\
How operators get tangents in forward mode, and how they run under ``vmap``. Operators that are
made of others are left out: they do what their parts do. ``gradient`` differentiates the operator's
gradient, ``loop`` runs sample by sample; the words are explained below the table, and in
:doc:`/design/transforms`.
"""


def page() -> str:
    """Return the page, a table."""
    lines = [HEADING, "=" * len(HEADING), "", INTRODUCTION, ".. list-table::", "   :header-rows: 1",
             "", "   * - Operator", "     - Tangents", "     - Batches"]
    for opdef in sorted(OPDEFS, key=lambda opdef: opdef.key):
        if opdef.category != "composite":
            lines += [f"   * - ``{opdef.key}``", f"     - {forward_way(opdef.key)}",
                      f"     - {batch_way(opdef.key)}"]
    for title, words in (("Tangents", JVP), ("Batches", BATCHING)):
        lines += ["", title, "-" * len(title), ""]
        lines += [f"- ``{word}``: {meaning}" for word, meaning in words.items()]
    return "\n".join(lines) + "\n"


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension."""
    return register(app, {"transform_ways.rst": page})
