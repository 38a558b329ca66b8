"""What extensions that write pages of the reference share; not an extension itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def write_changed(path: Path, text: str) -> None:
    """Write a file unless it has that text: Sphinx reads again what is newer."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def register(app: Sphinx, pages: dict[str, Callable[[], str]]) -> dict[str, bool]:
    """Have pages written into ``reference/`` before Sphinx reads; returns an extension's facts."""

    def write(app: Sphinx) -> None:
        for name, page in pages.items():
            write_changed(Path(app.srcdir) / "reference" / name, page())

    app.connect("builder-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
