"""Tables of numbers in text files."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import flambeau
from flambeau import Tensor

from ..dataset import Dataset
from ._damage import fail

Column = str | int


class CSVDataset(Dataset[tuple[Any, ...]]):
    """Rows of a CSV file: the numbers of some columns, and a target if there is one.

    The file is read once and kept as two tensors, ``features`` of shape (rows, columns) and
    ``target`` of shape (rows,). A target column of texts becomes numbers of classes, whose texts
    are in ``classes``, sorted.

    Args:
        path: The file, in UTF-8.
        features: Names or positions of the columns that are features; all but the target when left
            out.
        target: Name or position of the target's column.
        header: Whether the first line names the columns.
        delimiter: What stands between fields.
        dtype: Of the features, and of a target of numbers that are not all whole.
        missing: What an empty field stands for; when left out, one is an error.
        transform: Applied to the features of every sample, a tensor of shape (columns,).

    Raises:
        FileError: A field is no number, or a line has more or fewer fields than the first; the
            error tells the byte at which the line begins.
        ValueError: There is no such column.

    Example:
        >>> import os, tempfile
        >>> from flambeau.utils.data.readers import CSVDataset
        >>> path = os.path.join(tempfile.mkdtemp(), "iris.csv")
        >>> with open(path, "w") as file:
        ...     _ = file.write("length,width,kind\\n5.1,3.5,setosa\\n7.0,3.2,versicolor\\n")
        >>> data = CSVDataset(path, target="kind")
        >>> data[1], data.classes
        ((tensor([7.0000, 3.2000]), tensor(1)), ['setosa', 'versicolor'])
    """

    def __init__(
        self,
        path: Any,
        features: Sequence[Column] | None = None,
        target: Column | None = None,
        *,
        header: bool = True,
        delimiter: str = ",",
        dtype: Any = None,
        missing: float | None = None,
        transform: Callable[[Tensor], Any] | None = None,
    ) -> None:
        dtype = flambeau.float32 if dtype is None else dtype
        records = _records(path, delimiter)
        offset, first = next(records, (0, None))
        if first is None:
            fail(path, 0, "the file has no line")
        self.columns = first if header else [str(i) for i in range(len(first))]
        goal = None if target is None else _column_index(path, self.columns, target)
        chosen = range(len(first)) if features is None else features
        positions = [_column_index(path, self.columns, column) for column in chosen]
        if features is None:
            positions = [position for position in positions if position != goal]
        lines = records if header else _chain((offset, first), records)
        numbers, texts = _read(path, lines, len(first), positions, goal, missing)
        self.features = flambeau.tensor(numbers, dtype=dtype).reshape(len(texts), len(positions))
        self.classes: list[str] | None = None
        self.target = None if goal is None else self._make_target(texts, dtype)
        self.transform = transform

    def _make_target(self, texts: list[str], dtype: Any) -> Tensor:
        try:
            values = [float(text) for text in texts]
        except ValueError:
            self.classes = sorted(set(texts))
            numbers = {text: i for i, text in enumerate(self.classes)}
            return flambeau.tensor([numbers[text] for text in texts], dtype=flambeau.int64)
        if all(value.is_integer() and abs(value) < 2**53 for value in values):
            return flambeau.tensor([int(value) for value in values], dtype=flambeau.int64)
        return flambeau.tensor(values, dtype=dtype)

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        features: Any = self.features[index]
        if self.transform is not None:
            features = self.transform(features)
        return (features,) if self.target is None else (features, self.target[index])

    def __len__(self) -> int:
        return int(self.features.shape[0])


def _records(path: Any, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Every line's fields, and the byte at which it begins; quoted fields may span lines."""
    at = _Offsets(path)
    reader = csv.reader(at, delimiter=delimiter, strict=True)
    while True:
        at.start = at.end
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            fail(path, at.start, f"this is no CSV ({error})")
        if fields:
            yield at.start, fields


class _Offsets:
    """The lines of a file as text, and where the last one ended."""

    def __init__(self, path: Any) -> None:
        self._path = path
        self.start = 0
        self.end = 0
        self._lines = self._read()

    def __iter__(self) -> Iterator[str]:
        return self._lines

    def _read(self) -> Iterator[str]:
        with open(self._path, "rb") as file:
            for line in file:
                try:
                    text = line.decode("utf-8-sig" if self.end == 0 else "utf-8")
                except UnicodeDecodeError as error:
                    fail(self._path, self.end + error.start, "this is not UTF-8")
                if "\0" in text:
                    fail(self._path, self.end + line.index(b"\0"), "a zero byte in a text file")
                self.end += len(line)
                yield text


def _read(
    path: Any,
    lines: Iterator[tuple[int, list[str]]],
    width: int,
    positions: list[int],
    goal: int | None,
    missing: float | None,
) -> tuple[list[float], list[str]]:
    """The numbers of all features in one row, and the target's texts (empty without a target)."""
    numbers: list[float] = []
    texts = []
    for offset, fields in lines:
        if len(fields) != width:
            fail(path, offset, f"this line has {len(fields)} fields, the first one {width}")
        for position in positions:
            numbers.append(_number(path, offset, fields[position], position, missing))
        texts.append("" if goal is None else fields[goal].strip())
    return numbers, texts


def _number(path: Any, offset: int, text: str, position: int, missing: float | None) -> float:
    if missing is not None and not text.strip():
        return missing
    try:
        return float(text)
    except ValueError:
        hint = "" if text.strip() else "; pass missing= with what an empty field stands for"
        fail(path, offset, f"field {position} of this line, {text!r}, is not a number{hint}")


def _column_index(path: Any, columns: list[str], column: Column) -> int:
    if isinstance(column, int) and 0 <= column < len(columns):
        return column
    if column in columns:
        return columns.index(column)
    raise ValueError(f"{path} has no column {column!r}; it has {', '.join(columns)}")


def _chain(first: Any, rest: Iterator[Any]) -> Iterator[Any]:
    yield first
    yield from rest
