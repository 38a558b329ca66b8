"""The text of sparse tensors: their parts, as PyTorch prints them."""
from __future__ import annotations

from typing import Any

from flambeau.core import _core, printing
from flambeau.sparse._compressed import BY_ROWS, CompressedTensor


def _body(x: Any, indent: int) -> str:
    if x.numel() == 0:
        return f"tensor([], size={tuple(x.shape)})"
    if x.dtype.name in ("float16", "bfloat16"):
        x = x.float()
    return "tensor(" + printing._values_text(x, indent) + ")"


def text(x: Any) -> str:
    """The text of ``repr(x)`` for a sparse tensor."""
    names: tuple[str, ...]
    if isinstance(x, CompressedTensor):
        names = ("crow_indices", "col_indices") if x.layout in BY_ROWS else \
            ("ccol_indices", "row_indices")
    else:
        names = ("indices",)
    parts = [*zip(names, x._parts(), strict=True), ("values", x._held.detach())]
    indent = len("tensor(")
    words = []
    for name, part in parts:
        if part.device.type != "cpu" and not part.is_meta:
            part = part.cpu()
        body = "..." if part.is_meta else _body(part, indent + len(name) + 8)
        words.append(f"{name}={body}")
    result = "tensor(" + (",\n" + " " * indent).join(words)
    width = len(result) - result.rfind("\n") + 1
    # Sizes begin a line in coordinate format, and stand behind the values in others.
    new_line = not isinstance(x, CompressedTensor)
    for word in _suffixes(x):
        new_line |= width + len(word) + 2 > printing._OPTIONS["linewidth"]
        result += (",\n" + " " * indent if new_line else ", ") + word
        width = (indent if new_line else width + 2) + len(word)
        new_line = False
    return result + ")"


def _suffixes(x: Any) -> list[str]:
    default = _core.get_default_dtype()
    usual = (default.name, "int64", "bool", printing.complex_of(default))
    words = []
    if x.device.type != "cpu":
        words.append(f"device='{x.device}'")
    words += [f"size={tuple(x.shape)}", f"nnz={x._nnz()}"]
    if x.dtype.name not in (usual[:1] if x.numel() == 0 else usual):
        words.append(f"dtype={x.dtype}")
    return [*words, f"layout={x.layout!r}", *printing._history_words(x)]
