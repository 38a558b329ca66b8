"""Tensors as text, in PyTorch's form: aligned columns, four digits, long ones summarized."""
from __future__ import annotations

import math

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_OPTIONS: dict[str, Any] = {
    "precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80, "sci_mode": None}


def set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None,
                     sci_mode=None) -> None:
    """Choose how tensors are printed.

    Args:
        precision: Digits after the point (4).
        threshold: Number of elements from which on tensors are summarized (1000).
        edgeitems: Items shown at each end of a summarized dimension (3).
        linewidth: Characters per line (80).
        profile: ``"default"``, ``"short"`` or ``"full"``; another changes nothing, as in PyTorch.
        sci_mode: True or False to force or forbid scientific notation.
    """
    profiles = {"default": (4, 1000, 3), "short": (2, 1000, 2), "full": (4, math.inf, 3)}
    if profile in profiles:
        chosen = profiles[profile]
        _OPTIONS.update(zip(("precision", "threshold", "edgeitems"), chosen, strict=True))
        _OPTIONS["linewidth"] = 80
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems,
             "linewidth": linewidth}
    _OPTIONS.update({k: v for k, v in given.items() if v is not None})
    _OPTIONS["sci_mode"] = sci_mode


class _Format:
    """How the numbers of one tensor are written: one width for all of them.

    Zeros, infinities and NaN do not count for the width, as in PyTorch.
    """

    def __init__(self, values: list) -> None:
        self.is_float = bool(values) and isinstance(values[0], float)
        self.whole = True
        self.scientific = False
        counted = values
        if self.is_float:
            counted = [v for v in values if math.isfinite(v) and v != 0]
            self._choose(counted)
        self.width = max((len(self.number(v)) for v in counted), default=1)

    def _choose(self, finite: list[float]) -> None:
        if not finite:
            return
        sizes = [abs(v) for v in finite]
        low, high = min(sizes), max(sizes)
        self.whole = all(v == math.ceil(v) for v in finite)
        self.scientific = (high / low > 1000.0 or high > 1e8 or
                           (low < 1e-4 and not self.whole))
        if _OPTIONS["sci_mode"] is not None:
            self.scientific = _OPTIONS["sci_mode"]

    def number(self, v) -> str:
        if not self.is_float:
            return str(v)
        digits = _OPTIONS["precision"]
        if self.scientific:
            return f"{v:.{digits}e}"
        if not math.isfinite(v):
            return str(v)
        return f"{v:.0f}." if self.whole else f"{v:.{digits}f}"

    def __call__(self, v) -> str:
        return self.number(v).rjust(self.width)


class _ComplexFormat:
    """Real and imaginary parts, each with a width of its own."""

    def __init__(self, values: list[complex]) -> None:
        self.real = _Format([v.real for v in values])
        self.imag = _Format([v.imag for v in values])
        self.width = self.real.width + self.imag.width + 1

    def __call__(self, v: complex) -> str:
        imag = self.imag(v.imag).strip()
        sign = "" if imag.startswith("-") else "+"
        return f"{self.real(v.real)}{sign}{imag}j"


def _leaves(nested):
    if isinstance(nested, list):
        for item in nested:
            yield from _leaves(item)
    elif nested is not ...:
        yield nested


def _edges(x, edge: int):
    """Nested lists of x with the middle of long dimensions replaced by an ellipsis."""
    if x.ndim == 0:
        return x.tolist()
    n = len(x)
    if n > 2 * edge:
        return ([_edges(x[i], edge) for i in range(edge)] + [...] +
                [_edges(x[i], edge) for i in range(n - edge, n)])
    return [_edges(x[i], edge) for i in range(n)]


def _lines(nested, depth: int, ndim: int, indent: int, form) -> str:
    if ndim == 0:
        return form(nested)
    if depth == ndim - 1:
        return _row(nested, indent, form)
    parts = ["..." if item is ... else _lines(item, depth + 1, ndim, indent + 1, form)
             for item in nested]
    gap = "," + "\n" * (ndim - depth - 1) + " " * (indent + 1)
    return "[" + gap.join(parts) + "]"


