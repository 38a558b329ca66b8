"""Sphinx extension: one reference page per module of operator definitions.

The pages are derived from the definitions at every build, so that an operator which is defined is
in the manual, and one which is not is in neither.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from flambeau.core._core import find_op
from flambeau.core.opdefs.families import MODULES
from flambeau.core.operator_docs import arguments as arguments_of
from flambeau.core.operator_docs import errors, result

if TYPE_CHECKING:
    from sphinx.application import Sphinx

    from flambeau.core.opdefs import OpDef


def sections() -> Iterator[ModuleType]:
    """Yield the modules of definitions."""
    yield from MODULES


def title(section: ModuleType) -> str:
    """Return the heading of a section: what its module's docstring says."""
    return (section.__doc__ or section.__name__).strip().splitlines()[0].rstrip(".")


def arguments(row: OpDef, bound: bool = False) -> str:
    """Return `(self, other, *, out=None)`, without `self` when it is bound."""
    text = row.signature[row.signature.index("(") :]
    return re.sub(r"^\(\w+(, )?", "(", text) if bound else text


def headings(row: OpDef) -> list[str]:
    """Return the signatures under which one row can be called."""
    found = []
    if "function" in row.forms:
        found += [f"flambeau.{name}{arguments(row)}" for name in (row.name, *row.plain_aliases)]
    found += [f"flambeau.{name}{arguments(row)}" for name in row.aliases if "." in name]
    if "nn" in row.forms:
        found.append(f"flambeau.nn.functional.{row.name}{arguments(row)}")
    if "method" in row.forms:
        found.append(f"Tensor.{row.name}{arguments(replace(row, out=False), bound=True)}")
    if "method" in row.forms and row.inplace:
        found.append(f"Tensor.{row.name}_{arguments(replace(row, out=False), bound=True)}")
    return found


def entry(row: OpDef) -> list[str]:
    """Return the lines that describe one row."""
    first, *others = headings(row)
    lines = [f".. py:function:: {first}"]
    lines += [f"                 {other}" for other in others]
    lines += ["   :no-index:", "", f"   {row.doc}", ""]
    for name, formula in row.formulas.items():
        lines.append(f"   :{name} formula: ``{formula}``")
    known = find_op(row.key)
    lines += [f"   :param {name}: {text}" for name, text in arguments_of(known)]
    if returned := result(known):
        lines.append(f"   :returns: {returned}")
    lines += [f"   :raises {kind}: {text}" for kind, text in errors(known)]
    return [*lines, ""]


def page(section: ModuleType) -> str:
    """Return the page of one section."""
    heading = title(section)
    lines = [heading, "=" * len(heading), ""]
    for row in section.OPDEFS:
        if headings(row):
            lines += entry(row)
    return "\n".join(lines)


def write_pages(app: Sphinx) -> None:
    """Write the pages below docs/reference/_generated, where the index finds them."""
    folder = Path(app.srcdir) / "reference" / "_generated"
    folder.mkdir(parents=True, exist_ok=True)
    wanted = {}
    for section in sections():
        name = section.__name__.rpartition(".")[2]
        wanted[folder / f"{name}.rst"] = page(section)
    for stale in set(folder.glob("*.rst")) - wanted.keys():
        stale.unlink()
    for path, text in wanted.items():
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension."""
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
