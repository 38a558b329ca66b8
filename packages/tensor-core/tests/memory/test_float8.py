"""float8 and complex32: stored and converted as in PyTorch, refused by what computes."""

from __future__ import annotations

import math
import warnings

import numpy
import pytest

import flambeau

FLOAT8 = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu")
CODES = numpy.arange(256, dtype="uint8")
#: 1.5, -2, NaN, infinity, 1e9, half of the least number, as PyTorch 2.13 stores them.
STORED = {
    "float8_e4m3fn": [60, 192, 127, 126, 126, 0], "float8_e5m2": [62, 192, 127, 124, 124, 0],
    "float8_e4m3fnuz": [68, 200, 128, 128, 128, 0],
    "float8_e5m2fnuz": [66, 196, 128, 128, 128, 0],
    "float8_e8m0fnu": [128, 128, 255, 255, 157, 0]}


def _of(name):
    return getattr(flambeau, name)


def _bits(x):
    return x.view(flambeau.uint8).numpy()


def _numbers():
    """Floats of every kind, and those beside numbers of 16 bits, where rounding is decided."""
    high = numpy.arange(1 << 16, dtype="uint32") << 16
    drawn = numpy.random.default_rng(0).integers(0, 1 << 32, 100_000, dtype="uint32")
    return numpy.concatenate([high, high + 1, high + 0x8000, high - 1, drawn]).view("float32")


@pytest.mark.parametrize("name", FLOAT8)
def test_stored_bits(name):
    least = 2.0 ** -200 if name == "float8_e8m0fnu" else flambeau.finfo(_of(name)).tiny / 64
    x = flambeau.tensor([1.5, -2.0, math.nan, math.inf, 1e9, least])
    assert _bits(x.to(_of(name))).tolist() == STORED[name]


@pytest.mark.parametrize("name", FLOAT8)
def test_every_code_survives_a_conversion(name):
    x = flambeau.from_numpy(CODES).view(_of(name))
    numbers = x.float()
    back = _bits(numbers.to(_of(name)))
    there = ~numpy.isnan(numbers.numpy())
    assert there.sum() >= 250
    numpy.testing.assert_array_equal(back[there], CODES[there])
    for wide in ("float64", "complex64", "complex128"):
        numpy.testing.assert_array_equal(x.to(_of(wide)).numpy(), numbers.numpy())


@pytest.mark.oracle
@pytest.mark.parametrize("name", FLOAT8)
def test_conversions_are_pytorchs(name):
    torch = pytest.importorskip("torch")
    theirs_dtype = getattr(torch, name)
    x = _numbers()
    theirs = torch.from_numpy(x).to(theirs_dtype).view(torch.uint8).numpy()
    numpy.testing.assert_array_equal(_bits(flambeau.from_numpy(x).to(_of(name))), theirs)
    with numpy.errstate(invalid="ignore"):
        numbers = {"float64": x.astype("float64"), "float16": x.clip(-6e4, 6e4).astype("float16"),
                   "int32": numpy.arange(-500, 500, dtype="int32"),
                   "bool": numpy.array([True, False])}
    for array in numbers.values():
        theirs = torch.from_numpy(array).to(theirs_dtype).view(torch.uint8).numpy()
        numpy.testing.assert_array_equal(_bits(flambeau.from_numpy(array).to(_of(name))), theirs)
    codes = torch.from_numpy(CODES).view(theirs_dtype)
    for wide in ("float32", "float64", "float16", "bool", "complex64"):
        numpy.testing.assert_array_equal(
            flambeau.from_numpy(CODES).view(_of(name)).to(_of(wide)).numpy(),
            codes.to(getattr(torch, wide)).numpy())


@pytest.mark.oracle
@pytest.mark.parametrize("name", FLOAT8)
def test_finfo_is_pytorchs(name):
    torch = pytest.importorskip("torch")
    ours, theirs = flambeau.finfo(_of(name)), torch.finfo(getattr(torch, name))
    for key in ("bits", "eps", "max", "min", "tiny", "smallest_normal", "resolution", "dtype"):
        assert getattr(ours, key) == getattr(theirs, key)


