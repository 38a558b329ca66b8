"""Write ``core/direction_numbers.bin`` from the text that S. Joe and F. Y. Kuo publish.

    python tools/direction_numbers.py new-joe-kuo-6.21201

Each line of the text has the dimension, the degree s of its polynomial, the inner coefficients as
a number, and s initial direction numbers.
"""
import sys
from pathlib import Path

import numpy

TARGET = Path(__file__).parents[1] / "src/flambeau/core/direction_numbers.bin"


def packed(lines: list[list[int]]) -> bytes:
    """The bytes of the file; see ``core/sobol.py``."""
    polynomials, bits = [1], []
    for _, degree, inner, *numbers in lines:
        polynomials.append(1 << degree | inner << 1 | 1)
        for count, number in enumerate(numbers):
            bits += [number >> index & 1 for index in range(count, 0, -1)]
    distances = numpy.diff(polynomials) // 2
    return distances.astype(numpy.uint8).tobytes() + numpy.packbits(bits).tobytes()


if __name__ == "__main__":
    rows = Path(sys.argv[1]).read_text().splitlines()[1:]
    TARGET.write_bytes(packed([[int(word) for word in row.split()] for row in rows]))
