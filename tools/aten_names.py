"""Write the names of PyTorch's operators and their forms.

    $ python tools/aten_names.py

needs the installed PyTorch, and writes `aten_names.txt` of `flambeau.library`.
"""

from __future__ import annotations

import collections
import importlib

from flambeau.library import aten


def rows() -> list[str]:
    """One line for each operator: ``add: Scalar Tensor out``."""
    torch = importlib.import_module("torch")
    forms = collections.defaultdict(list)
    for full in torch._C._dispatch_get_all_op_names():
        space, _, name = full.partition("::")
        if space == "aten":
            short, _, form = name.partition(".")
            forms[short].append(form or "default")
    return [f"{name}: {' '.join(sorted(forms[name]))}" for name in sorted(forms)]


if __name__ == "__main__":
    aten._FILE.write_text("\n".join(rows()) + "\n", encoding="ascii")
