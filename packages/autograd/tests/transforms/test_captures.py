"""Writes to tensors that a function being differentiated captured."""
import threading

import pytest

import flambeau as fl
from flambeau import func

TRANSFORMS = {
    "grad": lambda f: func.grad(f)(fl.arange(3.0)),
    "grad_and_value": lambda f: func.grad_and_value(f)(fl.arange(3.0)),
    "vjp": lambda f: func.vjp(f, fl.arange(3.0)),
    "jacrev": lambda f: func.jacrev(f)(fl.arange(3.0)),
    "jvp": lambda f: func.jvp(f, (fl.arange(3.0),), (fl.ones(3),)),
    "jacfwd": lambda f: func.jacfwd(f)(fl.arange(3.0)),
    "hessian": lambda f: func.hessian(f)(fl.arange(3.0)),
    "vmap of grad": lambda f: func.vmap(func.grad(f))(fl.ones(2, 3)),
}


def in_no_grad(c, x):
    with fl.no_grad():
        c.add_(1)


WRITES = {
    "copy_": lambda c, x: c.copy_(x), "add_": lambda c, x: c.add_(1),
    "zero_": lambda c, x: c.zero_(), "view": lambda c, x: c[0].add_(1),
    "index": lambda c, x: c.__setitem__(0, 5.0), "detach": lambda c, x: c.detach().mul_(2),
    "random": lambda c, x: c.uniform_(), "no_grad": in_no_grad,
    "data": lambda c, x: c.data.add_(1), "data of data": lambda c, x: c.data.data[0].add_(1),
    "resize_": lambda c, x: c.resize_(2), "resize_as_": lambda c, x: c.resize_as_(fl.ones(1)),
    "set_": lambda c, x: c.set_(fl.zeros(3)), "unsqueeze_": lambda c, x: c.unsqueeze_(0),
    "squeeze_": lambda c, x: c.squeeze_(), "t_": lambda c, x: c.t_(),
    "as_strided_": lambda c, x: c.as_strided_((2,), (1,)), "detach_": lambda c, x: c.detach_(),
}


def written(write, make):
    def f(x):
        c = make()
        write(c, x)
        return (x * c).sum()
    return f


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("transform", ["grad", "jvp"])
def test_captured_tensors_are_not_written_to(transform, write):
    captured = fl.ones(3)
    with pytest.raises(RuntimeError, match="mutate a captured Tensor"):
        TRANSFORMS[transform](written(WRITES[write], lambda: captured))
    captured.add_(1)                    # the function is over
    assert captured.tolist() == [2.0, 2.0, 2.0]


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_every_transform_refuses(transform):
    captured = fl.ones(3)
    with pytest.raises(RuntimeError, match="mutate a captured Tensor"):
        TRANSFORMS[transform](written(WRITES["add_"], lambda: captured))


@pytest.mark.parametrize("make", [
    lambda: fl.zeros(3), lambda: fl.tensor([0.0, 0.0, 0.0]), lambda: fl.zeros(3, 3)[1],
    lambda: fl.from_numpy(fl.zeros(3).numpy().copy()), lambda: fl.ones(1000)[:3].clone() - 1])
def test_tensors_made_inside_are_written_to(make):
    assert func.grad(written(WRITES["copy_"], make))(fl.arange(3.0)).tolist() == [0.0, 2.0, 4.0]


def test_running_statistics_follow():
    pytest.importorskip("flambeau.nn", reason="needs flambeau-nn")
    mean, var = fl.zeros(1), fl.ones(1)
    x = fl.tensor([[[1.0, 3.0]], [[5.0, 7.0]]])
    func.grad(lambda x: fl.nn.functional.instance_norm(
        x, mean, var, use_input_stats=True).sum())(x)
    assert (mean.item(), var.item()) == (pytest.approx(0.4), pytest.approx(1.1))
    func.grad(lambda x: fl.nn.functional.batch_norm(x, mean, var, training=True).sum())(x)
    assert mean.item() == pytest.approx(0.76)


def test_arguments_are_written_to():
    def f(x, y, z=None):
        y.add_(1)
        z.add_(2)
        return (x * y * z).sum()
    y, z = fl.ones(3), fl.ones(3)
    assert func.grad(f)(fl.ones(3), y, z=z).tolist() == [6.0, 6.0, 6.0]
    assert y.tolist() == [2.0] * 3 and z.tolist() == [3.0] * 3


@pytest.mark.parametrize("transform, expected", [
    (func.jacfwd, [[1, 0], [0, 1]]), (func.jacrev, [[1, 0], [0, 1]]), (func.hessian, None)])
def test_arguments_beside_the_differentiated_one_are_written_to(transform, expected):
    def written(x, y, *, z):
        y.copy_(x)
        z.add_(x)
        return y if expected else (z * z).sum()

    x, y, z = (fl.ones(2) for _ in range(3))
    assert transform(written)(x, y, z=z).tolist() == (expected or [[2, 0], [0, 2]])


def test_inner_function_does_not_write_to_what_the_outer_one_made():
    def outer(x):
        made = fl.zeros(3)
        inner = written(WRITES["add_"], lambda: made)
        own = written(WRITES["add_"], lambda: fl.zeros(3))
        grads = func.grad(own)(x)
        made.add_(1)
        with pytest.raises(RuntimeError, match="mutate a captured Tensor"):
            func.grad(inner)(x)
        return (grads * x * made).sum()
    assert func.grad(outer)(fl.ones(3)).tolist() == [1.0, 1.0, 1.0]


def test_argument_of_inner_function_captured_by_the_outer_one():
    captured = fl.ones(3)

    def add(y, x):
        y.add_(1)
        return (x * y).sum()
    with pytest.raises(RuntimeError, match="mutate a captured Tensor"):
        func.grad(lambda x: func.grad(add, argnums=1)(captured, x).sum())(fl.ones(3))


def test_other_threads_write_to_their_own():
    mine = fl.zeros(3)

    def f(x):
        thread = threading.Thread(target=mine.add_, args=(1,))
        thread.start()
        thread.join()
        return x.sum()
    func.grad(f)(fl.ones(3))
    assert mine.tolist() == [1.0, 1.0, 1.0]
