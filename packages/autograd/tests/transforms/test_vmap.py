"""vmap: what it takes, what it refuses, and single samples against batches."""
import copy
import pickle
import warnings

import pytest

import flambeau
from flambeau import func
from flambeau.core import ops


def _noise(x):
    return x + flambeau.rand_like(x)


# ---- chunks --------------------------------------------------------------------------------------
@pytest.mark.parametrize("chunks", [1, 2, 3, 7])
def test_chunks_give_what_the_whole_batch_gives(chunks):
    x = flambeau.arange(10.0).reshape(2, 5)
    cut = func.chunk_vmap(flambeau.sum, in_dims=1, chunks=chunks)
    assert cut(x).tolist() == [5.0, 7.0, 9.0, 11.0, 13.0]


@pytest.mark.parametrize("transform", [
    lambda: func.vmap(_noise, randomness="same", chunk_size=2),
    lambda: func.chunk_vmap(_noise, randomness="same", chunks=3)])
def test_the_same_numbers_in_every_chunk(transform):
    rows = transform()(flambeau.zeros(5, 3)).tolist()
    assert all(row == rows[0] for row in rows)


def test_no_chunks():
    with pytest.raises(ValueError, match="chunks should be greater than 0"):
        func.chunk_vmap(_noise, chunks=0)


# ---- arguments -----------------------------------------------------------------------------------
def test_in_dims_is_no_list():
    with pytest.raises(ValueError, match="expected `in_dims` to be int or a"):
        func.vmap(flambeau.mul, [0, 0])(flambeau.ones(2), flambeau.ones(2))
    assert func.vmap(lambda z: z[0] + z[1], ([0, 0],))([flambeau.ones(2)] * 2).tolist() == [2, 2]


def test_structures_of_dims():
    pair = [flambeau.ones(2), flambeau.ones(2)]
    for dims in (((0, 0),), ([0],), ((0, 0, 0),)):
        with pytest.raises(ValueError, match="not compatible"):
            func.vmap(lambda z: z[0] + z[1], dims)(pair)
    by_name = func.vmap(lambda z: z["a"] * z["b"], ({"b": None, "a": 0},))
    assert by_name({"a": flambeau.tensor([1.0, 2.0]), "b": 3.0}).tolist() == [3.0, 6.0]


# ---- results -------------------------------------------------------------------------------------
def test_results_that_are_no_tensors():
    x = flambeau.zeros(2, 3)
    result = func.vmap(lambda x: (x + 1, "text", None), out_dims=(0, None, None))(x)
    assert result[0].tolist() == [[1.0] * 3] * 2 and result[1:] == ("text", None)
    assert func.vmap(lambda x: "text", out_dims=None)(x) == "text"
    with pytest.raises(ValueError, match="must only return Tensors"):
        func.vmap(lambda x: "text")(x)


def test_an_input_that_comes_back_is_itself():
    x = flambeau.rand(2, 3)
    assert func.vmap(flambeau.Tensor.acos_)(x) is x
    assert func.vmap(lambda x: x, in_dims=1, out_dims=1)(x) is x
    assert func.vmap(flambeau.Tensor.acos_, out_dims=1)(x)._base is x


# ---- memory --------------------------------------------------------------------------------------
@pytest.mark.parametrize("transform", [lambda f: f, func.grad], ids=["alone", "grad"])
def test_the_memory_of_a_batch_is_no_samples(transform):
    def read(x):
        return (x * x.data).sum()

    def replace(x):
        x.data = flambeau.ones(3)
        return x.sum()
    for function in (read, replace):
        with pytest.raises(RuntimeError, match=r"x\.data inside a function that is vectorized"):
            func.vmap(transform(function))(flambeau.rand(2, 3))


def test_data_of_what_all_samples_share():
    shared = flambeau.ones(3)
    assert func.vmap(lambda x: x + shared.data)(flambeau.zeros(2, 3)).tolist() == [[1.0] * 3] * 2


@pytest.mark.parametrize("function", [
    lambda x: x.as_strided([3], [1], 1), lambda x: x.as_strided([4, 1], [1, 1], 0),
    lambda x: x[:0].as_strided([1], [1])])
def test_as_strided_stays_within_the_sample(function):
    with pytest.raises(RuntimeError, match="not supported inside of vmap"):
        func.vmap(function)(flambeau.rand(2, 3))


