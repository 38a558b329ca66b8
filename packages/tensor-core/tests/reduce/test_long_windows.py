"""Positions of maxima in windows that are as long as rows, beside each other one by one."""

import pytest

import flambeau

DTYPES = (flambeau.float32, flambeau.float64, flambeau.bfloat16)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape,windows", [((3, 128), 2), ((2, 5, 640), 10), ((4, 130), 2),
                                           ((2, 3, 64), 1), ((1, 2, 1000), 3)])
def test_maxima_and_their_positions(dtype, shape, windows):
    flambeau.manual_seed(0)
    x = flambeau.randn(shape).mul(3).round().to(dtype)
    x[..., 7] = float("nan")
    x[..., 9] = float("nan")
    values, positions = flambeau.adaptive_max_pool1d(x, windows)
    n = shape[-1]
    assert values.shape == positions.shape == (*shape[:-1], windows)
    found = x.gather(-1, positions)
    assert values.nan_to_num(99.0).equal(found.nan_to_num(99.0))
    for w in range(windows):
        begin, end = w * n // windows, -(-(w + 1) * n // windows)
        for line, value, position in zip(x.reshape(-1, n).tolist(),
                                         values[..., w].reshape(-1).tolist(),
                                         positions[..., w].reshape(-1).tolist(), strict=True):
            odd = [i for i in range(begin, end) if line[i] != line[i]]
            best = odd[-1] if odd else begin + line[begin:end].index(max(line[begin:end]))
            assert position == best, (value, line[best])


@pytest.mark.oracle
def test_positions_of_pytorch():
    torch = pytest.importorskip("torch")
    x = torch.randint(0, 30, (4, 6, 512)).float()
    x[1, 2, 5] = x[1, 2, 300] = x[1, 2, 301] = float("nan")
    for windows in (1, 2, 3, 4, 8):
        values, positions = torch.nn.functional.adaptive_max_pool1d(x, windows,
                                                                    return_indices=True)
        found = flambeau.adaptive_max_pool1d(flambeau.from_numpy(x.numpy()), windows)
        assert found[1].tolist() == positions.tolist()
        assert found[0].nan_to_num(99.0).tolist() == values.nan_to_num(99.0).tolist()
