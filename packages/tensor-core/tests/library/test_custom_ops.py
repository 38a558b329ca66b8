"""Operators of a program's own: `custom_op`, `Library`, schemas, `flambeau.ops`."""
import copy
import pickle
from collections.abc import Sequence

import pytest

import flambeau
from flambeau import Tensor
from flambeau.library import Library, custom_op, define, impl, infer_schema, opcheck
from flambeau.library.schemas import parse_schema


@pytest.fixture
def sine():
    np = pytest.importorskip("numpy")

    @custom_op("tests::sine", mutates_args=())
    def sine(x: Tensor) -> Tensor:
        return flambeau.from_numpy(np.sin(x.detach().numpy()))

    @sine.register_fake
    def _(x):
        return flambeau.empty_like(x)

    return sine


@pytest.fixture
def smooth_sine(sine):
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")

    def keep(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    sine.register_autograd(lambda ctx, g: g * ctx.saved_tensors[0].cos(), setup_context=keep)
    return sine


def test_values_and_fake_values(sine):
    x = flambeau.tensor([0.0, 1.0])
    assert flambeau.allclose(sine(x), x.sin())
    assert sine(x).tolist() == flambeau.ops.tests.sine(x).tolist()
    made = sine(flambeau.empty(2, 3, device="meta"))
    assert made.is_meta and made.shape == (2, 3)


def test_gradients(smooth_sine):
    x = flambeau.tensor([0.0, 1.0], requires_grad=True)
    smooth_sine(x).sum().backward()
    assert x.grad.tolist() == x.detach().cos().tolist()
    from flambeau import func
    batch = flambeau.rand(3, 2)
    assert flambeau.allclose(func.vmap(smooth_sine)(batch), batch.sin())
    slopes = func.vmap(func.grad(lambda v: smooth_sine(v).sum()))(batch)
    assert flambeau.allclose(slopes, batch.cos())
    assert set(opcheck(smooth_sine, (x,)).values()) == {"SUCCESS"}


def test_without_a_formula_backward_says_so(sine):
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    y = sine(flambeau.ones(2, requires_grad=True))
    assert y.requires_grad
    with pytest.raises(RuntimeError, match="no autograd formula was registered"):
        y.sum().backward()


def test_compiled(smooth_sine):
    pytest.importorskip("flambeau.jit", reason="needs flambeau-jit")
    compiled = flambeau.compile(lambda x: smooth_sine(x * 2) + 1)
    for n in (1.0, 2.0, 3.0, 4.0):
        x = flambeau.full((3,), n, requires_grad=True)
        y = compiled(x)
        y.sum().backward()
        assert flambeau.allclose(y, (x.detach() * 2).sin() + 1)
        assert flambeau.allclose(x.grad, (x.detach() * 2).cos() * 2)


def test_a_rule_for_batches(smooth_sine):
    from flambeau import func
    calls = []

    @smooth_sine.register_vmap
    def rule(info, in_dims, x):
        calls.append((info.batch_size, in_dims))
        return smooth_sine(x), in_dims[0]

    x = flambeau.rand(2, 3)
    assert flambeau.allclose(func.vmap(smooth_sine, in_dims=1)(x), x.T.sin())
    assert calls == [(3, (1,))]


def test_lists_keywords_and_several_results():
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")

    @custom_op("tests::scaled", mutates_args=())
    def scaled(xs: Sequence[Tensor], *, by: int = 2) -> tuple[Tensor, Tensor]:
        return xs[0] * by, xs[1] * by

    def keep(ctx, inputs, keyword_only_inputs, output):
        ctx.by = keyword_only_inputs["by"]

    scaled.register_autograd(lambda ctx, a, b: ([a * ctx.by, b * ctx.by],), setup_context=keep)
    x, y = flambeau.ones(2, requires_grad=True), flambeau.ones(2, requires_grad=True)
    a, b = scaled([x, y], by=3)
    (a + 2 * b).sum().backward()
    assert (x.grad.tolist(), y.grad.tolist()) == ([3.0, 3.0], [6.0, 6.0])
    assert [t.tolist() for t in scaled([x, y])] == [[2.0, 2.0]] * 2


def test_writes_are_counted_and_results_are_new():
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")

    @custom_op("tests::fill", mutates_args={"x"})
    def fill(x: Tensor, value: float = 1.0) -> None:
        x.numpy()[:] = value

    x = flambeau.zeros(2)
    before = x._version
    fill(x, 3.0)
    assert x.tolist() == [3.0, 3.0] and x._version > before
    with pytest.raises(RuntimeError, match="non-functional operator"):
        fill.register_autograd(lambda ctx, g: g)

    @custom_op("tests::same", mutates_args=())
    def same(x: Tensor) -> Tensor:
        return x

    with pytest.raises(RuntimeError, match="may not alias"):
        same(x)


def test_kernels_by_device(sine):
    @custom_op("tests::placed", mutates_args=(), device_types="cuda")
    def placed(x: Tensor) -> Tensor:
        return x + 1

    with pytest.raises(NotImplementedError, match="register_kernel"):
        placed(flambeau.ones(1))
    placed.register_kernel("cpu")(lambda x: x + 2)
    assert placed(flambeau.ones(1)).tolist() == [3.0]
    with placed.set_kernel_enabled("cpu", False), pytest.raises(NotImplementedError):
        placed(flambeau.ones(1))


def test_wrong_arguments(sine):
    with pytest.raises(RuntimeError, match="Expected a value of type 'Tensor'"):
        sine(3)
    with pytest.raises(RuntimeError, match="missing value for argument 'x'"):
        sine()
    with pytest.raises(RuntimeError, match="Unknown keyword argument 'y'"):
        sine(flambeau.ones(1), y=2)
    with pytest.raises(ValueError, match="namespace::name"):
        custom_op("sine", lambda x: x, mutates_args=(), schema="(Tensor x) -> Tensor")
    with pytest.raises(ValueError, match="must have a type annotation|any number"):
        custom_op("tests::bare", lambda x: x, mutates_args=())
    with pytest.raises(NotImplementedError, match="Triton"):
        flambeau.library.wrap_triton(sine)


def test_operators_for_triton_run_their_function_or_what_is_registered():
    def twice(x: flambeau.Tensor) -> flambeau.Tensor:
        return x * 2

    op = flambeau.library.triton_op("tests::twice", twice)
    op.register_fake(lambda x: flambeau.empty_like(x))
    assert op(flambeau.ones(2)).tolist() == flambeau.ops.tests.twice(flambeau.ones(2)).tolist()
    lib = Library("tests", "FRAGMENT")
    lib.impl("twice", lambda x: x * 3, "CPU")
    assert op(flambeau.ones(1)).tolist() == [3.0]
    lib._destroy()


def test_libraries_define_and_end():
    lib = Library("testlib", "FRAGMENT")
    lib.define("half(Tensor x, int n=1) -> Tensor")
    lib.impl("half", lambda x, n: x / 2 ** n, "CompositeImplicitAutograd")
    assert flambeau.ops.testlib.half(flambeau.ones(1), 2).tolist() == [0.25]
    with pytest.raises(RuntimeError, match="multiple times"):
        lib.define("half(Tensor x) -> Tensor")
    lib._destroy()
    with pytest.raises(AttributeError, match="half"):
        flambeau.ops.testlib.half  # noqa: B018
    with pytest.raises(ValueError, match="reserved"):
        Library("aten", "DEF")
    define("tests::shift", "(Tensor x) -> Tensor", lib=lib)

    @impl("tests::shift", "cpu")
    def shift(x):
        return x + 1

    assert flambeau.ops.tests.shift.default(flambeau.ones(1)).tolist() == [2.0]
    lib._destroy()


def test_a_library_that_nobody_holds_has_ended():
    for factor in (2, 3):
        lib = Library("shortlib", "DEF")
        lib.define("same(Tensor x) -> Tensor")
        lib.impl("same", lambda x: x, "CPU")
        assert flambeau.ops.shortlib.same(flambeau.ones(1)).tolist() == [1.0]

        @define(lib, "times(Tensor x) -> Tensor")
        def times(x, factor=factor):
            return x * factor

        assert flambeau.ops.shortlib.times(flambeau.ones(1)).tolist() == [factor]
        del lib
    with pytest.raises(AttributeError):
        flambeau.ops.shortlib.same  # noqa: B018
    with pytest.raises(NotImplementedError, match="not replaced"):
        Library("aten", "IMPL").impl("sum", lambda x: x, "CPU")


def test_schemas():
    def f(x: Tensor, ys: list[Tensor], n: int, s: float = 1.0, *, flag: bool = False,
          name: str | None = None, shape: Sequence[int] = (1,)) -> tuple[Tensor, Tensor]: ...

    text = infer_schema(f, mutates_args={"x"})
    assert text == ("(Tensor(a!) x, Tensor[] ys, SymInt n, float s=1.0, *, bool flag=False, "
                    "str? name=None, SymInt[] shape=(1,)) -> (Tensor, Tensor)")
    schema = parse_schema("ns::f.over(Tensor(a!) x, Tensor? y=None, *, int[] z=[1, 2]) -> ()")
    assert (schema.name, schema.overload_name, schema.is_mutable) == ("ns::f", "over", True)
    assert [a.name for a in schema.arguments if a.is_write] == ["x"]
    assert schema.arguments[2].default_value == [1, 2] and schema.returns == []
    assert str(schema) == "ns::f.over(Tensor(a!) x, Tensor? y=None, *, int[] z=[1, 2]) -> ()"
    written = parse_schema("f(Tensor x, Tensor! out, Tensor? y) -> ()").arguments
    assert [a.name for a in written if a.alias_info and a.alias_info.is_write] == ["out"]
    with pytest.raises(RuntimeError, match="schema"):
        parse_schema("nothing")


def test_operators_of_pytorch_by_name():
    aten = flambeau.ops.aten
    x = flambeau.ones(2, 2)
    assert aten.add.Tensor(x, 1).tolist() == [[2.0, 2.0]] * 2
    assert aten.mm.default(x, x).tolist() == aten.mm(x, x).tolist() == [[2.0, 2.0]] * 2
    assert aten.slice.Tensor(x, 1, 0, 1).shape == (2, 1)
    op = aten.add.Tensor
    assert (op.name(), str(op), op.__name__) == ("aten::add.Tensor", "aten.add.Tensor",
                                                 "add.Tensor")
    assert aten.mm.default.name() == "aten::mm" and op.overloadpacket is aten.add
    assert pickle.loads(pickle.dumps(op)) is op is copy.deepcopy(op) is aten.add.Tensor
    assert {op: 1}[aten.add.Tensor] == 1
    with pytest.raises(AttributeError, match="no overload name 'nothing'"):
        aten.add.nothing  # noqa: B018
    with pytest.raises(NotImplementedError, match="no counterpart"):
        aten._cudnn_rnn(x)
    with pytest.raises(AttributeError, match="no_such_op"):
        aten.no_such_op  # noqa: B018


def test_classes_see_registered_operators(sine):
    class Seen(Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return str(func)

    assert sine(flambeau.ones(1).as_subclass(Seen)) == "tests.sine.default"


@pytest.mark.oracle
def test_schemas_are_those_of_pytorch():
    torch = pytest.importorskip("torch")
    cases = ["def f(x: T, n: int = 3, s: str = 'a') -> T: ...",
             "def f(x: T | None, ys: list[T], *, b: bool = True) -> list[T]: ...",
             "def f(x: T, d: D | None = None, v: float | None = None) -> None: ...",
             "def f(x: T, n: int | float | bool) -> tuple[T, T]: ..."]
    for source in cases:
        texts = []
        for library in (torch, flambeau):
            scope = {"T": library.Tensor, "D": library.dtype}
            exec(source, scope)
            texts.append(library.library.infer_schema(scope["f"], mutates_args=()))
        assert texts[0] == texts[1]


def test_kernels_may_be_registered_before_the_definition():
    @impl("tests::early", ["CPU"])
    def _(x):
        return x + 1

    library = Library("tests", "FRAGMENT")
    library.impl("early_too", lambda x: x + 2, "CompositeExplicitAutograd")
    with pytest.raises((AttributeError, RuntimeError), match="early"):
        flambeau.ops.tests.early(flambeau.zeros(1))
    define("tests::early", "(Tensor x) -> Tensor", lib=library)
    library.define("early_too(Tensor x) -> Tensor")
    assert flambeau.ops.tests.early(flambeau.zeros(1)).item() == 1
    assert flambeau.ops.tests.early_too(flambeau.zeros(1)).item() == 2


def test_results_without_values_are_those_of_the_kernel_for_them():
    library = Library("shifts", "DEF")
    library.define("shifted(Tensor x) -> Tensor")
    library.impl("shifted", lambda x: x + x.max().item(), "CompositeImplicitAutograd")
    op, x = flambeau.ops.shifts.shifted, flambeau.tensor([1.0, 2.0])
    with pytest.raises(NotImplementedError):
        op(x.to("meta"))
    library.impl("shifted", lambda x: x.new_empty(x.shape), "Meta")
    assert op(x.to("meta")).is_meta and op(x.to("meta")).shape == (2,)
    assert op(x).tolist() == [3.0, 4.0]
