"""no_grad and other grad modes: blocks, decorators, generators, nesting, threads."""

import threading

import pytest

import flambeau


def leaf(*data):
    return flambeau.tensor(list(data), requires_grad=True)


def test_no_grad():
    x = leaf(1.0)
    with flambeau.no_grad():
        assert not flambeau.is_grad_enabled()
        y = x * 2
    assert not y.requires_grad and flambeau.is_grad_enabled()


def test_enable_grad_inside():
    x = leaf(1.0)
    with flambeau.no_grad():
        with flambeau.enable_grad():
            assert (x * 2).requires_grad
        assert not (x * 2).requires_grad


def test_restored_after_an_error():
    with pytest.raises(ZeroDivisionError), flambeau.no_grad():
        raise ZeroDivisionError
    assert flambeau.is_grad_enabled()


def test_the_same_object_nested():
    block = flambeau.no_grad()
    with block:
        with flambeau.enable_grad():
            with block:
                assert not flambeau.is_grad_enabled()
            assert flambeau.is_grad_enabled()
        assert not flambeau.is_grad_enabled()
    assert flambeau.is_grad_enabled()


@pytest.mark.parametrize("mark", [flambeau.no_grad, flambeau.no_grad(),
                                  flambeau.inference_mode, flambeau.inference_mode()])
def test_decorator(mark):
    @mark
    def f(x, depth=0):
        """What f does."""
        assert not flambeau.is_grad_enabled()
        return f(x, depth - 1) if depth else x * 2

    assert not f(leaf(1.0), 2).requires_grad
    assert flambeau.is_grad_enabled()
    assert f.__name__ == "f" and f.__doc__ == "What f does."


def test_decorated_generator():
    @flambeau.no_grad()
    def steps():
        got = yield flambeau.is_grad_enabled()
        yield got, flambeau.is_grad_enabled()
        return 5

    generator = steps()
    assert next(generator) is False
    assert flambeau.is_grad_enabled()
    assert generator.send("x") == ("x", False)
    with pytest.raises(StopIteration) as stop:
        next(generator)
    assert stop.value.value == 5


def test_generator_sees_thrown_errors():
    @flambeau.no_grad()
    def steps():
        try:
            yield 1
        except KeyError:
            yield flambeau.is_grad_enabled()

    generator = steps()
    next(generator)
    assert generator.throw(KeyError) is False


def test_modes_do_not_decorate_classes():
    with pytest.raises(TypeError, match="not the class"):
        flambeau.no_grad()(int)


class TestSetGradEnabled:
    def test_block(self):
        with flambeau.set_grad_enabled(False):
            assert not flambeau.is_grad_enabled()
        assert flambeau.is_grad_enabled()

    def test_at_once(self):
        flambeau.set_grad_enabled(False)
        try:
            assert not flambeau.is_grad_enabled()
        finally:
            flambeau.set_grad_enabled(True)

    def test_decorator(self):
        @flambeau.set_grad_enabled(False)
        def f():
            return flambeau.is_grad_enabled()

        assert flambeau.is_grad_enabled()
        assert f() is False and f() is False
        assert flambeau.is_grad_enabled()


class TestInferenceMode:
    def test_results_are_inference_tensors(self):
        x = leaf(1.0)
        with flambeau.inference_mode():
            y = x * 2
        assert y.is_inference() and not y.requires_grad

    def test_saving_is_refused(self):
        with flambeau.inference_mode():
            y = flambeau.ones(1)
        with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
            leaf(1.0) * y
        assert (leaf(1.0) + y).requires_grad
        assert (leaf(1.0) * y.clone()).requires_grad

    def test_requires_grad_is_refused(self):
        with flambeau.inference_mode():
            y = flambeau.ones(1)
        with pytest.raises(RuntimeError, match="inference tensor outside InferenceMode"):
            y.requires_grad_()

    def test_views_of_other_tensors_keep_requires_grad(self):
        w = leaf(1.0, 2.0)
        a = w * 1
        with flambeau.inference_mode():
            views = [w[0], a.view(2, 1), a.view(2, 1).t(), *a.unbind()]
            assert not a.detach().requires_grad and not a.data.requires_grad
        for view in views:
            assert view.requires_grad and view.is_leaf and view._is_view()
            assert not view.is_inference()
            assert (view * 2).requires_grad
            with pytest.raises(RuntimeError, match="view was created in inference mode"):
                view.add_(1)
        assert not flambeau.inference_mode()(lambda: flambeau.ones(2).view(2, 1))().requires_grad

    def test_calls_with_inference_tensors_alone_are_not_recorded(self):
        with flambeau.inference_mode():
            x = leaf(1.0, 2.0)
            assert not x.view(2, 1).requires_grad
        view = x.view(2, 1)
        assert not view.requires_grad and not view._is_view() and view.is_inference()
        assert not (x * x).requires_grad and not flambeau.stack([x, x]).requires_grad
        flambeau.cat([x, leaf(3.0)]).sum().backward()
        assert x.grad.tolist() == [1.0, 1.0]

    @pytest.mark.parametrize("write", [
        lambda x: x.add_(2), lambda x: x.transpose_(0, 1), lambda x: x.unsqueeze_(0),
        lambda x: x.resize_(1, 2)])
    def test_writes_leave_requires_grad(self, write):
        with flambeau.inference_mode():
            x = flambeau.ones(2, 3, requires_grad=True)
            write(x)
            assert x.requires_grad and x.is_leaf

    def test_switched_off(self):
        with flambeau.inference_mode(), flambeau.inference_mode(False):
            assert (leaf(1.0) * 2).requires_grad


