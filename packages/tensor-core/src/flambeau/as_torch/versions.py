"""The version that programs are told: PyTorch's whose interface this is, with Flambeau's own."""
from __future__ import annotations

import re
from typing import Any

from flambeau.version import own_version

#: The release of PyTorch whose names and behaviour Flambeau follows.
FOLLOWED = "2.13.0"


class TorchVersion(str):
    """A version that compares by its numbers, with text, tuples and other versions."""

    __slots__ = ()
    __module__ = "torch.torch_version"

    @staticmethod
    def _key(value: object) -> tuple[int, ...]:
        if isinstance(value, (tuple, list)):
            return tuple(int(part) for part in value)
        public = str(value).partition("+")[0]
        numbers = [int(digits) for digits in re.findall(r"\d+", public)]
        while numbers and numbers[-1] == 0:     # 2.13 is 2.13.0
            numbers.pop()
        return tuple(numbers)

    def _compared(self, other: object, accept: tuple[int, ...]) -> bool:
        if isinstance(other, (tuple, list)):    # as many numbers as are asked for
            ours, theirs = self._key(self.partition("+")[0].split(".")), self._key(other)
            ours = ours[:len(theirs)]
        else:
            ours, theirs = self._key(self), self._key(other)
        return ((ours > theirs) - (ours < theirs)) in accept

    def __lt__(self, other: Any) -> bool:
        return self._compared(other, (-1,))

    def __le__(self, other: Any) -> bool:
        return self._compared(other, (-1, 0))

    def __gt__(self, other: Any) -> bool:
        return self._compared(other, (1,))

    def __ge__(self, other: Any) -> bool:
        return self._compared(other, (0, 1))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str) and "+" in other:
            return str.__eq__(self, other)
        return self._compared(other, (0,))

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


VERSION = TorchVersion(f"{FOLLOWED}+flambeau.{own_version()}")
