"""The stage that finds files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe
from ..lengths import told_length
from ..utils.common import get_file_pathnames_from_root
from .utils import IterableWrapperIterDataPipe

__all__ = ["FileListerIterDataPipe"]


@functional_datapipe("list_files")
class FileListerIterDataPipe(IterDataPipe[Any]):
    """Gives the paths of files in folders (functional name: ``list_files``).

    Args:
        root: A folder, several of them, or a stage that gives them.
        masks: Patterns that names must fit, such as ``"*.png"``.
        recursive: Whether folders inside are entered.
        abspath: Whether paths are absolute.
        non_deterministic: Whether they come in the order of the file system, not sorted.
        length: What ``len()`` says.

    Example:
        >>> import pathlib, tempfile
        >>> from flambeau.utils.data.datapipes.iter import FileLister
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "a.txt").write_text("text")
        >>> data = FileLister(str(folder), "*.txt").open_files().read_from_stream()
        >>> [text for path, text in data]
        ['text']
    """

    def __init__(self, root: Any = ".", masks: str | list[str] = "", *, recursive: bool = False,
                 abspath: bool = False, non_deterministic: bool = False,
                 length: int = -1) -> None:
        roots = [root] if isinstance(root, str) else root
        self.datapipe = (
            roots if isinstance(roots, IterDataPipe) else IterableWrapperIterDataPipe(roots))
        self.masks, self.recursive, self.abspath = masks, recursive, abspath
        self.non_deterministic, self.length = non_deterministic, length

    def __iter__(self) -> Iterator[str]:
        for root in self.datapipe:
            yield from get_file_pathnames_from_root(root, self.masks, self.recursive, self.abspath,
                                                    self.non_deterministic)

    def __len__(self) -> int:
        return told_length(self)
