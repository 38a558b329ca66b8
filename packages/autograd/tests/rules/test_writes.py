"""Writes to tensors that take part in a graph: versions, leaves, views and bases."""

import pytest
from numbers_for_tests import reals

import flambeau
from flambeau.autograd import gradcheck
from flambeau.core import ops


def leaf(*data):
    return flambeau.tensor(list(data), requires_grad=True)


class TestVersions:
    def test_a_saved_input_was_changed(self):
        x = leaf(1.0, 2.0)
        y = x * 2
        z = y * y
        y.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation: MulBackward0.*"
                           r"float32 tensor of shape \[2\], at version 0.*version 1"):
            z.sum().backward()

    def test_a_saved_result_was_changed(self):
        y = leaf(1.0).exp()
        z = y * 2
        y.detach().zero_()
        with pytest.raises(RuntimeError, match="ExpBackward0 saved its own result"):
            z.sum().backward()

    def test_a_view_of_a_saved_tensor_was_changed(self):
        w = flambeau.ones(3)
        y = leaf(1.0, 2.0, 3.0) * w
        w[0] = 5.0
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()

    def test_what_no_rule_reads_may_change(self):
        x = leaf(1.0, 2.0)
        y = x * 2
        z = y + 1
        y.add_(1)
        z.sum().backward()
        assert x.grad.tolist() == [2.0, 2.0]

    def test_data_does_not_count(self):
        w = leaf(2.0)
        y = w * w
        w.data.fill_(3.0)
        y.sum().backward()
        assert w.grad.tolist() == [6.0]

    def test_index_of_a_gather(self):
        index = flambeau.tensor([0, 1])
        y = leaf(1.0, 2.0)[index]
        index.fill_(0)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()


class TestWholeTensors:
    def test_chain_of_writes(self):
        def fn(x):
            y = x * 2
            y.mul_(y)
            y.add_(x)
            y.exp_()
            return y
        assert gradcheck(fn, reals(3, low=-1, high=1))

    def test_each_kind_of_write(self):
        def fn(x, w):
            y = x.clone()
            y += w
            y *= w
            y -= 2
            y /= 3
            y.clamp_(min=-0.4)
            y.pow_(3)
            y.relu_()
            return y
        assert gradcheck(fn, (reals(4), reals(4, low=0.5, seed=1)))

    def test_history_of_the_old_value_is_kept(self):
        x = leaf(2.0)
        y = x * x
        z = y * 3
        y.add_(1)
        (y + z).sum().backward()
        assert x.grad.tolist() == [16.0]

    def test_receives_a_history(self):
        x = leaf(2.0)
        y = flambeau.zeros(1)
        y.add_(x)
        assert y.requires_grad and y.grad_fn.name() == "AddBackward0"
        (y * y).sum().backward()
        assert x.grad.tolist() == [4.0]

    def test_filled_with_random_numbers(self):
        x = leaf(2.0)
        y = x * 3
        y.normal_()
        (y * 2).sum().backward()
        assert x.grad.tolist() == [0.0]

    def test_comparison_in_place(self):
        x = leaf(2.0)
        y = x * 3
        y.gt_(1.0)
        y.sum().backward()
        assert x.grad.tolist() == [0.0]


