"""Programs that write to buffers, ahead of time: state that lives from run to run."""

import ctypes
import itertools

import numpy as np
import pytest
from machine_code import Built, arrays, needs_gcc

import flambeau
from flambeau import jit, nn

pytestmark = needs_gcc


class Recurrent(nn.Module):
    """An LSTM cell whose state lies in buffers, and a count of steps."""

    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(5, 4)
        self.register_buffer("h", flambeau.randn(2, 4))
        self.register_buffer("c", flambeau.randn(2, 4))
        self.register_buffer("steps", flambeau.zeros(1, dtype=flambeau.int64))

    def forward(self, x):
        h, c = self.cell(x, (self.h, self.c))
        self.h.copy_(h)
        self.c.copy_(c)
        self.steps += 1
        return h * 2, self.steps.float()


class Shifted(nn.Module):
    """Parts of a buffer move within it; views of it see that."""

    def __init__(self):
        super().__init__()
        self.register_buffer("last", flambeau.randn(4, 2, 3))
        self.register_buffer("middle", self.last[1:3])      # the same memory

    def forward(self, x):
        row = self.last[2]
        self.last[1:] = self.last[:-1].clone()
        self.last[0] = x
        self.middle.mul_(0.5)
        self.last[3] = self.last[1]
        return self.last.clone(), row.t(), self.middle.sum(0), self.last