def _row(items: list, indent: int, form) -> str:
    words = [" ..." if item is ... else form(item) for item in items]
    per_line = max(1, (_OPTIONS["linewidth"] - indent) // (form.width + 2))
    lines = [", ".join(words[i:i + per_line]) for i in range(0, len(words), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _values_text(x, indent: int) -> str:
    long = x.numel() > _OPTIONS["threshold"]
    nested = _edges(x, _OPTIONS["edgeitems"]) if long else x.tolist()
    values = list(_leaves(nested))
    form = _ComplexFormat(values) if x.is_complex() else _Format(values)
    return _lines(nested, 0, x.ndim, indent, form)


def _suffixes(x, defaults: tuple[str, ...]) -> list[str]:
    out = []
    if x.device.type != "cpu":
        out.append(f"device='{x.device}'")
    if x.is_meta or (x.numel() == 0 and x.ndim != 1):
        out.append(f"size={tuple(x.shape)}")
    if x.dtype.name not in (defaults[:1] if x.numel() == 0 else defaults):
        out.append(f"dtype={x.dtype}")
    return out + _history_words(x)


def _history_words(x) -> list[str]:
    if x.grad_fn is not None:
        return [f"grad_fn=<{x.grad_fn.name()}>"]
    return ["requires_grad=True"] if x.requires_grad else []


def _head(x) -> str:
    """``tensor(``, and the class of tensors that keep theirs in operators."""
    from flambeau.core import _core

    kind = type(x)
    keeps = kind.__torch_function__ is not _core.no_override or _core.is_shown_below(kind)
    return f"{kind.__name__}(" if keeps and kind is not _core.Tensor else "tensor("


def complex_of(default) -> str:
    """The dtype of complex numbers that is not named, beside the default dtype."""
    return "complex128" if default.name == "float64" else "complex64"


def _printable(x):
    """The same numbers in a dtype that is computed with in single precision at least."""
    if x.dtype.name in ("float16", "bfloat16") or x.dtype.name.startswith("float8"):
        return x.float()
    return x.cfloat() if x.dtype.name == "complex32" else x


def numbers_text(x, indent: int) -> str:
    """The numbers of a tensor, lines after the first indented."""
    x = x if x.device.type == "cpu" else x.cpu()
    return "[]" if x.numel() == 0 else _values_text(_printable(x), indent)


def with_suffixes(text: str, tail: list[str], indent: int) -> str:
    """``tensor(``, its numbers and what follows them, in lines of the width that was chosen."""
    width = len(text) - text.rfind("\n") + 1      # as PyTorch counts
    for part in tail:
        new_line = width + len(part) + 2 > _OPTIONS["linewidth"]
        text += (",\n" + " " * indent if new_line else ", ") + part
        width = (indent if new_line else width + 2) + len(part)
    return text + ")"


def tensor_text(x, contents: str | None = None) -> str:
    """The text of ``repr(x)``, with ``contents`` in place of its numbers."""
    from flambeau.core import _core

    default = _core.get_default_dtype()
    head = _head(x)
    if x.is_meta or contents is not None:
        body = "..." if contents is None else contents
        known = (default.name,) if x.is_meta else \
            (default.name, "int64", "bool", complex_of(default))
        tail = _suffixes(x, known)
    else:
        with _core.DisableTorchFunction():
            plain = x.detach()
        body = numbers_text(plain, len(head))
        tail = _suffixes(x, (default.name, "int64", "bool", complex_of(default)))
    text = with_suffixes(head + body, tail, len(head))
    if getattr(x, "_is_param", False):
        return f"Parameter({text})"
    if type(x).__name__ == "Parameter":
        return f"Parameter containing:\n{text}"
    return text