@pytest.mark.parametrize("function", [
    lambda x: x.clone(memory_format=flambeau.channels_last),
    lambda x: x.contiguous(memory_format=flambeau.channels_last),
    lambda x: x * x.is_contiguous(memory_format=flambeau.channels_last)])
def test_memory_formats(function):
    with pytest.raises(RuntimeError, match=r"memory_format=(flambeau\.)?channels_last"):
        func.vmap(function)(flambeau.rand(2, 3, 4, 5, 6))


def test_copies_in_c_order():
    x = flambeau.rand(2, 3, 4)
    copy = func.vmap(lambda x: x.clone(memory_format=flambeau.contiguous_format), in_dims=1)(x)
    assert copy.is_contiguous() and copy.tolist() == x.movedim(1, 0).tolist()


def test_empty_tensors():
    made = func.vmap(lambda x: x.new_empty_strided([0, 2], [4, 1]))(flambeau.zeros(7))
    assert made.shape == (7, 0, 2) and made.stride() == (0, 4, 1)
    x = flambeau.rand(5, 2, 3)
    joined = func.vmap(lambda x, y: flambeau.cat([x, y], 1), (0, None))(x, flambeau.rand(0))
    assert joined.tolist() == x.tolist()


# ---- random numbers ------------------------------------------------------------------------------
def test_other_numbers_in_memory_that_all_samples_share():
    shared = flambeau.ones(2)
    for draw in (shared.uniform_, shared.normal_, shared.exponential_):
        with pytest.raises(RuntimeError, match="inplace"):
            func.vmap(lambda x, draw=draw: draw(), randomness="different")(flambeau.ones(3))
        assert shared.tolist() == [1.0, 1.0] and type(shared) is flambeau.Tensor
    rows = func.vmap(lambda x: flambeau.rand(4), randomness="different")(flambeau.ones(2)).tolist()
    assert rows[0] != rows[1]


@pytest.mark.parametrize("draw", [
    lambda: flambeau.randn(4, dtype=flambeau.complex64),
    lambda: flambeau.rand_like(flambeau.zeros(4, dtype=flambeau.complex128))])
def test_complex_numbers_for_each_sample(draw):
    one, other = func.vmap(lambda x: draw(), randomness="different")(flambeau.ones(2)).tolist()
    assert one != other and all(z.imag for z in one)


@pytest.mark.parametrize("draw", [
    lambda x: flambeau.normal(x, 1.0), lambda x: flambeau.normal(0.0, x),
    lambda x: flambeau.normal(flambeau.zeros(3), x), flambeau.bernoulli])
def test_the_same_numbers_of_other_distributions(draw):
    with pytest.raises(RuntimeError, match="different distribution for each"):
        func.vmap(draw, randomness="same")(flambeau.rand(2, 3))
    assert func.vmap(draw, randomness="different")(flambeau.rand(2, 3)).shape == (2, 3)


@pytest.mark.parametrize("algorithm", ["philox", "mt19937"])
@pytest.mark.parametrize("draw", [
    lambda x, g: x.exponential_(2.0, generator=g), lambda x, g: x.cauchy_(generator=g),
    lambda x, g: x.log_normal_(generator=g), lambda x, g: x.geometric_(0.3, generator=g),
    lambda x, g: x.normal_(generator=g), lambda x, g: x.uniform_(generator=g)])
def test_a_batch_draws_what_its_tensor_draws(draw, algorithm):
    generator = flambeau.Generator(algorithm=algorithm)
    for randomness in ("same", "different"):
        x = flambeau.zeros(3, 40)
        together = func.vmap(lambda x: draw(x, generator.manual_seed(5)), randomness=randomness)(x)
        alone = draw(x[0].clone() if randomness == "same" else x.clone(), generator.manual_seed(5))
        assert flambeau.equal(together, alone.expand(3, 40))


# ---- values --------------------------------------------------------------------------------------
def test_values_that_do_not_fit_are_refused_for_each_sample():
    x, mask = flambeau.zeros(2, 3), flambeau.ones(3).bool()
    fill = func.vmap(flambeau.masked_fill, (0, None, 0))
    with pytest.raises(RuntimeError, match="cannot be converted"):
        fill(x, mask, flambeau.tensor([1j, 2j]))
    weights = flambeau.tensor([1, -1, 1])
    with pytest.raises(RuntimeError, match="cannot be negative"):
        func.vmap(lambda x: flambeau.cov(x, fweights=weights))(x)