def test_turning_a_leaf_under_no_grad():
    w = flambeau.ones(2, 3, requires_grad=True)
    with flambeau.no_grad():
        w.t_()
    (w * 2).sum().backward()
    assert w.is_leaf and w.grad.tolist() == [[2.0, 2.0]] * 3


def test_each_thread_has_its_own():
    seen = []
    with flambeau.no_grad():
        thread = threading.Thread(target=lambda: seen.append(flambeau.is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]


def test_backward_restores_the_mode():
    x = leaf(1.0)
    y = (x * x).sum()
    modes = []
    y.register_hook(lambda g: modes.append(flambeau.is_grad_enabled()))
    with flambeau.no_grad():
        y.backward(retain_graph=True)
        assert not flambeau.is_grad_enabled()
    y.backward(create_graph=True)
    assert modes == [False, True]
    assert flambeau.is_grad_enabled() and x.grad.requires_grad


class TestCallsInsideBlocks:
    """set_grad_enabled() called as a function switches until the block around it ends."""

    @pytest.mark.parametrize("block", [
        lambda: flambeau.set_grad_enabled(False), flambeau.no_grad, flambeau.inference_mode])
    def test_block_goes_back(self, block):
        with block():
            flambeau.set_grad_enabled(True)
            assert flambeau.is_grad_enabled()
            with flambeau.no_grad():
                assert not flambeau.is_grad_enabled()
            assert flambeau.is_grad_enabled()
        assert flambeau.is_grad_enabled() and not flambeau.is_inference_mode_enabled()

    def test_nested_blocks_of_one_object(self):
        mode = flambeau.no_grad()
        with mode:
            flambeau.set_grad_enabled(True)
            with mode:
                assert not flambeau.is_grad_enabled()
            assert flambeau.is_grad_enabled()
        assert flambeau.is_grad_enabled()

    def test_a_suspended_block_is_still_noticed(self):
        def steps():
            with flambeau.no_grad():
                yield 1

        made = steps()
        next(made)
        with flambeau.set_grad_enabled(True), pytest.raises(RuntimeError, match="did not switch"):
            next(made, None)
        flambeau.set_grad_enabled(True)


class TestNumpy:
    def test_only_a_recorded_read_is_refused(self):
        x = flambeau.ones(2, requires_grad=True)
        base = flambeau.zeros(3)
        early = base[:2]
        base[:2] = x
        for tensor in (x, base, early):
            with pytest.raises(RuntimeError, match=r"requires grad. Use tensor.detach\(\)"):
                tensor.numpy()
            with flambeau.no_grad():
                assert tensor.numpy()[0] == 1.0 and tensor.__array__()[1] == 1.0
                assert memoryview(tensor)[0] == 1.0
        with flambeau.inference_mode():
            assert x.numpy().tolist() == [1.0, 1.0]


def test_set_multithreading_enabled():
    from flambeau.autograd import is_multithreading_enabled, set_multithreading_enabled

    with set_multithreading_enabled(False):
        assert not is_multithreading_enabled()
        set_multithreading_enabled(True)
        assert is_multithreading_enabled()
    assert is_multithreading_enabled()
    set_multithreading_enabled(False)
    assert not is_multithreading_enabled()
    set_multithreading_enabled(True)


def test_volatile_is_no_more():
    with pytest.warns(UserWarning, match="volatile was removed"):
        assert leaf(1.0).volatile is False


def test_modes_are_classes():
    import inspect
    import pickle

    for kind in (flambeau.no_grad, flambeau.enable_grad, flambeau.set_grad_enabled,
                 flambeau.inference_mode):
        assert inspect.isclass(kind)
        made = kind(True) if kind is flambeau.set_grad_enabled else kind()
        assert isinstance(made, kind)
    restored = pickle.loads(pickle.dumps(flambeau.inference_mode(False)))
    with flambeau.no_grad(), restored:
        assert flambeau.is_grad_enabled()


def test_classes_derived_from_modes():
    class Counting(flambeau.no_grad):
        entered = 0

        def __enter__(self):
            Counting.entered += 1
            return super().__enter__()

    @Counting()
    def asked():
        return flambeau.is_grad_enabled()

    class Switch(flambeau.set_grad_enabled):
        pass

    with Counting():
        assert not flambeau.is_grad_enabled()
    assert asked() is False
    assert Counting.entered == 2
    with Switch(False):
        assert not flambeau.is_grad_enabled()
    assert flambeau.is_grad_enabled()
