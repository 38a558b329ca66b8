"""Programs as machine code of their own: the bits of the program in Python."""

import concurrent.futures
import shutil

import numpy as np
import pytest
from machine_code import Built, arrays, assert_same_bits, needs_gcc, run_alone, traced

import flambeau
from flambeau import jit, nn
from flambeau.jit.llvm.machine import machine

F = nn.functional
pytestmark = needs_gcc


def digits():
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(128, 10), nn.LogSoftmax(1)).eval()


class Encoder(nn.Module):
    def __init__(self, width, heads, layers=2):
        super().__init__()
        self.words = nn.Embedding(50, width)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(width, heads, 4 * width, batch_first=True,
                                       activation="gelu") for _ in range(layers))
        self.norm = nn.LayerNorm(width)

    def forward(self, words, hidden):
        x = self.words(words)
        for layer in self.layers:
            x = layer(x, src_key_padding_mask=hidden)
        return self.norm(x).mean(1)


@pytest.mark.parametrize("batch", [1, 3, 16])
def test_digits(batch, tmp_path):
    assert_same_bits(digits(), [flambeau.randn(batch, 1, 8, 8)], tmp_path)


@pytest.mark.parametrize("inner", [(), (1,), (5, 7)])
@pytest.mark.parametrize("affine", [True, False])
def test_running_statistics(affine, inner, tmp_path):
    norm = (nn.BatchNorm2d if len(inner) == 2 else nn.BatchNorm1d)(6, affine=affine).eval()
    for each in norm.state_dict().values():
        if each.is_floating_point():
            each.copy_(flambeau.rand(6) * 3 + 1e-3)
    x = flambeau.randn(4, 6, *inner)
    assert_same_bits(norm, [x], tmp_path)
    assert_same_bits(nn.Sequential(norm, nn.ReLU()).eval(),
                     [x.transpose(0, 1).clone().transpose(0, 1)], tmp_path)


def test_statistics_without_variance_and_with_nan(tmp_path):
    norm = nn.BatchNorm1d(4, eps=0.0).eval()
    norm.running_var.copy_(flambeau.tensor([0.0, 1.0, float("nan"), -1.0]))
    assert_same_bits(norm, [flambeau.randn(3, 4)], tmp_path)


def test_statistics_of_the_batch_are_refused(tmp_path):
    norm = nn.BatchNorm1d(4, track_running_stats=False).eval()
    with pytest.raises(jit.ProgramError, match=r"native_batch_norm.*statistics of its batch"):
        jit.aot(traced(norm, [flambeau.randn(3, 4)]), tmp_path / "none.o")


@pytest.mark.parametrize(("width", "heads", "batch", "words"),
                         [(32, 2, 1, 16), (64, 4, 2, 7), (96, 3, 1, 70), (64, 1, 1, 3)])
def test_encoder(width, heads, batch, words, tmp_path):
    hidden = flambeau.zeros(batch, words).bool()
    hidden[:, -2:] = True
    inputs = [flambeau.randint(0, 50, (batch, words)), hidden]
    assert_same_bits(Encoder(width, heads).eval(), inputs, tmp_path)


def test_attention_without_a_mask_and_with_one_that_is_added(tmp_path):
    x, more = flambeau.randn(2, 3, 20, 16), flambeau.randn(20, 20)
    attend = F.scaled_dot_product_attention
    assert_same_bits(lambda a: attend(a, a * 2, a + 1), [x], tmp_path)
    assert_same_bits(lambda a, m: attend(a, a * 2, a + 1, m), [x, more], tmp_path)


@pytest.mark.parametrize(("m", "n", "k"), [
    (1, 1, 1), (1, 10, 128), (5, 3, 63), (16, 40, 64), (17, 33, 65), (40, 7, 100), (20, 20, 256),
    (15, 35, 257), (33, 18, 513), (3, 5, 1030), (31, 30, 1024), (40, 64, 768)])
def test_products(m, n, k, tmp_path):
    layer = nn.Linear(k, n).eval()
    assert_same_bits(layer, [flambeau.randn(m, k)], tmp_path)
    assert_same_bits(lambda a, b: a @ b, [flambeau.randn(m, k), flambeau.randn(k, n)], tmp_path)


def test_batches_of_products(tmp_path):
    a, b = flambeau.randn(2, 3, 5, 9), flambeau.randn(3, 9, 4)
    assert_same_bits(lambda a, b: a @ b, [a, b], tmp_path)


