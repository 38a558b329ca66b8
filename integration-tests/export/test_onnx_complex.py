"""Complex numbers inside of networks, as pairs in ONNX models: onnxruntime gets the same."""

import math

import numpy as np
import pytest

import flambeau as fl
from flambeau import nn

onnx = pytest.importorskip("onnx", reason="needs onnx")
onnxruntime = pytest.importorskip("onnxruntime", reason="needs onnxruntime")
fft = fl.fft
pairs = fl.view_as_real


def turned(a):
    """Complex numbers of both signs, and zeros."""
    z = fl.complex(a, a.roll(1, -1))
    return z * (a > -1)


ARITHMETIC = {
    "sums": lambda a, z: (pairs(z + a), pairs(z - 2), pairs(1 - z), pairs(z + 2j),
                          pairs(fl.add(z, z.conj(), alpha=3)), pairs(fl.sub(a, z, alpha=2))),
    "products": lambda a, z: (pairs(z * z), pairs(z * a), pairs(a * z), pairs(z * (1 - 2j)),
                              pairs(z * 3), pairs(-z), pairs(z.conj() * z)),
    "quotients": lambda a, z: (pairs(z / 3), pairs(a / (z + 9)), pairs(z / (z + 9j)),
                               pairs((z + 9).reciprocal()), pairs(z / (a + 9))),
    "parts": lambda a, z: (z.real, z.imag, z.abs(), (z + 0.5).angle(), z.real.sum(),
                           fl.isfinite(z.abs())),
    "made": lambda a, z: (pairs(fl.polar(a.abs(), a)), pairs(a.to(fl.complex64)),
                          pairs(fl.view_as_complex(a.unflatten(-1, (-1, 2)))),
                          pairs(a.to(fl.complex128)), z.to(fl.complex128).imag),
    "functions": lambda a, z: (pairs(z.exp()), pairs((z + 0.5).log()), pairs(z.sqrt()),
                               pairs(z ** 3), pairs((z + 0.5) ** 0.7), pairs(z.square()),
                               pairs(2.0 ** z)),
    "matrices": lambda a, z: (pairs(z @ z.mT), pairs(z @ z.mH), pairs(z.mH @ z), pairs(z.mH),
                              pairs(fl.einsum("bij,bkj->bik", z, z.conj()))),
    "sums over": lambda a, z: (pairs(z.sum(-1)), pairs(z.mean(1)), pairs(z.sum((1, 2), True)),
                               pairs(z.cumsum(-1)), pairs(z.sum())),
    "moves": lambda a, z: (pairs(z.transpose(-1, -2)), pairs(z.permute(0, 2, 1)), pairs(z[:, 1:]),
                           pairs(z[..., 0]), pairs(z[:, -1]), pairs(z.unsqueeze(-1)),
                           pairs(z.flatten(1)), pairs(z.reshape(-1, 4)), pairs(z.flip(-1)),
                           pairs(z.unsqueeze(-2).expand(-1, -1, 3, -1)), pairs(z[..., ::3]),
                           pairs(z[:, None].squeeze(1)), pairs(z.view(z.shape[0], 2, -1))),
    "joins": lambda a, z: (pairs(fl.cat([z, z * 2], -1)), pairs(fl.stack([z, z.conj()], -1)),
                           pairs(fl.cat([z, a], 1)), pairs(z.roll(1, -1)),
                           pairs(nn.functional.pad(z, (1, 2))), pairs(z.repeat(1, 2, 1))),
    "chosen": lambda a, z: (pairs(fl.where(a > 0, z, z * 2)), pairs(fl.where(a > 0, z, a)),
                            pairs(z.gather(2, fl.zeros_like(a[..., :2]).long())),
                            pairs(z[:, fl.tensor([2, 0])]),
                            pairs(z.index_select(1, fl.tensor([1])))),
}

TRANSFORMS = {
    "forward": lambda a, z: (pairs(fft.fft(z)), pairs(fft.fft(a, dim=1)), pairs(fft.rfft(a)),
                             pairs(fft.fft(z, n=5)), pairs(fft.fft(z, norm="ortho"))),
    "backward": lambda a, z: (pairs(fft.ifft(z)), pairs(fft.ifft(z, dim=1, norm="ortho")),
                              pairs(fft.ifft(z, norm="forward")), fft.irfft(z),
                              fft.irfft(z, n=13, dim=1), fft.irfft(z, n=6, norm="ortho")),
    "several": lambda a, z: (pairs(fft.fft2(z)), pairs(fft.ifft2(z)), pairs(fft.rfft2(a)),
                             fft.irfft2(fft.rfft2(a)), pairs(fft.fftn(a, dim=(1, 2))),
                             fft.irfftn(z, dim=(2, 1)), pairs(fft.fft2(a).conj())),
    "hermitian": lambda a, z: (fft.hfft(z), pairs(fft.ihfft(a)), fft.hfft(z, n=7, norm="ortho"),
                               pairs(fft.ihfft(a, norm="forward"))),
    "shifted": lambda a, z: (pairs(fft.fftshift(fft.fft(z), dim=-1)),
                             pairs(fft.ifftshift(z, dim=(1, 2))), fft.rfft(a).abs()),
}


