"""However a product is cut and its right side copied, every element has the same bits."""

import numpy as np
import pytest

import flambeau


@pytest.fixture
def threads():
    before = flambeau.get_num_threads()
    yield flambeau.set_num_threads
    flambeau.set_num_threads(before)


def rows_apart(b, elements):
    """The same matrix, whose rows begin so many elements behind each other."""
    wide = flambeau.zeros(b.shape[0], elements, dtype=b.dtype)
    wide[:, : b.shape[1]] = b
    return wide[:, : b.shape[1]]


SIZES = [
    (256, 784, 64),
    (33, 200, 600),
    (64, 520, 700),
    (200, 70, 300),
    (300, 300, 260),
    (15, 33, 513),
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", SIZES)
def test_threads_and_distances_of_rows_change_no_bit(threads, size, dtype):
    m, n, k = size
    rng = np.random.default_rng(m + n + k)
    a = flambeau.tensor(rng.standard_normal((m, k)).astype(dtype))
    b = flambeau.tensor(rng.standard_normal((k, n)).astype(dtype))
    found = []
    for apart in (n, 1100, 4096):
        right = rows_apart(b, apart)
        for count in (1, 2, 16):
            threads(count)
            found.append((a @ right).numpy())
    rows = [(a[i : i + 1] @ b).numpy() for i in range(m)]
    for other in (*found[1:], np.concatenate(rows)):
        np.testing.assert_array_equal(found[0], other)
    np.testing.assert_allclose(found[0], a.numpy() @ b.numpy(), rtol=1e-3, atol=1e-3)