class Attending(nn.Module):
    """A query sees keys and values of the steps before: a cache that is written at a place."""

    def __init__(self, width=8, heads=2, most=6):
        super().__init__()
        self.heads = heads
        self.three = nn.Linear(width, 3 * width)
        self.register_buffer("keys", flambeau.zeros(1, heads, most, width // heads))
        self.register_buffer("values", flambeau.zeros(1, heads, most, width // heads))
        self.register_buffer("places", flambeau.arange(most))

    def forward(self, x, at):
        q, k, v = (each.reshape(1, 1, self.heads, -1).transpose(1, 2)
                   for each in self.three(x).chunk(3, -1))
        self.keys.index_copy_(2, at, k)
        self.values[:, :, at] = v
        seen = (self.places <= at).reshape(1, 1, 1, -1)
        y = nn.functional.scaled_dot_product_attention(q, self.keys, self.values, attn_mask=seen)
        return y.transpose(1, 2).reshape(1, -1)


class OwnConstant(nn.Module):
    """A tensor of Python numbers begins anew in each run; what the program made does, too."""

    def __init__(self):
        super().__init__()
        self.register_buffer("total", flambeau.zeros(3))

    def forward(self, x):
        begun = flambeau.tensor([1.0, 2.0, 3.0])
        begun += x
        made = x * 2
        made[1:].add_(begun[:2])
        self.total += made
        self.total.clamp_(max=20)
        return begun, made, self.total.exp()


def steps_of(name):
    if name is Attending:
        return [(flambeau.randn(1, 8), flambeau.tensor([k])) for k in range(6)]
    shape = {Recurrent: (2, 5), Shifted: (2, 3), OwnConstant: (3,)}[name]
    return [(flambeau.randn(*shape),) for _ in range(4)]


def run(built, inputs, shapes, state):
    results = [np.full(shape, 7, np.float32) for shape in shapes]
    arena = np.full(built.made.arena_bytes, 0xFF, np.uint8)
    given = [*inputs, *results, state, arena]
    assert built.function(*(ctypes.c_void_p(each.ctypes.data) for each in given)) == 0
    return results


@pytest.mark.parametrize("name", [Recurrent, Shifted, Attending, OwnConstant])
def test_state_is_that_of_python(name, tmp_path):
    flambeau.manual_seed(1)
    model, steps = name().eval(), steps_of(name)
    with flambeau.no_grad():
        program = jit.trace(model, steps[0], dynamic=False)
        built = Built(program, tmp_path)
        states = [np.full(built.made.state_bytes, 0xFF, np.uint8) for _ in range(2)]
        for state in states:
            built.library[f"{built.made.name}_reset"](ctypes.c_void_p(state.ctypes.data))
        for inputs in steps:
            want = model(*inputs)
            want = arrays(want if isinstance(want, tuple) else (want,))
            for state in states:        # two sessions know nothing of each other
                found = run(built, arrays(inputs), [each.shape for each in want], state)
                for a, b in itertools.zip_longest(found, want):
                    tolerance = 1e-6 if name is Recurrent else 0   # compiled as what it consists of
                    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def test_the_header_and_the_report_say_how_large_the_state_is(tmp_path):
    with flambeau.no_grad():
        program = jit.trace(Recurrent().eval(), steps_of(Recurrent)[0], dynamic=False)
    made = jit.aot(program, tmp_path / "cell.o", weights="file", target="x86-64-v3")
    text = made.header.read_text()
    assert f"#define CELL_STATE_BYTES {made.state_bytes}" in text
    assert "void cell_reset(void *state);" in text
    assert "float *output_1, void *state, void *arena);" in text
    assert f"state {made.state_bytes} bytes" in str(made)


def test_writes_to_inputs_are_refused(tmp_path):
    def fn(x):
        x += 1
        return x * 2

    with pytest.raises(jit.ProgramError, match="writes to inputs"):
        jit.aot(jit.trace(fn, flambeau.ones(3), dynamic=False), tmp_path / "none.o")


def test_memory_is_written_to_through_a_transposed_view(tmp_path):
    model = nn.Module()
    model.register_buffer("b", flambeau.zeros(2, 3))

    def fn(x):
        model.b.t().copy_(x)
        return model.b + 1

    with flambeau.no_grad():
        program = jit.trace(fn, flambeau.randn(3, 2), dynamic=False)
    built = Built(program, tmp_path)
    state = np.zeros(built.made.state_bytes, np.uint8)
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    [found] = run(built, [x], [(2, 3)], state)
    np.testing.assert_array_equal(found, x.T + 1)


def noisy(x):
    kept = nn.functional.dropout(x, 0.3, True) + flambeau.randn(*x.shape) * 0.5
    return kept, flambeau.rand_like(x), x.clone().uniform_(-3, 7), x.clone().normal_(2, 0.25)


def chosen(x):
    return (flambeau.randint(0, 9, (5, 3)).float() + flambeau.randint(-7, 2**31, (7,))[:3].float(),
            flambeau.rand(1) * x, nn.functional.dropout(x, 1.0, True))


@pytest.mark.parametrize(("fn", "shape"), [(noisy, (4, 9)), (noisy, (1, 1)), (noisy, (3, 130)),
                                           (chosen, (2, 3))])
def test_random_numbers_are_those_of_python(fn, shape, tmp_path):
    x = flambeau.randn(*shape)
    program = jit.trace(fn, x, dynamic=False)
    built = Built(program, tmp_path)
    state = np.full(built.made.state_bytes, 0xFF, np.uint8)
    pointer = ctypes.c_void_p(state.ctypes.data)
    built.library[f"{built.made.name}_reset"](pointer)
    assert state[:16].view(np.uint64).tolist() == [flambeau.Generator().initial_seed(), 0]
    for seed in (flambeau.Generator().initial_seed(), 2**63 + 12345):
        flambeau.manual_seed(seed)
        built.library[f"{built.made.name}_seed"](pointer, ctypes.c_uint64(seed))
        for _ in range(2):
            want = arrays(program(x))
            found = run(built, arrays([x]), [each.shape for each in want], state)
            for a, b in zip(found, want, strict=True):
                np.testing.assert_array_equal(a.view(np.int32), b.view(np.int32))
    assert f"void {built.made.name}_seed(void *state" in built.made.header.read_text()


def test_numbers_of_a_generator_are_refused(tmp_path):
    own = flambeau.Generator()
    program = jit.trace(lambda x: x + flambeau.rand(3, generator=own), flambeau.ones(3),
                        dynamic=False)
    with pytest.raises(jit.ProgramError, match="generator of its own"):
        jit.aot(program, tmp_path / "none.o")
