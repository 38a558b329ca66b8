"""What happens beside operators while a function is traced: repeated in each run, or refused."""

import copy
import pickle
import threading

import numpy as np
import pytest

import flambeau
from flambeau import jit

X = flambeau.ones(3, 2)
OUTER = flambeau.zeros(2)
FLAT = flambeau.zeros(6)
ARRAY = np.zeros(2, "float32")
SHARED = flambeau.from_numpy(ARRAY)


def set_data(x):
    OUTER.data = x[0]


def shows_another(x):
    OUTER.add_(x[0])
    OUTER.set_(x[0])


def resizes(x):
    OUTER.resize_(3)


def turns(x):
    x.t_()


def writes_by_numpy(x):
    y = SHARED + x
    ARRAY[0] += 1
    return y


def takes_array(x):
    return x + OUTER.numpy().sum()


def takes_address(x):
    return x + (OUTER.data_ptr() > 0)


def copies_deeply(x):
    return copy.deepcopy(x * 2)


def pickles(x):
    return pickle.loads(pickle.dumps(x))


def asks_for_seed(x):
    return x + flambeau.initial_seed()


def catches(x):
    try:
        return x[flambeau.tensor([7])]
    except IndexError:
        return x


@pytest.mark.parametrize(("fn", "words"), [
    (set_data, "other memory or another shape"), (shows_another, "other memory"),
    (resizes, "other memory"), (turns, "other memory"), (writes_by_numpy, "through NumPy"),
    (takes_array, r"numpy\(\) gives Python the memory"), (takes_address, "data_ptr"),
    (pickles, "pickling or copying"), (asks_for_seed, "initial_seed"),
    (catches, "caught inside what is traced"),
])
def test_refused(fn, words):
    before = OUTER.clone()
    with pytest.raises(jit.TraceError, match=words) as error:
        jit.trace(fn, X)
    if fn is not catches:
        line = fn.__code__.co_firstlineno
        assert any(f"{__file__}:{line + at}: " in str(error.value) for at in (1, 2)), error.value
    assert flambeau.equal(OUTER, before)


def test_other_threads_are_noticed():
    def fn(x):
        found = []
        thread = threading.Thread(target=lambda: found.append(x * 2))
        thread.start()
        thread.join()
        return found[0] + 1

    with pytest.raises(jit.TraceError):
        jit.trace(fn, flambeau.randn(3, 2), dynamic=False)


def test_what_other_threads_draw_is_theirs():
    """Neither compared with what the function draws, nor drawn a second time."""
    drawn = []

    def fn(x):
        if not jit.is_tracing():
            thread = threading.Thread(target=lambda: drawn.append(flambeau.rand(4).tolist()))
            thread.start()
            thread.join()
        return x + flambeau.rand(3, 2)

    start = flambeau.get_rng_state()
    program = jit.trace(fn, flambeau.zeros(3, 2), dynamic=False)
    after = flambeau.rand(4).tolist()
    flambeau.set_rng_state(start)
    assert [*drawn, after] == [flambeau.rand(4).tolist() for _ in range(len(drawn) + 1)]
    assert drawn
    flambeau.set_rng_state(start)
    found = program(flambeau.zeros(3, 2))
    flambeau.set_rng_state(start)
    assert flambeau.equal(found, flambeau.rand(3, 2))


def runs_alike(fn, *inputs, runs=2):
    """Trace, then compare runs on fresh inputs and the state they leave, with eager's."""
    program = jit.trace(fn, [x.clone() for x in inputs])
    for _ in range(runs):
        mine, its = [x.clone() for x in inputs], [x.clone() for x in inputs]
        state = flambeau.get_rng_state()
        wanted, after = fn(*mine), flambeau.get_rng_state()
        flambeau.set_rng_state(state)
        found = program(*its)
        assert flambeau.equal(flambeau.get_rng_state(), after)
        assert all(map(flambeau.equal, [*found, *its], [*wanted, *mine]))
    return program


def test_random_state_is_repeated():
    generator = flambeau.Generator()

    def fn(x):
        first = flambeau.rand_like(x)
        state = flambeau.get_rng_state()
        second = flambeau.rand_like(x)
        flambeau.set_rng_state(state)
        again = flambeau.rand_like(x)
        generator.manual_seed(7)
        own = flambeau.rand(2, generator=generator)
        flambeau.manual_seed(3)
        return first, second, again, own, flambeau.rand_like(x)

    program = runs_alike(fn, X)
    _, second, again, own, last = program(X)
    assert flambeau.equal(second, again)
    assert flambeau.equal(own, flambeau.rand(2, generator=flambeau.Generator().manual_seed(7)))
    flambeau.manual_seed(3)
    assert flambeau.equal(last, flambeau.rand_like(X))


def test_results_share_memory_as_in_eager():
    def fn(x):
        view = x[0]
        x.add_(1)
        y = x * 2
        return view, y, y.view(-1), x

    program = jit.trace(fn, X.clone())
    x = X.clone()
    view, y, flat, same = program(x)
    assert same is x
    assert view.tolist() == [2.0, 2.0]
    x.zero_()
    assert view.tolist() == [0.0, 0.0]
    flat.fill_(5)
    assert y.tolist() == [[5.0, 5.0]] * 3


def test_inputs_that_share_memory():
    """Nothing is copied, so that writes show wherever they show in eager."""
    def fn(x, y):
        x.add_(1)
        y.mul_(3)
        return (x + y).clone()

    program = jit.trace(fn, (X.clone(), X.clone()))
    results = []
    for run in (fn, program):
        memory = flambeau.arange(8.0)
        results.append((run(memory[:6].view(3, 2), memory[2:].view(3, 2)), memory))
    assert all(map(flambeau.equal, *results))