@pytest.mark.parametrize("module", [
    nn.Conv2d(4, 6, 3, 2, 1), nn.Conv2d(4, 33, 1), nn.Conv2d(4, 6, (3, 2), bias=False),
    nn.Conv2d(4, 6, 3, padding=2, dilation=2), nn.Conv2d(4, 6, 3, groups=2),
    nn.MaxPool2d(3, 2, 1), nn.MaxPool2d(2, ceil_mode=True)], ids=str)
def test_windows(module, tmp_path):
    assert_same_bits(module.eval(), [flambeau.randn(2, 4, 11, 9)], tmp_path)


def test_long_sums_of_a_convolution(tmp_path):
    assert_same_bits(nn.Conv2d(40, 5, 3, padding=1).eval(), [flambeau.randn(1, 40, 6, 6)], tmp_path)


FUNCTIONS = {
    "softmax": lambda a: a.softmax(-1), "logs": lambda a: a.log_softmax(-1),
    "norm": lambda a: F.layer_norm(a, a.shape[-1:]),
    "sums": lambda a: (a.sum(-1), a.mean(0), a.amax(1), a.mean((1, 2)), a.sum()),
    "pointwise": lambda a: (a.exp() + a.sigmoid() * 2).tanh().clamp(-0.5, 0.9),
    "chosen": lambda a: F.gelu(flambeau.where(a > 0, a, -a)) + F.silu(a),
    "views": lambda a: (a.transpose(0, 2)[1:] * 3, a[:, 0], a[:, -5:8:2] + 1, a.unsqueeze(1), a),
    "powers": lambda a: a.abs() ** 1.5 + 1 / (a.square() + 1).sqrt(),
    "twice": lambda a: (a + 1, (a + 1) * (a + 1)),
}


@pytest.mark.parametrize("size", [5, 16, 40, 300])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name, size, tmp_path):
    assert_same_bits(FUNCTIONS[name], [flambeau.randn(3, 9, size)], tmp_path)


def test_nan_and_infinity(tmp_path):
    x = flambeau.randn(2, 1, 8, 8)
    x[0, 0, 3, 3], x[1, 0, 0, 0] = float("nan"), float("inf")
    assert_same_bits(digits(), [x], tmp_path)
    rows = flambeau.randn(6, 40)
    rows[0, 1], rows[1, 2], rows[2] = float("nan"), float("inf"), float("-inf")
    assert_same_bits(lambda a: (a.softmax(-1), F.layer_norm(a, (40,)), a.amax(1)), [rows], tmp_path)


def test_memory_is_used_again(tmp_path):
    def deep(a):
        for k in range(10):
            a = (a @ a).tanh() + k
        return a

    built = assert_same_bits(deep, [flambeau.randn(32, 32)], tmp_path)
    assert built.made.arena_bytes < 5 * 32 * 32 * 4


def test_threads_have_arenas_of_their_own(tmp_path):
    program = traced(digits(), [flambeau.randn(1, 1, 8, 8)])
    built = Built(program, tmp_path)
    inputs = [flambeau.randn(1, 1, 8, 8) for _ in range(64)]
    want = [program(x).numpy() for x in inputs]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda x: built(arrays([x]), [(1, 10)])[1][0], inputs))
    assert all((a == b).all() for a, b in zip(found, want, strict=True))


def test_weights_in_a_file(tmp_path):
    layer, x = nn.Linear(30, 4).eval(), flambeau.randn(2, 30)
    built = Built(traced(layer, [x]), tmp_path, weights="file")
    text = built.made.header.read_text()
    held = np.fromfile(built.made.weights, np.uint8)
    assert f"_WEIGHTS_BYTES {held.size}" in text and "return 2" in text
    import ctypes

    ctypes.c_void_p.in_dll(built.library, f"{built.made.name}_weights").value = \
        held.ctypes.data + 64
    status, (found,) = built(arrays([x]), [(2, 4)])
    assert status == 0 and (found == layer(x).detach().numpy()).all()


def test_an_index_outside_of_a_table_is_told(tmp_path):
    table = nn.Embedding(5, 3).eval()
    built = Built(traced(table, [flambeau.tensor([[1, 2]])]), tmp_path)
    assert built([np.array([[4, 0]])], [(1, 2, 3)])[0] == 0
    for index in (5, -1, 2**40):
        assert built([np.array([[index, 0]])], [(1, 2, 3)])[0] == 1


def test_a_program_of_its_own(tmp_path):
    x = flambeau.randn(1, 1, 8, 8)
    program = traced(digits(), [x])
    found, executable = run_alone(program, x.numpy(), tmp_path, "gcc", "native")
    assert (found == program(x).numpy().ravel()).all()
    assert executable.stat().st_size > 24360