class TestRefusals:
    def test_leaf(self):
        w = leaf(1.0)
        with pytest.raises(RuntimeError, match="a leaf Variable that requires grad.*no_grad"):
            w.add_(1)
        assert w.item() == 1.0

    def test_leaf_filled_with_random_numbers(self):
        with pytest.raises(RuntimeError, match="a leaf Variable"):
            leaf(1.0).uniform_()

    def test_view_of_a_leaf(self):
        w = leaf(1.0, 2.0)
        with pytest.raises(RuntimeError, match="a view of a leaf Variable"):
            w[0] = 3.0
        assert w.tolist() == [1.0, 2.0]

    def test_allowed_under_no_grad(self):
        w = leaf(1.0, 2.0)
        with flambeau.no_grad():
            w.add_(1)
            w[0] = 7.0
        assert w.tolist() == [7.0, 3.0] and w.is_leaf and w.requires_grad

    @pytest.mark.parametrize("take", [
        lambda b: b.unbind(), lambda b: b.split(1), lambda b: b.split([1, 1]),
        lambda b: b.chunk(2), list, lambda b: [v[:1] for v in b],
    ], ids=["unbind", "split", "lengths", "chunk", "iteration", "view of one"])
    def test_one_of_several_views(self, take):
        base = leaf(1.0, 2.0).reshape(2, 1).clone()
        view = take(base)[0]
        with pytest.raises(RuntimeError, match="returns multiple views.*index instead"):
            view.mul_(2)
        base.mul_(3)
        assert view.tolist() in ([3.0], [[3.0]]) and view.requires_grad
        with flambeau.no_grad():
            view.mul_(2)
        with pytest.raises(RuntimeError, match="returns multiple views"):
            take(flambeau.zeros(2, 1))[1].add_(leaf(1.0))
        take(flambeau.zeros(2, 1))[1].add_(1)

    @pytest.mark.parametrize("take", [
        lambda b: b.unsafe_split(1), lambda b: b.unsafe_chunk(2),
        lambda b: b.unsafe_split_with_sizes([1, 1]), lambda b: b.tensor_split(2),
    ])
    def test_one_of_several_that_may_be_written(self, take):
        x = leaf(1.0, 2.0)
        first, second = take(x * 1)
        first.mul_(second)
        first.sum().backward()
        assert x.grad.tolist() == [2.0, 1.0]

    def test_copies_in_another_shape(self):
        x = flambeau.ones(2, 3, requires_grad=True)
        with flambeau.no_grad():
            y = x.mT.reshape(6)
        y.mul_(x.mT.flatten().mul_(3)).sum().backward()
        assert x.grad.tolist() == [[3.0] * 3] * 2

    def test_out(self):
        out = flambeau.zeros(1)
        with pytest.raises(RuntimeError, match="out=.* don't support automatic differentiation"):
            flambeau.mul(leaf(2.0), 3, out=out)
        with flambeau.no_grad():
            flambeau.mul(leaf(2.0), 3, out=out)
        assert out.item() == 6.0


class TestViews:
    def test_write_to_a_view_of_a_constant(self):
        x = leaf(2.0, 3.0)
        base = flambeau.zeros(3)
        base[1:] = x * x
        assert base.grad_fn.name() == "CopySlices"
        (base * flambeau.tensor([1.0, 10.0, 100.0])).sum().backward()
        assert x.grad.tolist() == [40.0, 600.0]

    def test_against_differences(self):
        def fn(x, w):
            y = x * 2
            y[0].mul_(w)
            y[:, 1].mul_(y[:, 0])
            y.t()[2] += w[:2] * w[1:]
            return y * y
        assert gradcheck(fn, (reals(2, 3), reals(3, seed=1)))

    def test_second_order(self):
        def fn(x, w):
            y = x * w
            y[1:] *= x[1:]
            return y.sum()
        assert flambeau.autograd.gradgradcheck(fn, (reals(3), reals(3, seed=1)))

    def test_rows_one_by_one(self):
        def fn(x):
            rows = flambeau.zeros(3, 2, dtype=flambeau.float64)
            for i in range(3):
                rows[i] = x[i] * (i + 1) + (rows[i - 1] if i else 0)
            return rows
        assert gradcheck(fn, reals(3, 2))

    def test_other_views_follow(self):
        x = leaf(1.0, 2.0, 3.0)
        base = x * 1
        view = base[:2]
        base.mul_(3)
        assert view.grad_fn.name() == "AsStridedBackward0"
        view.sum().backward()
        assert x.grad.tolist() == [3.0, 3.0, 0.0]

    def test_views_taken_before_the_base_had_a_history(self):
        x = leaf(1.0, 2.0)
        base = flambeau.zeros(2)
        view = base[:1]
        base.add_(x)
        assert view.requires_grad and not view.is_leaf
        (view * 5).sum().backward()
        assert x.grad.tolist() == [5.0, 0.0]

    def test_view_of_a_view(self):
        def fn(x):
            y = x * 1
            inner = y[1:][:, ::2]
            inner.mul_(inner)
            return y
        assert gradcheck(fn, reals(3, 4))

    def test_strided_base(self):
        def fn(x):
            y = (x * 1).t()
            y[1].mul_(3)
            return y.contiguous()
        assert gradcheck(fn, reals(2, 3))

    def test_expanded_target_is_refused_by_the_core(self):
        y = (leaf(1.0) * 1).expand(3)
        with pytest.raises(RuntimeError):
            y.add_(1)

    def test_copy(self):
        def fn(x, w):
            y = x * 1
            ops.copy_(y[0], w)
            return y * w
        assert gradcheck(fn, (reals(2, 3), reals(3, seed=1)))

    def test_index_put(self):
        def fn(x, w):
            y = x * 1
            y[flambeau.tensor([0, 2])] = w
            y[y > 5] = 0.0
            return y * y
        assert gradcheck(fn, (reals(3, 2), reals(2, 2, seed=1)))

    def test_views_taken_under_no_grad_are_constants(self):
        w = leaf(1.0, 2.0)
        with flambeau.no_grad():
            v = w[0]
        y = v * w
        y.sum().backward()
        assert w.grad.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("names", [["v"], ["t", "v"], ["v", "t"], ["w", "t", "v", "v"]])
