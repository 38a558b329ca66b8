"""Write the names and signatures of PyTorch's operators.

    $ python tools/aten_names.py

needs the installed PyTorch, and writes two files of `flambeau.library`: `aten_names.txt`, all
operators and their forms, and `aten_schemas.txt`, signatures of the forms for which there is a
function here. A star comes before those that PyTorch takes apart before they reach a kernel.
"""

from __future__ import annotations

import collections
import importlib
from typing import Any

from flambeau.library import aten


def rows(torch: Any) -> list[str]:
    """One line for each operator: ``add: Scalar Tensor out``."""
    forms = collections.defaultdict(list)
    for full in torch._C._dispatch_get_all_op_names():
        space, _, name = full.partition("::")
        if space == "aten":
            short, _, form = name.partition(".")
            forms[short].append(form or "default")
    return [f"{name}: {' '.join(sorted(forms[name]))}" for name in sorted(forms)]


def _is_composite(torch: Any, name: str) -> bool:
    try:
        key = "CompositeImplicitAutograd"
        return bool(torch._C._dispatch_has_kernel_for_dispatch_key(name, key))
    except RuntimeError:
        return True


def schemas(torch: Any) -> list[str]:
    """One line for each form: ``add.Tensor(Tensor self, Tensor other, ...) -> Tensor``."""
    found = []
    for name in sorted(filter(aten.is_listed, aten._table())):
        packet = getattr(torch.ops.aten, name, None)
        for form in sorted(packet.overloads() if packet else ()):
            overload = getattr(packet, form)
            mark = "*" if _is_composite(torch, overload.name()) else ""
            found.append(mark + str(overload._schema).removeprefix("aten::"))
    return found


if __name__ == "__main__":
    library = importlib.import_module("torch")
    aten._FILE.write_text("\n".join(rows(library)) + "\n", encoding="ascii")
    aten._table.cache_clear()
    aten._SCHEMAS.write_text("\n".join(schemas(library)) + "\n", encoding="ascii")