def compare(function, x, opset=20, batches=(2, 1, 5), atol=1e-5):
    """The same numbers here and in onnxruntime for several sizes of the first dimension."""
    written = fl.onnx.export(function, x, opset_version=opset, input_names=["x"],
                             dynamic_axes={"x": {0: "batch"}})
    session = onnxruntime.InferenceSession(written.SerializeToString(),
                                           providers=["CPUExecutionProvider"])
    for n in batches:
        given = fl.randn(n, *x.shape[1:])
        with fl.no_grad():
            wanted = function(given)
        wanted = wanted if isinstance(wanted, tuple) else (wanted,)
        found = session.run(None, {"x": given.numpy()})
        for a, b in zip(found, wanted, strict=True):
            assert a.shape == tuple(b.shape) and a.dtype == b.numpy().dtype
            np.testing.assert_allclose(a, b.numpy(), atol=atol, rtol=1e-5)


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x, turned(x))


@pytest.mark.parametrize("name", ARITHMETIC)
def test_arithmetic_and_moves(name):
    compare(Function(ARITHMETIC[name]), fl.randn(2, 3, 4), atol=2e-5)


@pytest.mark.parametrize("opset", [18, 20])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(name, opset):
    compare(Function(TRANSFORMS[name]), fl.randn(2, 3, 8), opset, atol=5e-5)


class Rotary(nn.Module):
    """Rotary embeddings as complex numbers, which are a buffer."""

    def __init__(self):
        super().__init__()
        angles = fl.outer(fl.arange(6).float(), 1 / 100 ** (fl.arange(0, 8, 2).float() / 8))
        self.register_buffer("turns", fl.polar(fl.ones_like(angles), angles))

    def forward(self, x):
        z = fl.view_as_complex(x.unflatten(-1, (-1, 2)))
        return pairs(z * self.turns).flatten(-2)


class Mel(nn.Module):
    """Loudness by bands of frequencies."""

    def __init__(self):
        super().__init__()
        self.register_buffer("window", fl.hann_window(32))
        self.register_buffer("bands", fl.rand(17, 8))

    def forward(self, x):
        z = fl.stft(x, 32, 8, window=self.window, return_complex=True)
        return (z.abs().square().mT @ self.bands).clamp(min=1e-10).log10(), pairs(z)


class Filter(nn.Module):
    """A product in the domain of frequencies, with weights as pairs."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(fl.randn(9, 4, 2))

    def forward(self, x):
        z = fft.rfft(x, dim=1, norm="ortho") * fl.view_as_complex(self.weight)
        return fft.irfft(z, n=16, dim=1, norm="ortho")


@pytest.mark.parametrize("model, shape", [
    (Rotary(), (2, 3, 6, 8)), (Mel(), (2, 128)), (Filter(), (2, 16, 4))], ids=["rotary", "mel",
                                                                              "filter"])
def test_networks(model, shape):
    compare(model, fl.randn(*shape), atol=1e-4)


@pytest.mark.parametrize("function, why", [
    (lambda x: fl.complex(x, x), "complex64"),
    (lambda x: pairs(fl.complex(x, x).tanh()), "not written here"),
    (lambda x: pairs(fl.complex(x, x).mul_(2)), "not written to"),
])
def test_what_is_refused(function, why):
    with pytest.raises(fl.onnx.ExportError, match=why):
        compare(function, fl.randn(2, 3))


def test_roots_of_negative_numbers_lie_on_the_right_side():
    """The sign of the root's imaginary part is that of the number's."""
    x = fl.tensor([-4.0, 4.0, 0.0, -1.0])
    written = fl.onnx.export(lambda x: pairs(fl.complex(x, fl.tensor([1.0, -1, 0, -2])).sqrt()), x)
    session = onnxruntime.InferenceSession(written.SerializeToString(),
                                           providers=["CPUExecutionProvider"])
    found, = session.run(None, {session.get_inputs()[0].name: x.numpy()})
    wanted = np.sqrt(np.array([-4 + 1j, 4 - 1j, 0, -1 - 2j]))
    np.testing.assert_allclose(found[:, 0] + 1j * found[:, 1], wanted, atol=1e-6)
    assert math.copysign(1, found[3, 1]) == -1
