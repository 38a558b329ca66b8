"""Sphinx extension: a page of the names that are accepted and change nothing, from their table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from written_pages import register

from flambeau.core.compat.table import HOMES

if TYPE_CHECKING:
    from sphinx.application import Sphinx

HEADING = "Names without effect"
INTRODUCTION = """\
Programs written for PyTorch set switches of libraries that Flambeau does not use, or ask about
devices that are not there. These names are accepted so that such programs run. A call that asks
for what is the case anyway is silent; one that has an effect in PyTorch, marked in the last column,
warns once and says what to write instead.
Those that have an effect here say so.
"""


def page() -> str:
    """Return the page, a table per module."""
    lines = [HEADING, "=" * len(HEADING), "", INTRODUCTION]
    for home in HOMES:
        name = "flambeau" if home.name.startswith("core.") else f"flambeau.{home.name}"
        lines += ["", name, "-" * len(name), "", home.doc, "", ".. list-table::",
                  "   :header-rows: 1", "", "   * - Name", "     - What it does here",
                  "     - Since", "     - Warns, and says"]
        for row in home.rows:
            if row.is_public:
                what = row.name if row.is_variable else f"{row.name}()"
                lines += [f"   * - ``{what}``", f"     - {row.here}", f"     - {row.since}",
                          f"     - {f'``{row.example}``: {row.instead}' if row.asks else ''}"]
    return "\n".join(lines) + "\n"


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension."""
    return register(app, {"no_effect.rst": page})