def test_stale_views_in_passes_with_named_inputs(names):
    x = reals(3)
    t = x * 1
    v = t[1:]
    w = v[1:]
    t.mul_(2)
    tensors = {"t": t, "v": v, "w": w}
    total = sum((tensors[name] * 3).sum() for name in names)
    expected = [6.0 * names.count("t"), 6.0 * (names.count("t") + names.count("v")),
                6.0 * len(names)]
    given, = flambeau.autograd.grad(total, x, retain_graph=True)
    assert given.tolist() == expected
    total.backward()
    assert x.grad.tolist() == expected


def test_view_methods_in_place_work_after_detach_():
    y = flambeau.ones(3, requires_grad=True) * 2
    y.detach_()
    y.unsqueeze_(0)
    assert y.shape == (1, 3)
    assert not y.requires_grad


def test_a_view_forgets_what_its_detached_base_was_before_a_write():
    x = flambeau.tensor([1.0, 2.0], requires_grad=True)
    base = x * 1
    view = base.view(-1)
    base.detach_()
    (untouched,) = flambeau.autograd.grad((view * 3).sum(), x)
    assert untouched.tolist() == [3, 3]
    base.copy_(flambeau.tensor([5.0, 6.0]))
    grads = flambeau.autograd.grad((view * 3 + x).sum(), x)
    assert grads[0].tolist() == [1, 1]


@pytest.mark.parametrize("create_graph", [False, True])
def test_an_input_that_was_detached_in_place_is_refused(create_graph):
    x = flambeau.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    z = (y * y).sum()
    y.detach_()
    with pytest.raises(RuntimeError, match=r"detached in-place.*y = y.detach\(\)"):
        flambeau.autograd.grad(z, x, create_graph=create_graph)


def test_a_result_may_be_detached_in_place():
    x = flambeau.tensor([0.0, 0.0], requires_grad=True)
    y = (x * 1).exp()
    z = (y * 3).sum()
    y.detach_()
    z.backward()
    assert x.grad.tolist() == [3, 3]


def test_second_order_through_what_was_made_after_detach_():
    h = flambeau.tensor([1.0, 2.0], requires_grad=True) * 2
    h.detach_()
    w = flambeau.tensor([3.0, 4.0], requires_grad=True)
    (first,) = flambeau.autograd.grad((h * w * w).sum(), w, create_graph=True)
    (second,) = flambeau.autograd.grad(first.sum(), w)
    assert second.tolist() == [4, 8]


class TestMaskedWritesToViews:
    """masked_fill_() is where(), whose last input is the tensor written to."""

    @pytest.mark.parametrize("write", [
        lambda x, mask, value: x.masked_fill_(mask, value),
        lambda x, mask, value: x.__setitem__(mask, value)])
    def test_a_value_that_requires_grad(self, write):
        x, value = leaf(0.0, 1, 2, 3, 4, 5), leaf(3.0)
        y = x.clone()
        write(y[1:4], flambeau.tensor([True, False, True]), value.sum())
        (y * y).sum().backward()
        assert y.tolist() == [0, 3, 2, 3, 4, 5]
        assert x.grad.tolist() == [0, 0, 4, 0, 8, 10]
        assert value.grad.tolist() == [12]

    def test_a_number(self):
        x = leaf(0.0, 1, 2, 3)
        y = x.clone()
        y[1:3].masked_fill_(flambeau.tensor([True, False]), 7)
        (y * y).sum().backward()
        assert x.grad.tolist() == [0, 0, 4, 6]

    def test_a_view_of_what_has_no_gradient(self):
        y, value = flambeau.zeros(4), leaf(3.0)
        y[1:3].masked_fill_(flambeau.tensor([True, False]), value.sum())
        (y * y).sum().backward()
        assert value.grad.tolist() == [6]


def test_a_product_added_in_place_saves_what_its_target_held():
    grads = []
    for in_place in (False, True):
        x = flambeau.tensor([[1.0, 2.0], [3.0, -1.0]], requires_grad=True)
        y = x * 2
        y = y.addmm_(y, y, beta=0.5) if in_place else y.addmm(y, y, beta=0.5)
        (y * y).sum().backward()
        grads.append(x.grad.tolist())
    assert grads[0] == grads[1]
