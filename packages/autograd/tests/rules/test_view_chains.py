"""Random chains of views, real and complex, with writes among them, beside a slow model: the
memory as a list of real numbers, and for each of them its row of the Jacobian."""

import random

import numpy
import pytest

import flambeau


class Chain:
    """Tensors in one memory; for each the numbers of its elements, complex ones as pairs."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        shape = (3, 4, 2)
        self.x = flambeau.arange(24.0, dtype=flambeau.float64).reshape(shape).requires_grad_()
        self.jacobian = numpy.eye(24)
        base, numbers = self.x.clone(), numpy.arange(24).reshape(shape)
        if seed % 2:
            base = flambeau.view_as_complex(self.x).clone()
        self.views = [(base, numbers, bool(seed % 2))]

    def pick(self):
        return self.random.choice(self.views)

    def take_view(self) -> None:
        tensor, numbers, is_complex = self.pick()
        kind = self.random.choice(("slice", "select", "transpose", "parts", "real", "unsqueeze"))
        ndim = tensor.ndim
        if kind == "parts" or (kind == "real" and is_complex):
            made = self.taken_apart(kind, tensor, numbers, is_complex)
        elif ndim == 0 or kind == "unsqueeze":
            made = tensor.unsqueeze(0), numbers[None], is_complex
        elif kind == "transpose":
            made = tensor.transpose(0, ndim - 1), numbers.swapaxes(0, ndim - 1), is_complex
        elif kind == "select" and ndim > 1:
            made = tensor[-1], numbers[-1], is_complex
        else:
            start = self.random.randrange(tensor.shape[0])
            made = tensor[start::2], numbers[start::2], is_complex
        self.views.append(made)

    def taken_apart(self, kind, tensor, numbers, is_complex):
        if kind == "real":
            part = self.random.randrange(2)
            return (tensor.imag if part else tensor.real), numbers[..., part], False
        if is_complex:
            return flambeau.view_as_real(tensor), numbers, False
        if tensor.ndim and tensor.shape[-1] == 2 and tensor.stride(-1) == 1 \
                and all(step % 2 == 0 for step in tensor.stride()[:-1]):
            return flambeau.view_as_complex(tensor), numbers, True
        return tensor, numbers, False

    def write(self) -> None:
        tensor, numbers, is_complex = self.pick()
        flat = numbers.reshape(-1)
        factor = self.random.choice((2.0, -1.0, 0.5))
        kind = self.random.choice(("scale", "turn", "add", "zero"))
        if kind == "turn" and is_complex:
            tensor.mul_(factor * 1j)
            real, imag = flat[::2], flat[1::2]
            rows = self.jacobian[flat] * factor
            self.jacobian[real], self.jacobian[imag] = -rows[1::2], rows[::2]
        elif kind == "add" and not is_complex:
            tensor.add_(self.x.reshape(-1)[5], alpha=factor)
            self.jacobian[flat, 5] += factor
        elif kind == "zero":
            tensor.zero_()
            self.jacobian[flat] = 0
        else:
            tensor.mul_(factor)
            self.jacobian[flat] *= factor

    def check(self) -> None:
        """The gradient of a weighted sum of one of the views, early or late."""
        tensor, numbers, is_complex = self.pick()
        flat = numbers.reshape(-1)
        weights = numpy.arange(1.0, flat.size + 1)
        seen = flambeau.view_as_real(tensor) if is_complex else tensor
        loss = (seen.reshape(-1) * flambeau.tensor(weights)).sum()
        expected = (weights[:, None] * self.jacobian[flat]).sum(0)
        numpy.testing.assert_allclose(loss.item(), expected @ numpy.arange(24.0))
        found, = flambeau.autograd.grad(loss, self.x, retain_graph=True, allow_unused=True)
        found = numpy.zeros(24) if found is None else found.numpy().reshape(-1)
        numpy.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("seed", range(60))
def test_chain(seed):
    chain = Chain(seed)
    for _ in range(6):
        chain.take_view()
        chain.write()
        chain.check()


def test_writes_at_an_odd_offset():
    """The pairs of the gradient need no even offset of their own."""
    x = flambeau.ones(5, requires_grad=True)
    base = flambeau.zeros(6)[1:].detach()
    base.add_(x)
    flambeau.view_as_complex(base[1:].view(2, 2)).mul_(2 + 1j)
    (base * base).sum().backward()
    assert x.grad.tolist() == [2.0, 10.0, 10.0, 10.0, 10.0]


def test_bytes_seen_as_another_dtype_take_no_part():
    x = flambeau.ones(2, requires_grad=True)
    base = x.clone()
    for dtype in (flambeau.float32, flambeau.int32, flambeau.complex64):
        view = base.view(dtype)
        assert view._base is None and not view.requires_grad and view.data_ptr() == base.data_ptr()
    base.view(flambeau.int32).zero_()
    assert base.tolist() == [0.0, 0.0]
    base.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(("view", "expected"), [
    (lambda x: x.expand(2, 3).as_strided((2, 3), (0, 1)), [2.0, 2.0, 2.0]),
    (lambda x: x.expand(2, 3).as_strided((3,), (1,)), [1.0, 1.0, 1.0]),
    (lambda x: x.unfold(0, 2, 1).as_strided((2, 2), (1, 1)), [1.0, 2.0, 1.0]),
    (lambda x: x.unfold(0, 2, 1).T.as_strided((2,), (1,)), [1.0, 1.0, 0.0]),
], ids=["expanded", "shrunk", "windows", "transposed windows"])
def test_as_strided_of_elements_that_share_memory(view, expected):
    x = flambeau.ones(3, requires_grad=True)
    view(x).sum().backward()
    assert x.grad.tolist() == expected
    assert flambeau.autograd.gradgradcheck(
        lambda x: view(x) ** 2, flambeau.ones(3, dtype=flambeau.float64, requires_grad=True))