needs_cross = pytest.mark.skipif(
    not (shutil.which("aarch64-linux-gnu-gcc") and shutil.which("qemu-aarch64")),
    reason="needs the cross compiler and qemu-user")
#: Target, compiler, and what runs the result.
OTHERS = [pytest.param("aarch64", "aarch64-linux-gnu-gcc", ["qemu-aarch64"], marks=needs_cross),
          pytest.param("x86-64-v3", "gcc", [], marks=pytest.mark.skipif(
              machine().vector_bits < 256, reason="needs AVX2"))]


def places_apart(a, b):
    """How many numbers of float32 lie between two, at most."""
    def order(x):
        bits = x.astype(np.float32).view(np.int32).astype(np.int64)
        return np.where(bits < 0, -(bits & 0x7FFFFFFF), bits)

    return int(np.abs(order(a) - order(b)).max())


class Sentences(Encoder):
    def forward(self, words):
        return super().forward(words, flambeau.zeros(*words.shape).bool())


@pytest.mark.parametrize(("target", "compiler", "runner"), OTHERS)
def test_other_instructions(target, compiler, runner, tmp_path):
    """The order of sums along vectors depends on their width; nothing else differs."""
    x = flambeau.randn(3, 1, 8, 8)
    program = traced(digits(), [x])
    found, _ = run_alone(program, x.numpy(), tmp_path, compiler, target, runner)
    assert places_apart(found, program(x).numpy().ravel()) <= 2
    words = flambeau.randint(0, 50, (2, 7))
    program = traced(Sentences(64, 4).eval(), [words])
    found, _ = run_alone(program, words.numpy(), tmp_path, compiler, target, runner)
    np.testing.assert_allclose(found, program(words).numpy().ravel(), atol=2e-6, rtol=0)


@needs_cross
def test_another_processor(tmp_path):
    """No sum here runs along vectors. The core's own convolution may be Winograd's, with other
    roundings, so the code for this processor is what the bits are compared with."""
    x = flambeau.randn(3, 1, 8, 8)
    program = traced(nn.Sequential(*list(digits())[:-2]).eval(), [x])
    found, _ = run_alone(program, x.numpy(), tmp_path, "aarch64-linux-gnu-gcc", "aarch64",
                         ["qemu-aarch64"])
    here, _ = run_alone(program, x.numpy(), tmp_path, "gcc", "native")
    assert (found == here).all()
    np.testing.assert_allclose(found, program(x).numpy().ravel(), atol=2e-6, rtol=0)


def test_webassembly_is_an_object_file_without_a_c_library(tmp_path):
    """What runs it in a browser is in integration-tests/browser."""
    made = jit.aot(traced(digits(), [flambeau.randn(1, 1, 8, 8)]), tmp_path / "net.o",
                   target="wasm32")
    code = made.object.read_bytes()
    assert code[:8] == b"\0asm\1\0\0\0"
    assert not [name for name in (b"memcpy", b"memset", b"fmaf", b"expf") if name in code]
    assert made.target == "wasm32" and "cpu_supports" not in made.header.read_text()


def test_sizes_must_be_given():
    program = jit.trace(nn.Linear(3, 2).eval(), flambeau.ones(4, 3))
    for sizes, text in (({}, 'sizes={"N": 1}'), ({"N": 0}, "N=0"), ({"N": 1, "M": 2}, "M, which")):
        with pytest.raises(jit.ProgramError, match=text):
            jit.aot(program, "none.o", sizes=sizes)


def test_what_cannot_be_compiled_names_operator_and_line(tmp_path):
    x = flambeau.randn(3, 4)
    for fn in (lambda a: a.double().sort()[0], lambda a: a.double().sum(),
               lambda a: a.double().cumsum(0), lambda a: flambeau.lgamma(a)):
        with pytest.raises(jit.ProgramError, match=r"test_aot.py:\d+.*runtime"):
            jit.aot(traced(fn, [x]), tmp_path / "none.o")
    with pytest.raises(jit.ProgramError, match="training mode"):
        jit.aot(traced(nn.Sequential(nn.Linear(4, 2)), [x]), tmp_path / "none.o")


def test_wrong_arguments(tmp_path):
    program = traced(nn.Linear(4, 2).eval(), [flambeau.randn(3, 4)])
    for options, text in (({"target": "z80"}, "x86-64-v3"), ({"weights": "x"}, "embedded"),
                          ({"name": "a b"}, "name in C")):
        with pytest.raises(ValueError, match=text):
            jit.aot(program, tmp_path / "none.o", **options)
    assert not list(tmp_path.iterdir())