@pytest.mark.parametrize("name", (*FLOAT8, "complex32"))
def test_what_moves_elements_keeps_them(name):
    dtype = _of(name)
    wide = flambeau.complex64 if name == "complex32" else flambeau.float32
    numbers = flambeau.tensor([[1.0, 2.0, 4.0], [0.5, 8.0, 0.25]]).to(wide)
    x = numbers.to(dtype)
    assert (x.dtype, x.is_floating_point(), x.itemsize) == (dtype, name != "complex32",
                                                            4 if name == "complex32" else 1)
    i, mask = flambeau.tensor([1, 0]), flambeau.tensor([[True, False, True], [False, True, True]])
    for change in (
        lambda t: t.t(), lambda t: t.t().contiguous(), lambda t: t[1], lambda t: t[:, ::2].clone(),
        lambda t: t[i], lambda t: t.index_select(1, i), lambda t: t[mask], lambda t: t.flip(0),
        lambda t: t.roll(1, 1), lambda t: flambeau.cat([t, t]), lambda t: t.repeat(2, 2),
        lambda t: flambeau.stack([t, t]), lambda t: t.expand(2, 2, 3), lambda t: t.reshape(-1),
        lambda t: flambeau.constant_pad_nd(t, (1, 1), 2), lambda t: t.diagonal(),
        lambda t: flambeau.where(mask, t, t.flip(1)), lambda t: flambeau.ones_like(t),
        lambda t: flambeau.full_like(t, 2), lambda t: t.unfold(1, 2, 1), lambda t: t.abs(),
        lambda t: t * t, lambda t: t.masked_fill(mask, 2.0),
    ):
        result = change(x)
        assert result.dtype in (dtype, flambeau.float16)
        assert result.to(wide).tolist() == change(numbers).to(wide).tolist()
    assert (x == x).all() and not (x != x).any() and x.equal(x.clone())
    y = flambeau.empty_like(x).copy_(numbers)
    y[0] = x[1]
    y[:, 1] = 4.0
    assert y.to(wide).tolist() == [[0.5, 4.0, 0.25]] * 2
    assert x.tolist() == numbers.tolist() and x[0, 1].item() == 2.0
    assert f"dtype=flambeau.{name}" in repr(x)
    y.fill_(1.0).eq_(y)
    assert y.to(wide).tolist() == [[1.0] * 3] * 2
    out = flambeau.empty(2, 3, dtype=dtype)
    flambeau.add(numbers, numbers, out=out)
    assert out.to(wide).tolist() == (numbers + numbers).tolist()


@pytest.mark.parametrize("name", FLOAT8)
def test_what_computes_is_refused(name):
    x = flambeau.ones(3, dtype=_of(name))
    for call in (lambda: x + x, lambda: -x, lambda: x.sum(), lambda: x.sort(), lambda: x.exp(),
                 lambda: x @ x, lambda: x < x, lambda: flambeau.ones(3).sum(dtype=x.dtype)):
        with pytest.raises((NotImplementedError, RuntimeError), match="not implemented|not def"):
            call()
    for wide in (flambeau.float32, flambeau.float64, flambeau.int64, flambeau.float16):
        other = flambeau.ones(3, dtype=wide)
        for call in (lambda y: x + y, lambda y: y * x, lambda y: x == y,
                     lambda y: flambeau.cat([x, y]), lambda y: flambeau.promote_types(
                         x.dtype, y.dtype), lambda y: flambeau.result_type(x, y)):
            with pytest.raises(RuntimeError, match="Promotion for Float8 Types is not supported"):
                call(other)
    assert flambeau.promote_types(x.dtype, x.dtype) is x.dtype
    with pytest.raises(TypeError, match="only floating-point dtypes can be the default"):
        flambeau.set_default_dtype(x.dtype)


def test_complex32_is_computed_element_by_element():
    z = flambeau.tensor([1 + 2j, 3 - 1j]).to(flambeau.chalf)
    assert (z + z).dtype is (z * z).dtype is z.conj().dtype is flambeau.complex32
    assert (z * z).tolist() == [-3 + 4j, 8 - 6j]
    assert z.abs().dtype is z.real.dtype is z.imag.dtype is flambeau.float16
    pairs = flambeau.view_as_real(z)
    assert pairs.tolist() == [[1.0, 2.0], [3.0, -1.0]]
    assert flambeau.view_as_complex(pairs).tolist() == z.tolist()
    assert (z + flambeau.ones(2, dtype=flambeau.complex128)).dtype is flambeau.complex128
    with pytest.raises(NotImplementedError, match="complex64"):
        z.sum()


@pytest.mark.parametrize("name", (*FLOAT8, "complex32"))
def test_files_keep_them(name, tmp_path):
    x = {"x": flambeau.tensor([1.0, 2.0, 0.25]).to(_of(name))}
    for form in ("flambeau", "torch"):
        flambeau.save(x, tmp_path / "x", format=form)
        y = flambeau.load(tmp_path / "x")["x"]
        assert y.dtype is x["x"].dtype and y.tolist() == x["x"].tolist()


@pytest.mark.oracle
@pytest.mark.parametrize("name", (*FLOAT8, "complex32"))
def test_checkpoints_of_pytorch_are_read_and_written(name, tmp_path):
    torch = pytest.importorskip("torch")
    with warnings.catch_warnings(action="ignore"):      # complex32 is experimental there
        theirs = torch.tensor([1.0, 2.0, 0.25]).to(getattr(torch, name))
    torch.save({"x": theirs}, tmp_path / "theirs.pt")
    assert flambeau.load(tmp_path / "theirs.pt")["x"].tolist() == theirs.tolist()
    ours = flambeau.tensor([1.0, 2.0, 0.25]).to(_of(name))
    flambeau.save({"x": ours}, tmp_path / "ours.pt", format="torch")
    read = torch.load(tmp_path / "ours.pt", weights_only=True)["x"]
    assert str(read.dtype) == f"torch.{name}" and read.tolist() == ours.tolist()


def test_dlpack_knows_them():
    x = flambeau.tensor([1.0, 2.0]).to(flambeau.float8_e5m2)
    assert flambeau.from_dlpack(x).dtype is flambeau.float8_e5m2
