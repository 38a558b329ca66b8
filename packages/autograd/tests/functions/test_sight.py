"""Errors that find the bug: who wrote, where the forward call was, who made the first NaN."""

import inspect
import math
import warnings

import pytest

import flambeau
from flambeau.autograd import detect_anomaly, grad, nan_check
from flambeau.core import scope

pytestmark = [pytest.mark.filterwarnings("ignore:Anomaly Detection has been enabled"),
              pytest.mark.filterwarnings("ignore:Error detected in")]


def line():
    """The line of the caller."""
    return inspect.currentframe().f_back.f_lineno


def leaf(*data):
    return flambeau.tensor(data, requires_grad=True)


# ---- saved tensors that were written to ------------------------------------------------
def test_the_error_names_the_write_and_its_line():
    y = leaf(1.0, 2.0) * 2
    z = y.exp()
    y2 = z * 3
    z.mul_(2); where = line()  # noqa: E702
    with pytest.raises(RuntimeError) as error:
        y2.sum().backward()
        z.sum().backward()
    text = str(error.value)
    assert "ExpBackward0 saved its own result, a flambeau.float32 tensor of shape [2]" in text
    assert f"changed by mul_() at {__file__}:{where} in test_the_error_names" in text


def test_the_first_of_several_writes_is_named():
    x = leaf(1.0, 2.0)
    y = x * 1
    z = y * y
    y.add_(1); where = line()  # noqa: E702
    y.mul_(2)
    with pytest.raises(RuntimeError, match=f"add_.., the first of 2 writes since, at .*:{where} "):
        z.sum().backward()


def test_a_write_through_a_view_and_by_index():
    y = leaf(1.0, 2.0) * 1
    z = y * y
    y[0] = 5.0; where = line()  # noqa: E702
    with pytest.raises(RuntimeError, match=rf"t\[...\] = ...\) at .*test_sight.py:{where}"):
        z.sum().backward()


def test_the_line_is_the_users_and_not_the_librarys():
    w = flambeau.ones(2, requires_grad=True)
    loss = (w * w).sum()

    class Step:
        def __call__(self):
            with flambeau.no_grad():
                w.sub_(0.1)

    Step()()
    with pytest.raises(RuntimeError, match=r"sub_\(\) at .*test_sight.py:\d+ in __call__"):
        loss.backward()


def test_memory_that_was_written_before_saving_is_fine():
    x = leaf(1.0, 2.0)
    y = x * 1
    for _ in range(3):
        y.add_(1)
        z = (y * y).sum()
    z.backward()
    assert x.grad.tolist() == [8.0, 10.0]


def test_versions_count_writes_only():
    x = leaf(1.0, 2.0)
    assert x._version == 0
    y = x * x
    assert x._version == 0
    y.sum().backward()
    with flambeau.no_grad():
        x.add_(1)
        x.add_(1)
    assert x._version == 2


def test_views_keep_their_node_when_they_are_saved():
    v = (leaf(1.0, 2.0) * 1).view(2, 1)
    (v * v).sum()
    assert v.grad_fn.name() == "ViewBackward0"


def test_the_forward_line_under_detect_anomaly():
    x = leaf(1.0, 2.0)
    y = x * 1
    with detect_anomaly():
        z = y * y; where = line()  # noqa: E702
    y.add_(1)
    with pytest.raises(RuntimeError, match=rf"The forward call was at .*test_sight.py:{where} "):
        z.sum().backward()