def test_least_squares_of_each_sample():
    A, B = flambeau.rand(3, 5, 2), flambeau.rand(3, 5, 1)
    batched = func.vmap(lambda a, b: tuple(flambeau.linalg.lstsq(a, b, driver="gelsd"))[:3])(A, B)
    for i in range(3):
        alone = tuple(flambeau.linalg.lstsq(A[i], B[i], driver="gelsd"))[:3]
        for found, expected in zip(batched, alone, strict=True):
            flambeau.testing.assert_close(found[i], expected)


# ---- views in place ------------------------------------------------------------------------------
@pytest.mark.parametrize(("change", "shape"), [
    (lambda x: x.squeeze_(), (2, 3, 4)), (lambda x: x.unsqueeze_(-1), (2, 3, 1, 4, 1)),
    (lambda x: x.transpose_(0, 2), (2, 4, 1, 3)), (lambda x: x.swapaxes_(0, 1), (2, 1, 3, 4)),
    (lambda x: x.squeeze_(1).t_(), (2, 4, 3))])
def test_views_in_place(change, shape):
    x = flambeau.rand(2, 3, 1, 4)
    whole = func.vmap(lambda x: change(x.clone()) * 2)(x)
    assert whole.shape == func.vmap(lambda x: change(x.clone()))(x).shape == shape
    assert whole[1].tolist() == (change(x[1].clone()) * 2).tolist()


# ---- rules ---------------------------------------------------------------------------------------
def test_promotion_of_three_numbers():
    a, b, c = flambeau.rand(2).double(), flambeau.rand(2), flambeau.arange(2)
    result = func.vmap(lambda a, b, c: flambeau.addcmul(a, b, c.float()))(a, b, c)
    assert result.dtype is flambeau.float64
    low = flambeau.rand(2).half()
    clamped = func.vmap(lambda x, low, high: x.clamp(low, high))(a, low, low + 1)
    assert clamped.dtype is flambeau.float64 and clamped.shape == (2,)


def test_batch_norm_of_shared_statistics():
    x, weight = flambeau.rand(4, 3), flambeau.rand(2, 3)
    mean, var = flambeau.zeros(3), flambeau.ones(3)
    norm = func.vmap(lambda w: ops.batch_norm(x, mean, var, w, None, training=True))
    result = norm(weight)
    assert result.shape == (2, 4, 3)
    flambeau.testing.assert_close(mean, x.mean(0) * 0.1)


def test_batch_norm_writes_statistics_that_a_gradient_captured():
    x, mean, var = flambeau.rand(2, 4, 3), flambeau.zeros(2, 3), flambeau.ones(2, 3)

    def slope(x, mean, var):
        def loss(x):
            return ops.batch_norm(x, mean, var, None, None, training=True).pow(3).sum()
        return func.grad(loss)(x)

    own = mean.clone(), var.clone()
    slopes = func.vmap(slope)(x, mean, var)
    for i in range(2):
        flambeau.testing.assert_close(slopes[i], slope(x[i], own[0][i], own[1][i]))
    flambeau.testing.assert_close((mean, var), own)


@pytest.mark.parametrize("shape", [(0, 6, 2), (2, 6, 0), (0, 6), (2, 6, 3)])
def test_group_norm_of_samples_without_elements(shape):
    x, weight = flambeau.rand(3, *shape), flambeau.rand(3, 6)
    slope = func.grad(lambda x, w: ops.group_norm(x, 2, w, w).pow(3).sum(), (0, 1))
    together = func.vmap(slope)(x, weight)
    for i in range(3):
        flambeau.testing.assert_close((together[0][i], together[1][i]), slope(x[i], weight[i]))


def test_probabilities_that_all_samples_share():
    x, target = flambeau.rand(4), flambeau.rand(3, 4)
    losses = func.vmap(ops.binary_cross_entropy, (None, 0))(x, target)
    flambeau.testing.assert_close(
        losses, flambeau.stack([ops.binary_cross_entropy(x, each) for each in target]))


