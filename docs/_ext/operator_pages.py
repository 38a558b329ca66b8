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

from written_pages import write_changed

from flambeau.core._core import find_op
from flambeau.core.opdefs.families import modules
from flambeau.core.operator_docs import arguments as arguments_of
from flambeau.core.operator_docs import errors, result

if TYPE_CHECKING:
    from sphinx.application import Sphinx

    from flambeau.core.opdefs import OpDef


def sections() -> Iterator[ModuleType]:
    """Yield the modules of definitions."""
    yield from modules()


def title(section: ModuleType) -> str:
    """Return the heading of a section: what its module's docstring says."""
    return (section.__doc__ or section.__name__).strip().splitlines()[0].rstrip(".")


def arguments(opdef: OpDef, bound: bool = False) -> str:
    """Return `(self, other, *, out=None)`, without `self` when it is bound."""
    text = opdef.signature[opdef.signature.index("(") :]
    return re.sub(r"^\(\w+(, )?", "(", text) if bound else text


def headings(opdef: OpDef) -> list[str]:
    """Return the signatures under which one definition can be called."""
    found = []
    if "function" in opdef.forms:
        names = (opdef.name, *opdef.plain_aliases)
        found += [f"flambeau.{name}{arguments(opdef)}" for name in names]
    found += [f"flambeau.{name}{arguments(opdef)}" for name in opdef.aliases if "." in name]
    if "nn" in opdef.forms:
        found.append(f"flambeau.nn.functional.{opdef.name}{arguments(opdef)}")
    if "method" in opdef.forms:
        found.append(f"Tensor.{opdef.name}{arguments(replace(opdef, out=False), bound=True)}")
    if "method" in opdef.forms and opdef.inplace:
        found.append(f"Tensor.{opdef.name}_{arguments(replace(opdef, out=False), bound=True)}")
    return found


def entry(opdef: OpDef) -> list[str]:
    """Return the lines that describe one definition."""
    first, *others = headings(opdef)
    lines = [f".. py:function:: {first}"]
    lines += [f"                 {other}" for other in others]
    lines += ["   :no-index:", "", f"   {opdef.doc}", ""]
    for name, formula in opdef.formulas.items():
        lines.append(f"   :{name} formula: ``{formula}``")
    known = find_op(opdef.key)
    lines += [f"   :param {name}: {text}" for name, text in arguments_of(known)]
    if returned := result(known):
        lines.append(f"   :returns: {returned}")
    lines += [f"   :raises {kind}: {text}" for kind, text in errors(known)]
    return [*lines, ""]


def page(section: ModuleType) -> str:
    """Return the page of one section."""
    heading = title(section)
    lines = [heading, "=" * len(heading), ""]
    for opdef in section.OPDEFS:
        if headings(opdef):
            lines += entry(opdef)
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
        write_changed(path, text)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension."""
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