def test_any_error_of_a_backward_names_its_forward_call():
    class Fails(flambeau.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            raise ArithmeticError("no")

    x = leaf(1.0)
    with detect_anomaly():
        y = Fails.apply(x); where = line()  # noqa: E702
        with pytest.raises(ArithmeticError) as error:
            y.sum().backward()
    assert any(f"test_sight.py:{where}" in note and "FailsBackward" in note
               for note in error.value.__notes__)


# ---- the first NaN ---------------------------------------------------------------------
def test_a_nan_of_a_backward_names_the_forward_line():
    x = leaf(0.0, 1.0)
    with detect_anomaly():
        y = x.sqrt(); where = line()  # noqa: E702
        loss = (y * 0).sum()
        with pytest.raises(RuntimeError) as error:
            loss.backward()
    text = str(error.value)
    assert text.startswith("Function 'SqrtBackward0' returned nan values in its 0th output")
    assert f"test_sight.py:{where}" in text


def test_a_nan_of_a_forward_names_its_line_and_scope():
    x = flambeau.tensor([1.0, -1.0])
    with nan_check(), scope("net"), scope("head"):
        y = x + 1
        with pytest.raises(RuntimeError) as error:
            x.log()
        where = line() - 1
    assert "log() made a NaN of inputs without NaN" in str(error.value)
    assert f"test_sight.py:{where}" in str(error.value)
    assert "(scope net.head)" in str(error.value)
    assert y.tolist() == [2.0, 0.0]


@pytest.mark.parametrize(("fn", "word"), [
    (lambda: flambeau.tensor([0.0]).log(), "log"),
    (lambda: flambeau.tensor([1.0]) / flambeau.tensor([0.0]), "div"),
    (lambda: flambeau.tensor([1000.0]).exp(), "exp"),
    (lambda: flambeau.ones(2, 2).div_(0), "div"),
    (lambda: flambeau.tensor([1e38]).mul_(10), "mul"),
    (lambda: flambeau.tensor([1000.0], dtype=flambeau.float64).exp(), "exp"),
    (lambda: flambeau.tensor([1e4], dtype=flambeau.float16) * 1e4, "mul"),
    (lambda: flambeau.ones(2, 3).t().sub(1).log(), "log"),
], ids=["log", "div", "exp", "inplace", "overflow", "float64", "half", "strided"])
def test_infinities_are_found_by_nan_check_alone(fn, word):
    with nan_check(), pytest.raises(RuntimeError, match=rf"^{word}\(\) made an infinity of finite"):
        fn()
    with nan_check(inf=False):
        fn()
    with detect_anomaly():
        fn()


@pytest.mark.parametrize("fn", [
    lambda: flambeau.full((2,), -math.inf),
    lambda: flambeau.ones(2).masked_fill(flambeau.tensor([True, False]), -math.inf),
    lambda: flambeau.full((2,), math.nan).exp(),
    lambda: flambeau.tensor([-math.inf, 1.0]).softmax(0),
    lambda: flambeau.full((2,), math.nan).nan_to_num(),
    lambda: flambeau.where(flambeau.tensor([True]), flambeau.tensor([math.nan]), 1.0),
    lambda: flambeau.tensor([1, 2]) + 1,
], ids=["full", "mask", "passed on", "softmax", "repaired", "where", "integers"])
def test_what_came_in_was_not_made(fn):
    with nan_check():
        assert fn() is not None


def test_a_softmax_of_nothing_but_minus_infinity():
    with detect_anomaly(), pytest.raises(RuntimeError, match=r"^softmax\(\) made a NaN"):
        flambeau.full((2,), -math.inf).softmax(0)


def test_a_nan_seed():
    x = leaf(1.0)
    with nan_check(), pytest.raises(RuntimeError, match="was given a gradient with nan"):
        (x * 2).backward(flambeau.tensor([math.nan]))


def test_without_check_nan_only_lines_are_noted():
    x = leaf(0.0)
    with detect_anomaly(check_nan=False):
        y = x.sqrt()
        (y * 0).sum().backward()
    assert math.isnan(x.grad.item())
    assert "traceback_" in y.grad_fn.metadata


def test_switches():
    assert not flambeau.is_anomaly_enabled()
    with flambeau.autograd.set_detect_anomaly(True, check_nan=False):
        assert flambeau.is_anomaly_enabled()
        assert not flambeau.is_anomaly_check_nan_enabled()
        with flambeau.autograd.set_detect_anomaly(False):
            assert not flambeau.is_anomaly_enabled()
        assert flambeau.is_anomaly_enabled()
    assert not flambeau.is_anomaly_enabled()


def test_nothing_stays_behind():
    x = leaf(0.0)
    with pytest.raises(RuntimeError), nan_check():
        x.log()
    assert x.log().item() == -math.inf
    assert (x * 2).grad_fn._call_site is None


# ---- texts that say what to write instead ----------------------------------------------
GOLDEN = {
    "not scalar": (lambda x: (x * 2).backward(),
                   "grad can be implicitly created only for scalar outputs, and this is a "
                   "flambeau.float32 tensor of shape [2]: reduce it first, y.sum().backward() or "
                   "y.mean().backward(), or say what its gradient is, "
                   "y.backward(flambeau.ones_like(y))"),
    "nothing requires grad": (lambda x: x.detach().sum().backward(),
                              "element 0 of tensors does not require grad and does not have a "
                              "grad_fn: it (a flambeau.float32 tensor of shape []) was not "
                              "computed from a tensor with requires_grad=True, or under no_grad(), "
                              "or through detach(), item() or a comparison. Set "
                              "requires_grad=True on the inputs or parameters before computing it"),
    "graph freed": (lambda x: [y := (x * x).sum(), y.backward(), y.backward()],
                    "Trying to backward through the graph a second time (or directly access saved "
                    "tensors after they have already been freed): MulBackward0 gave up what it had "
                    "saved when backward() or autograd.grad() ran the first time. Specify "
                    "retain_graph=True the first time to go through the graph again, "
                    "loss.backward(retain_graph=True), or compute the loss anew"),
    "wrong gradient shape": (lambda x: (x * 2).backward(flambeau.ones(3)),
                             "Mismatch in shape: grad_output[0] has a shape of flambeau.Size([3]) "
                             "and output[0] has a shape of flambeau.Size([2])."),
    "leaf in place": (lambda x: x.add_(1),
                      "a leaf Variable that requires grad is being used in an in-place operation. "
                      "add_() would overwrite a flambeau.float32 tensor of shape [2] whose "
                      "gradient is to be taken: update parameters under no_grad() (with "
                      "flambeau.no_grad(): w -= lr * w.grad), or write to a clone()"),
    "view of a leaf in place": (lambda x: x[0].add_(1),
                                "a view of a leaf Variable that requires grad is being used in an "
                                "in-place operation. add_() would overwrite a part of a "
                                "flambeau.float32 tensor of shape [2] whose gradient is to be "
                                "taken: write to a clone() of the leaf, or write under no_grad()"),
    "inference": (lambda x: x * _inference(),
                  "Inference tensors cannot be saved for backward. To work around you can make a "
                  "clone to get a normal tensor and use it in autograd: x = x.clone() outside "
                  "inference_mode()"),
    "not used": (lambda x: grad((x * 2).sum(), leaf(1.0)),
                 "One of the differentiated Tensors appears to not have been used in the graph: "
                 "element 0 of inputs, of shape [1]. Set allow_unused=True if this is the desired "
                 "behavior (its gradient is None then, or zeros with materialize_grads=True)"),
}


def _inference():
    with flambeau.inference_mode():
        return flambeau.ones(2)


@pytest.mark.parametrize(("fn", "text"), GOLDEN.values(), ids=GOLDEN)
def test_golden_texts(fn, text):
    with pytest.raises(RuntimeError) as error:
        fn(leaf(1.0, 2.0))
    assert str(error.value) == text


@pytest.mark.parametrize("transform", ["grad", "vmap of grad", "jacrev", "hessian"])
def test_transforms_are_looked_into(transform):
    """The values below a level are looked at, of all samples together."""
    run = {"grad": flambeau.func.grad, "jacrev": flambeau.func.jacrev,
           "hessian": flambeau.func.hessian,
           "vmap of grad": lambda f: flambeau.vmap(flambeau.func.grad(f))}[transform]
    x = flambeau.ones(3, 2) if transform == "vmap of grad" else flambeau.ones(2)
    expected = run(lambda x: (x ** 3).sum())(x).tolist()
    with detect_anomaly():
        assert run(lambda x: (x ** 3).sum())(x).tolist() == expected
        with pytest.raises(RuntimeError, match="'SqrtBackward0' returned nan|made a NaN"):
            run(lambda x: (x.sqrt() * 0).sum())(x - 1)


# ---- warnings of detect_anomaly --------------------------------------------------------
def warnings_of(run):
    """What a failing program warns of."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with pytest.raises(RuntimeError):
            run()
    return [str(warning.message) for warning in seen]


def test_the_traceback_of_the_forward_call_is_shown():
    def run():
        with detect_anomaly():
            y = leaf(1.0) + 1
            z = y ** 2
            y += 1
            z.backward()

    slow, where = warnings_of(run)
    assert slow.startswith("Anomaly Detection has been enabled")
    assert where.startswith("Error detected in PowBackward0. Traceback of forward call")
    assert "z = y ** 2" in where


def test_the_pass_that_made_the_node_is_told_of():
    def run():
        with detect_anomaly():
            x = leaf(1.0)
            first, = grad((x - 1) ** 1.5, x, create_graph=True)
            grad(first * 0, x)

    _, own, outer = warnings_of(run)
    assert own.startswith("Error detected in PowBackward")
    assert outer.startswith("Previous calculation was induced by PowBackward")
    assert "(x - 1) ** 1.5" in outer


def test_where_warnings_are_errors_the_traceback_is_printed(capsys):
    with flambeau.autograd.set_detect_anomaly(True):
        y = leaf(1.0) + 1
        z = y ** 2
        y += 1
        with warnings.catch_warnings(), pytest.raises(RuntimeError, match="modified by an inplace"):
            warnings.simplefilter("error")
            z.backward()
    assert "Error detected in PowBackward0" in capsys.readouterr().err


def test_set_detect_anomaly_does_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with flambeau.autograd.set_detect_anomaly(True):
            x = leaf(1.0)
            x.sin().backward()
    assert x.grad is not None
