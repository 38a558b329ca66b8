"""NumPy archives as datasets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau import Tensor
from flambeau.core.io import FileError, archive
from flambeau.core.io.sources import open_source

from ..dataset import Dataset, check_index
from ._damage import fail


class NPZDataset(Dataset[dict[str, Tensor]]):
    """Sample ``i`` holds row ``i`` of every array in an ``.npz`` file, by name.

    Arrays that ``numpy.savez`` wrote are mapped, those of ``numpy.savez_compressed`` unpacked.
    Give ``dataset.tensors(...)`` to ``TensorDataset`` for batches that are gathered at once.

    Args:
        path: The file.
        names: Which arrays; all when left out.

    Raises:
        FileError: The file is damaged, or an array holds objects, which are never unpickled.
        ValueError: There is no such array, or the numbers of rows differ.

    Example:
        >>> import flambeau, os, tempfile
        >>> from flambeau.utils.data.readers import NPZDataset
        >>> path = os.path.join(tempfile.mkdtemp(), "data.npz")
        >>> flambeau.save({"x": flambeau.ones(3, 2), "y": flambeau.arange(3)}, path)
        >>> NPZDataset(path)[2]
        {'x': tensor([1., 1.]), 'y': tensor(2)}
    """

    def __init__(self, path: Any, names: Sequence[str] | None = None) -> None:
        arrays = _read(path)
        missing = [name for name in names or () if name not in arrays]
        if missing:
            raise ValueError(f"{path} has no arrays {missing}; it has {list(arrays)}")
        self.arrays = {name: arrays[name] for name in (arrays if names is None else names)}
        sizes = {name: x.shape[0] if x.ndim else None for name, x in self.arrays.items()}
        if not sizes or None in sizes.values() or len(set(sizes.values())) > 1:
            raise ValueError(
                f"the arrays of {path} need the same number of rows; there are {sizes}: choose "
                "some with names="
            )
        self._size = int(next(iter(self.arrays.values())).shape[0])

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        index = check_index(index, self._size)
        return {name: array[index] for name, array in self.arrays.items()}

    def __len__(self) -> int:
        return self._size

    def tensors(self, *names: str) -> tuple[Tensor, ...]:
        """The arrays of these names, or all."""
        return tuple(self.arrays[name] for name in names or self.arrays)


def _read(path: Any) -> dict[str, Tensor]:
    """The arrays by name; an error tells where the broken one begins."""
    with open_source(path, mapped=True) as source:
        try:
            members = archive.read_members(source)
        except FileError as error:
            fail(path, source.size, str(error).removeprefix("load(): "))
        found = {}
        for name, member in members.items():
            try:
                found.update(archive.read_arrays(source, {name: member}))
            except FileError as error:
                fail(path, member.header_offset, str(error).removeprefix("load(): "))
        return found
