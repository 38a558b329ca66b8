"""How losses say what becomes of their terms."""

from __future__ import annotations


def resolve_reduction(
    size_average: bool | None,
    reduce: bool | None,
    reduction: str,
    known: tuple[str, ...] = ("mean", "sum", "none"),
) -> str:
    """``reduction``, unless the two flags of PyTorch's first versions are used.

    Raises:
        ValueError: One of the three has no meaning.
    """
    for name, flag in (("size_average", size_average), ("reduce", reduce)):
        if flag is not None and not isinstance(flag, bool):
            raise ValueError(f"{name} is True, False or None, not {flag!r}; write reduction=...")
    if reduce is False:
        return "none"
    if size_average is not None or reduce is not None:
        return "sum" if size_average is False else "mean"
    if reduction not in known:
        *others, last = (f'"{name}"' for name in known)
        raise ValueError(f"reduction is {', '.join(others)} or {last}, not {reduction!r}")
    return reduction
