"""The steps of a program: functions of machine code, and where their operands lie."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from flambeau.jit.itemsizes import SIZE
from flambeau.jit.llvm.grid import contiguous_strides
from flambeau.jit.llvm.machine import Machine

#: Where weights, and every buffer of the arena, begin at a multiple of this.
ALIGNMENT = 64


@dataclass(eq=False)
class Buffer:
    """Memory of one kind: ``input``, ``output``, ``weights``, ``arena`` or ``state``.

    Args:
        kind: of these.
        bytes: how much.
        number: of the input or output.
        offset: bytes from the beginning of the arena or of the state.
    """

    kind: str
    bytes: int
    number: int = 0
    offset: int = 0


@dataclass(frozen=True)
class Place:
    """Where a value lies; strides in elements, start in bytes."""

    buffer: Buffer
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    start: int = 0

    @property
    def numel(self) -> int:
        """How many elements."""
        return math.prod(self.shape)

    def is_dense(self) -> bool:
        """Whether elements lie in C order without gaps."""
        plain = contiguous_strides(self.shape)
        return all(a == b or n == 1
                   for n, a, b in zip(self.shape, self.strides, plain, strict=True))

    def view(self, shape: Sequence[int], strides: Sequence[int], skip: int = 0) -> Place:
        """The same memory in another way; ``skip`` in elements."""
        return replace(self, shape=tuple(shape), strides=tuple(strides),
                       start=self.start + skip * SIZE[self.dtype])


@dataclass(frozen=True)
class Step:
    """A call: the number of a function, and a place for each of its arguments."""

    function: int
    operands: tuple[Place, ...]


@dataclass
class Unit:
    """What becomes an object file.

    Args:
        machine: what the code is made for.
        texts: the functions, as modules of LLVM's assembly that define ``@entry``; equal ones once.
        steps: what a run does, in order.
        weights: bytes of all constants.
        inputs: how many there are.
        outputs: likewise.
        state: memory that lives from run to run, and what it holds at first.
    """

    machine: Machine
    texts: dict[str, int] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    weights: bytearray = field(default_factory=bytearray)
    inputs: int = 0
    outputs: int = 0
    state: list[tuple[Buffer, Place]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.constants = Buffer("weights", 0)
        status = Buffer("arena", 4)
        self.status = Place(status, "int32", (1,), (1,))
        self.stream: Place | None = None        # of random numbers: a seed, and blocks taken
        self.starts: dict[bytes, int] = {}

    @property
    def lanes(self) -> int:
        """Floats of a vector."""
        return self.machine.vector_bits // 32

    def add(self, text: str, *operands: Place) -> None:
        """Append a step."""
        number = self.texts.setdefault(text, len(self.texts))
        self.steps.append(Step(number, operands))

    def temporary(self, dtype: str, shape: Sequence[int]) -> Place:
        """New memory of the arena."""
        buffer = Buffer("arena", math.prod(shape) * SIZE[dtype])
        return Place(buffer, dtype, tuple(shape), contiguous_strides(shape))

    def constant(self, data: bytes, dtype: str, shape: Sequence[int]) -> Place:
        """Memory that holds constants; equal bytes lie there once."""
        if data not in self.starts:
            self.weights += bytes(-len(self.weights) % ALIGNMENT)
            self.starts[data] = len(self.weights)
            self.weights += data
            self.constants.bytes = len(self.weights)
        return Place(self.constants, dtype, tuple(shape), contiguous_strides(shape),
                     self.starts[data])

    def bytes_of(self, place: Place) -> bytes:
        """What a dense constant holds."""
        return bytes(self.weights[place.start:place.start + place.numel * SIZE[place.dtype]])
