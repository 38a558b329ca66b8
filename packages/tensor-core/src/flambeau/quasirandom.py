"""Points that fill a cube more evenly than random ones: Sobol' sequences."""
from __future__ import annotations

from collections.abc import Callable

import numpy

import flambeau
from flambeau.core import Tensor, dtype
from flambeau.core._core import ArgumentError
from flambeau.core.sobol import BITS, DIMENSIONS, direction_numbers

__all__ = ["SobolEngine"]


class SobolEngine:
    """Draws the points of a Sobol' sequence in the unit cube, with Joe and Kuo's numbers.

    Args:
        dimension: Of the cube: 1 to 21201.
        scramble: Permute the digits at random (linear matrix scrambling and a digital shift), so
            that the points differ from one seed to the next and are as even.
        seed: Where the permutation comes from, the same as PyTorch's of that seed; the default
            generator when left out.

    Raises:
        ValueError: ``dimension`` is out of range.

    Example:
        >>> from flambeau.quasirandom import SobolEngine
        >>> SobolEngine(2).draw(4)
        tensor([[0.0000, 0.0000],
                [0.5000, 0.5000],
                [0.7500, 0.2500],
                [0.2500, 0.7500]])
    """

    MAXBIT = BITS
    MAXDIM = DIMENSIONS

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(f"SobolEngine(): dimension must be 1 to {self.MAXDIM}, got "
                             f"{dimension}")
        self.dimension = dimension
        self.scramble = scramble
        self.seed = seed
        self.sobolstate = flambeau.from_numpy(direction_numbers(dimension))
        self.shift = flambeau.zeros(dimension, dtype=flambeau.int64, device="cpu")
        if scramble:
            self._scramble()
        self.quasi = self.shift.clone()
        self.num_generated = 0

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: dtype | None = None) -> Tensor:
        """The next points of the sequence.

        Args:
            n: How many.
            out: A tensor to give them in.
            dtype: Of the result; the default floating dtype when left out.

        Returns:
            A tensor of shape (n, dimension).

        Raises:
            TypeError: ``dtype`` is none of floating-point numbers.
            ArgumentError: ``n`` is negative, or more than 2**30 points would be drawn.
        """
        kind = dtype or flambeau.get_default_dtype()
        if not kind.is_floating_point:
            raise TypeError(f"SobolEngine.draw(): dtype must be one of floating-point numbers, got "
                            f"{kind}: points lie between 0 and 1")
        self._expect_points(n)
        result = self._points(n).to(kind) * 2.0**-BITS
        self.fast_forward(n)
        return result if out is None else out.resize_as_(result).copy_(result)

    def draw_base2(self, m: int, out: Tensor | None = None, dtype: dtype | None = None) -> Tensor:
        """The next ``2**m`` points, so that a power of two has been drawn: these are even.

        Args:
            m: The logarithm of their number.
            out: A tensor to give them in.
            dtype: Of the result; the default floating dtype when left out.

        Raises:
            ValueError: Points were drawn before, and with these they are no power of two.
        """
        total = self.num_generated + 2**m
        if total & (total - 1):
            raise ValueError(f"SobolEngine.draw_base2(): {self.num_generated} points were drawn, "
                             f"and 2**{m} more make {total}, which is no power of 2: such points "
                             "are less even. draw() gives any number, reset() begins again")
        return self.draw(2**m, out=out, dtype=dtype)

    def reset(self) -> SobolEngine:
        """Begin again with the first point."""
        self.quasi.copy_(self.shift)
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Leave out the next points.

        Args:
            n: How many.

        Raises:
            ArgumentError: ``n`` is negative, or there are no more points.
        """
        self._expect_points(n)
        self.num_generated += n
        if self.num_generated:
            self.quasi = self._points(1, self.num_generated - 1)[0]
        return self

    def _expect_points(self, n: int) -> None:
        if n < 0 or self.num_generated + n > 1 << BITS:
            raise ArgumentError(f"SobolEngine: n must be 0 or more, and 2**{BITS} points are all "
                                f"there are; got n={n} after {self.num_generated} points")

    def _points(self, count: int, first: int | None = None) -> Tensor:
        """Points as fractions of 2**30: where bit j of a number's Gray code is set, what direction
        j says is added without carrying."""
        first = self.num_generated if first is None else first
        numbers = flambeau.arange(first, first + count, device="cpu")
        gray = numbers ^ (numbers >> 1)
        points = self.shift.repeat(count, 1)
        for bit in range(min((first + count).bit_length(), BITS)):
            points ^= (gray >> bit & 1).unsqueeze(1) * self.sobolstate[:, bit]
        return points

    def _scramble(self) -> None:
        """Multiply the digits by a random lower triangular matrix, and add random ones."""
        shape = (self.dimension, BITS)
        draw = _random_digits(self.seed)
        powers = flambeau.arange(BITS - 1, -1, -1, device="cpu")    # the first digit counts most
        self.shift = (draw(*shape) << powers.flip(0)).sum(1)
        matrices = draw(*shape, BITS).tril_(-1)
        matrices += flambeau.eye(BITS, dtype=flambeau.int64, device="cpu")
        digits = self.sobolstate.unsqueeze(2) >> powers & 1
        mixed = flambeau.matmul(digits.float(), matrices.float().transpose(1, 2))
        self.sobolstate = ((mixed.long() & 1) << powers).sum(2)

    def __repr__(self) -> str:
        options = f", scramble={self.scramble}" if self.scramble else ""
        seed = f", seed={self.seed}" if self.seed is not None else ""
        return f"SobolEngine(dimension={self.dimension}{options}{seed})"


def _random_digits(seed: int | None) -> Callable[..., Tensor]:
    """A function that draws tensors of zeros and ones of given sizes.

    PyTorch draws them with the Mersenne Twister, of which NumPy has the same; without a seed, from
    the process's generator.
    """
    if seed is None:
        return lambda *size: flambeau.randint(2, size, device="cpu")
    words = numpy.random.RandomState(seed & 0xFFFFFFFF)

    def draw(*size: int) -> Tensor:
        drawn = words.randint(0, 1 << 32, size, numpy.uint32) & 1
        return flambeau.from_numpy(drawn.astype(numpy.int64))

    return draw