def test_captures_that_share_memory_are_saved_as_such(tmp_path):
    flat = flambeau.arange(6.0)
    rows, odd = flat.view(3, 2), flat.as_strided((3,), (2,), 1)

    def fn(x):
        flat.add_(1)
        rows[0] = x[0]
        return odd * 1, rows + x

    jit.trace(fn, X, dynamic=False).save(tmp_path / "p")
    program = jit.load(tmp_path / "p")
    for _ in range(2):
        assert all(map(flambeau.equal, program(X), fn(X)))


def test_constants_start_anew_in_each_run():
    def fn(x):
        count = flambeau.tensor([0.0, 0.0])
        count += x.sum(0)
        return count, flambeau.tensor([1.0])

    program = jit.trace(fn, X)
    for _ in range(2):
        count, one = program(X)
        assert count.tolist() == [3.0, 3.0]
        assert one.tolist() == [1.0]
        one.zero_()


def test_strides_are_those_of_the_recording_or_refused():
    plain = jit.trace(lambda x: x.reshape(-1) * 2, X)
    turned = flambeau.arange(6.0).view(2, 3).t()
    assert plain(turned).tolist() == [0.0, 6.0, 2.0, 8.0, 4.0, 10.0]
    for fn in (lambda x: x.reshape(-1), lambda x: x.reshape(-1).add_(1)):
        with pytest.raises(jit.ProgramError, match="contiguous"):
            jit.trace(fn, X.clone())(turned)


def test_what_was_read_outside_is_guarded():
    scale = flambeau.tensor(2.0)
    program = jit.trace(lambda x: x * scale.item(), X)
    assert flambeau.equal(program(X), X * 2)
    scale.fill_(3)
    with pytest.raises(jit.ProgramError, match="what was read here"):
        program(X)


def test_default_dtype_belongs_to_the_recording():
    program = jit.trace(lambda x: x + flambeau.zeros(2), X)
    flambeau.set_default_dtype(flambeau.float64)
    try:
        with pytest.raises(jit.ProgramError, match="float32 on cpu when"):
            program(X)
    finally:
        flambeau.set_default_dtype(flambeau.float32)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64", "bool", "complex64"])
def test_writes_by_numpy_before_memory_is_captured(dtype):
    """The function leaves what it finds, so that no run shows that it writes."""
    array = np.ones((3, 4), dtype)
    tensor, part = flambeau.from_numpy(array), flambeau.from_numpy(array[:, 1:])

    def fn(x):
        array[0] = 1
        return x * tensor.to(flambeau.bool), part

    with pytest.raises(jit.TraceError, match="written through NumPy"):
        jit.trace(fn, flambeau.ones(3, 4))
    assert (array == 1).all() and tensor._version == 0
    program = jit.trace(lambda x: (x * tensor.to(flambeau.bool), part), flambeau.ones(3, 4))
    assert (array == 1).all() and tensor._version == 0
    assert program(flambeau.ones(3, 4))[0].tolist() == [[1.0] * 4] * 3


def test_arrays_for_reading_only_are_captured():
    array = np.ones(3, "float32")
    array.flags.writeable = False
    with pytest.warns(UserWarning):
        tensor = flambeau.from_numpy(array)
    assert jit.trace(lambda x: x * tensor, flambeau.ones(3))(flambeau.ones(3)).tolist() == [1, 1, 1]


def test_results_that_are_inputs_or_captured():
    """Not a view of the same elements that was made before."""
    w = flambeau.ones(3)
    program = jit.trace(lambda x: (w.squeeze() * x, w, x.view(-1) * 1, x), flambeau.ones(3))
    given = flambeau.ones(3)
    results = program(given)
    assert results[1] is w and results[3] is given


def writes_nothing(x):
    y = x * 2
    y[3:] += 1
    return y, y[3:]


EMPTY = [
    lambda x: (x * 2)[3:],
    lambda x: flambeau.cat([(x * 2)[3:], x]),
    lambda x: flambeau.zeros(3, 2)[:, 2:].sum() + x,
    lambda x: flambeau.zeros(0, 2)[:].sum(0) + x,
    lambda x: x[flambeau.arange(5)[5:]],
    lambda x: (x * 2).narrow(0, 3, 0).t() @ x[3:],
    lambda x: ((x * 2)[1:1].detach().mean(1), x + 1),
    writes_nothing,
]


@pytest.mark.parametrize("number", range(len(EMPTY)))
def test_empty_slices_of_what_the_function_made(number, tmp_path):
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    fn = EMPTY[number]
    x = flambeau.randn(3, 2, requires_grad=True)
    jit.trace(fn, x).save(tmp_path / "a.program")
    for program in (jit.trace(fn, x, dynamic=False), jit.load(tmp_path / "a.program")):
        found, expected = program(x), fn(x)
        several = isinstance(expected, tuple)
        for one, other in zip(found if several else [found], expected if several else [expected],
                              strict=True):
            assert one.shape == other.shape
            assert one.tolist() == other.tolist()


@pytest.mark.parametrize("fn", [
    lambda x: x.as_strided((2, 2), (1, 1)) * 2, lambda x: (x * 2).as_strided((2, 2), (1, 1)),
    lambda x: x.T[:2].as_strided((2, 2), (1, 1)) + 1])
def test_replaced_strides_ask_for_tensors_in_c_order(fn):
    x = flambeau.arange(12.0).reshape(4, 3)
    program = jit.trace(fn, x)
    assert program(x).tolist() == fn(x).tolist()
    with pytest.raises(jit.ProgramError, match=r"as_strided\(\) or return views"):
        program(flambeau.arange(12.0).reshape(3, 4).T)
