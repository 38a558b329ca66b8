"""Exported programs: what they compute, take, hold and are saved as."""

import copy
import io
import zipfile

import pytest

import flambeau
from flambeau.jit.errors import ProgramError, TraceError
from flambeau.jit.scripted.functions import while_loop

nn = pytest.importorskip("flambeau.nn", reason="needs flambeau-nn")

from flambeau.export import Dim, dims, export, load, save  # noqa: E402 - needs nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.norm = nn.BatchNorm2d(4)
        self.head = nn.Linear(4 * 36, 5)

    def forward(self, x):
        return self.head(self.norm(self.conv(x)).relu().flatten(1))


class Nested(nn.Module):
    def forward(self, given, *, factor):
        a, b = given["pair"]
        return {"product": (a @ b).view(a.shape[0] * 2, -1) * factor, "rows": b.sum() + a.shape[0]}


def images(count):
    return flambeau.randn(count, 3, 8, 8)


@pytest.fixture
def exported():
    net = Net()
    return net, export(net, (images(4),), dynamic_shapes={"x": {0: Dim("batch", max=9)}})


def test_a_program_gives_the_bits_of_its_module_at_other_sizes(exported):
    net, program = exported
    module, other = program.module(), copy.deepcopy(net)
    for count in (1, 4, 9):
        x = images(count)
        assert module(x).tolist() == other(x).tolist()
    assert net.norm.running_mean.tolist() == other.norm.running_mean.tolist()
    assert net.norm.num_batches_tracked.item() == 3


def test_sizes_beyond_the_range_are_refused(exported):
    _, program = exported
    assert program.range_constraints == {"batch": (1, 9)}
    with pytest.raises(ProgramError, match="batch is 10"):
        program.module()(images(10))
    with pytest.raises(ProgramError, match="argument 0"):
        program.module()(flambeau.randn(2, 3, 9, 9))


def test_the_signature_says_what_is_what(exported):
    net, program = exported
    signature = program.graph_signature
    assert set(signature.parameters) == {name for name, _ in net.named_parameters()}
    assert set(signature.buffers) == {name for name, _ in net.named_buffers()}
    assert signature.inputs_to_parameters["p_head_bias"] == "head.bias"
    assert signature.user_inputs == ("x",) and len(signature.user_outputs) == 1
    assert program.state_dict["head.bias"] is net.head.bias
    assert "Range constraints" in str(program)


def test_programs_train(exported):
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    net, program = exported
    other, x = copy.deepcopy(net), images(3)
    program.module()(x).square().sum().backward()
    other(x).square().sum().backward()
    assert net.conv.weight.grad.tolist() == other.conv.weight.grad.tolist()


def test_nested_arguments_and_results():
    given = {"pair": (flambeau.randn(4, 6), flambeau.randn(6, 6))}
    rows = Dim("rows")
    program = export(Nested(), (given,), {"factor": flambeau.ones(1)},
                     dynamic_shapes={"given": {"pair": ({0: rows}, None)}, "factor": None})
    other = {"pair": (flambeau.randn(3, 6), flambeau.randn(6, 6))}
    found = program.module()(other, factor=flambeau.full((1,), 2.))
    wanted = Nested()(other, factor=flambeau.full((1,), 2.))
    assert found["product"].tolist() == wanted["product"].tolist()
    assert found["rows"].tolist() == wanted["rows"].tolist()


def test_files_hold_data_alone(exported, tmp_path):
    net, program = exported
    path = tmp_path / "net.pt2"
    save(program, path, extra_files={"note": "mine"})
    extra = {"note": ""}
    loaded = load(path, extra_files=extra)
    assert extra == {"note": "mine"}
    assert loaded.graph_signature == program.graph_signature
    assert loaded.graph_module.code == program.graph_module.code
    x = images(5)
    assert loaded.module()(x).tolist() == copy.deepcopy(net)(x).tolist()
    assert loaded.state_dict["head.bias"] is not net.head.bias


@pytest.mark.parametrize("damage", [
    lambda content: b"nothing", lambda content: content[:100], lambda content: _with(content, {}),
    lambda content: _with(content, {"export.json": b"[]"}),
    lambda content: _with(content, {"export.json": b'{"format": "flambeau-export", "names": [1], '
                                                   b'"state": [], "extra": {}}'}),
    lambda content: _with(content, {"program.zip": b"PK"}),
])
def test_damaged_files_are_refused(exported, damage):
    file = io.BytesIO()
    save(exported[1], file)
    with pytest.raises(ProgramError):
        load(io.BytesIO(damage(file.getvalue())))