@pytest.mark.parametrize(("in_dims", "out_dims"), [((-1, 0), 0), ((None, -1), -1), ((-1, None), 1)])
def test_kronecker_products_of_samples_in_any_order(in_dims, out_dims):
    x, y = flambeau.rand(3, 4, 5), flambeau.rand(3, 2, 3)
    samples = [t[1] if d is None else t.movedim(0, d)
               for t, d in zip((x, y), in_dims, strict=True)]
    whole = func.vmap(flambeau.kron, in_dims, out_dims)(*samples).movedim(out_dims, 0)
    expected = flambeau.kron(x[1 if in_dims[0] is None else 2], y[1 if in_dims[1] is None else 2])
    assert whole[2].tolist() == expected.tolist()


def test_indefinite_systems_of_each_sample():
    A, B = flambeau.rand(3, 4, 4), flambeau.rand(3, 4, 2)
    A = A + A.mT

    def solved(a, b):
        return flambeau.linalg.ldl_solve(*flambeau.linalg.ldl_factor(a), b)
    for dims, shared in (((0, 0), False), ((None, 0), True)):
        whole = func.vmap(solved, dims)(A[0] if shared else A, B)
        for i in range(3):
            flambeau.testing.assert_close(whole[i], solved(A[0 if shared else i], B[i]))


def test_tangents_through_masks_in_place():
    mask, x = flambeau.tensor([True, False]), flambeau.tensor([1.0, 2.0])
    moved = func.jvp(lambda x: (x * 1).masked_fill_(mask, 3.0), (x,), (x,))
    assert [t.tolist() for t in moved] == [[3.0, 2.0], [0.0, 2.0]]


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_copies_by_python_are_refused(copied):
    x = flambeau.tensor([1.0, 2.0])
    for transformed in (func.vmap(copied), lambda x: func.jvp(copied, (x,), (x,))):
        with pytest.raises(NotImplementedError, match=r"Write x\.clone\(\)"):
            transformed(x)
    assert copied(x) is not None


def test_losses_of_more_rows_than_halves_count():
    """Weights and losses of a sample's rows sum up beyond float16, as each sample's do alone."""
    x = flambeau.randn(2, 70_000, 2).half() + 3
    target = flambeau.randint(2, (2, 70_000))
    reductions = {"none": 0, "mean": 1, "sum": 2}

    def loss(x, target, reduction):
        return ops.nll_loss_rows(x, target, None, reduction)

    for reduction in reductions.values():
        together = func.vmap(loss, (0, 0, None))(x, target, reduction)
        alone = [loss(*each, reduction) for each in zip(x, target, strict=True)]
        for found, wanted in zip(together, zip(*alone, strict=True), strict=True):
            assert found.dtype == wanted[0].dtype
            flambeau.testing.assert_close(found, flambeau.stack(wanted))
    slope = func.vmap(func.grad(lambda x, t: loss(x, t, 1)[0]))(x, target)
    assert slope.dtype == flambeau.float16
    flambeau.testing.assert_close(-slope.float().sum((1, 2)), flambeau.ones(2), rtol=2e-3, atol=0)


def test_counts_of_samples():
    rows = flambeau.tensor([[1, 2, 3], [3, 1, 1]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert func.vmap(flambeau.bincount)(rows).tolist() == [[0, 1, 1, 1], [0, 2, 0, 1]]
        counts = func.vmap(lambda x: flambeau.bincount(x, minlength=5))(rows - 1)
        assert counts.tolist() == [[1, 1, 1, 0, 0], [2, 0, 1, 0, 0]]
        twice = func.vmap(func.vmap(flambeau.bincount))(flambeau.stack([rows, rows.flip(1)]))
        assert twice.tolist() == [[[0, 1, 1, 1], [0, 2, 0, 1]]] * 2
        weighed = func.vmap(flambeau.bincount, in_dims=(None, 0))(rows[0], flambeau.ones(2, 3))
        assert weighed.tolist() == [[0, 1, 1, 1]] * 2
        with pytest.raises(RuntimeError, match="results of 4 to 6 elements cannot be stacked"):
            func.vmap(flambeau.bincount)(rows + flambeau.tensor([[0], [2]]))


def test_gradients_of_unpooled_samples():
    pool = flambeau.core.functional.max_pool2d
    x, index = pool(flambeau.randn(3, 2, 4, 4), 2, return_indices=True)
    x = x.mT.contiguous().mT        # in no memory format

    def loss(x, index):
        return flambeau.core.functional.max_unpool2d(x, index, 2).square().sum()

    assert func.vmap(func.grad(loss))(x, index).tolist() == (2 * x).tolist()
