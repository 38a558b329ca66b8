"""The name that was probably meant, for the errors of every package."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The most similar of ``names``, or ``None`` if none is similar."""
    from difflib import get_close_matches  # only errors need it, and it is slow to import

    found = get_close_matches(name, list(names), n=1)
    return found[0] if found else None


def hint(name: str, names: Iterable[str]) -> str:
    """The end of an error that suggests a name, or an empty string.

    Example:
        >>> from flambeau.core.spelling import hint
        >>> hint("weigth", ["weight", "bias"])
        "; did you mean 'weight'?"
    """
    found = nearest(name, names)
    return f"; did you mean {found!r}?" if found else ""