def _with(content, changed):
    """The file with other entries, or without those that are not named."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(made, "w") as new:
        for name in old.namelist() if changed else []:
            new.writestr(name, changed.get(name, old.read(name)))
    return made.getvalue()


def test_operators_are_decomposed():
    class Product(nn.Module):
        def forward(self, x, y):
            return flambeau.mul(x, y) + 1

    program = export(Product(), (flambeau.ones(2), flambeau.ones(2)))
    made = program.run_decompositions({flambeau.mul: lambda a, b: a / (1 / b)})
    assert "mul" not in made.graph_module.code and "/" in made.graph_module.code
    assert "mul" in program.graph_module.code


def test_chains_of_elements_are_operators_in_the_graph():
    class Chain(nn.Module):
        def forward(self, x):
            return flambeau.tanh(x * 2 + 1).exp() - x

    program = export(Chain(), (flambeau.ones(3),))
    x = flambeau.randn(3)
    assert program.module()(x).tolist() == Chain()(x).tolist()
    names = [str(n.target) for n in program.graph.nodes]
    assert {"aten.mul.Tensor", "aten.tanh.default", "aten.exp.default"} <= set(names)


def test_what_cannot_be_exported_says_so():
    class Branch(nn.Module):
        def forward(self, x):
            return x if x.sum() > 0 else -x

    with pytest.raises(TraceError):
        export(Branch(), (flambeau.ones(2),))
    with pytest.raises(TypeError, match="module"):
        export(lambda x: x, (flambeau.ones(2),))
    with pytest.raises(TypeError, match="tuple"):
        export(nn.ReLU(), flambeau.ones(2))
    with pytest.raises(RuntimeError, match="module"):
        export(nn.ReLU(), (flambeau.ones(2),))(flambeau.ones(2))


def test_names_of_sizes_are_checked():
    with pytest.raises(ValueError, match="identifier"):
        Dim("not a name")
    with pytest.raises(ValueError, match="less than"):
        Dim("n", min=4, max=2)
    assert [each.__name__ for each in dims("a", "b")] == ["a", "b"]
    with pytest.raises(ValueError, match="no dimension 3"):
        export(nn.ReLU(), (flambeau.ones(2, 3),), dynamic_shapes=({3: Dim("n")},))
    with pytest.raises(TypeError, match=r"Dim\('name'\)"):
        export(nn.ReLU(), (flambeau.ones(2, 3),), dynamic_shapes=({0: "n"},))


def test_the_mode_is_part_of_the_program():
    net = Net().eval()
    module = export(net, (images(2),)).module()
    assert module.eval() is module
    with pytest.raises(ProgramError, match="eval"):
        module.train()


class Branching(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.register_buffer("shift", flambeau.tensor([1.0, 2.0, 3.0]))

    def forward(self, x):
        def inner(y):
            return flambeau.cond(y.sum() > 1, lambda y: y * 2 * y.shape[0], lambda y: y * 3, [y])

        y, z = flambeau.cond(x.sum() > 0, lambda x: (self.linear(x).sin(), x + self.shift),
                             lambda x: (x.cos(), x - self.shift), [x])
        return flambeau.cond(y.mean() > 0.1, inner, lambda y: -y, [y]) + z


def test_branches_are_modules_of_the_graph(tmp_path):
    net = Branching()
    exported = export(net, (flambeau.ones(4, 3),), dynamic_shapes={"x": {0: Dim("rows")}})
    save(exported, tmp_path / "program.pt2")
    programs = [exported, load(tmp_path / "program.pt2"), exported.run_decompositions()]
    assert exported.graph_module.true_graph_1.true_graph_0 is not None
    assert "cond(gt, true_graph_0, false_graph_0" in str(exported)
    for seed in range(20):
        flambeau.manual_seed(seed)
        x = flambeau.randn(1 + seed % 5, 3) + (1 if seed % 2 else -1) * 0.5
        wanted, *found = (f(x) for f in (net, *(each.module() for each in programs)))
        assert all(flambeau.equal(wanted, each) for each in found), seed
    x = flambeau.ones(2, 3)
    net(x).sum().backward()
    first, net.linear.weight.grad = net.linear.weight.grad, None
    exported.module()(x).sum().backward()
    assert first is not None and flambeau.equal(net.linear.weight.grad, first)


def test_loops_on_values_are_refused():
    class Loop(nn.Module):
        def forward(self, x):
            return while_loop(lambda x: x.sum() < 9, lambda x: (x * 2,), (x,))[0]

    with pytest.raises(TraceError, match="a loop on values cannot be exported"):
        export(Loop(), (flambeau.ones(3),))
