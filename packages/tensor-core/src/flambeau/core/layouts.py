"""Memory formats and layouts, such as ``channels_last``, which print with their module."""
from __future__ import annotations

from flambeau.core import _core

__all__ = ["FORMATS", "jagged", "layout", "memory_format", "sparse_bsc", "sparse_bsr", "sparse_coo",
           "sparse_csc", "sparse_csr", "strided"]


class _Word(str):
    """A string that is written as the name under which it is found."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{_core.shown_package[0]}.{str.__str__(self)}"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format(repr(self), spec)

    def __reduce__(self) -> tuple[type, tuple[str]]:
        return type(self), (str.__str__(self),)


class memory_format(_Word):
    """How the elements of an image batch lie in memory: ``flambeau.channels_last`` is one.

    Example:
        >>> import flambeau
        >>> isinstance(flambeau.channels_last, flambeau.memory_format)
        True
        >>> flambeau.channels_last
        flambeau.channels_last
    """

    __slots__ = ()


class layout(_Word):
    """What a tensor holds: ``flambeau.strided`` memory, or the parts of a sparse layout.

    Example:
        >>> import flambeau
        >>> flambeau.ones(2).layout
        flambeau.strided
    """

    __slots__ = ()


FORMATS = {name: memory_format(name) for name in
           ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")}
strided = layout("strided")
sparse_coo = layout("sparse_coo")
sparse_csr = layout("sparse_csr")
sparse_csc = layout("sparse_csc")
sparse_bsr = layout("sparse_bsr")
sparse_bsc = layout("sparse_bsc")
jagged = layout("jagged")


def layout_named(name: str) -> layout:
    """The layout of this name, of those that sparse tensors have.

    Args:
        name: Such as ``"sparse_csr"``.

    Raises:
        ValueError: There is no such layout.
    """
    known = (sparse_coo, sparse_csr, sparse_csc, sparse_bsr, sparse_bsc)
    for kind in known:
        if str.__str__(kind) == name:
            return kind
    raise ValueError(f"there is no sparse layout {name!r}")


def expect_layout(what: str, wanted: object) -> None:
    """Refuse what is no layout.

    Args:
        what: The function that was given it.
        wanted: The layout.

    Raises:
        TypeError: It is none.
    """
    if not isinstance(wanted, layout):
        raise TypeError(f"{what}(): argument 'layout' must be a layout such as flambeau.strided, "
                        f"not {type(wanted).__name__}")


def expect_strided(what: str, wanted: layout | None) -> None:
    """Refuse a layout that only zeros, empty and the constructors of sparse tensors make.

    Args:
        what: The function that was asked for it.
        wanted: The layout.

    Raises:
        NotImplementedError: It is not ``flambeau.strided``.
        TypeError: It is no layout.
    """
    if wanted is not None and wanted != "strided":
        expect_layout(what, wanted)
        raise NotImplementedError(f"{what}() is not implemented for sparse layout, got {wanted}; "
                                  "make the strided tensor and convert it with .to_sparse()")
