"""What ``jit.script`` records of Python's control flow, and what it refuses."""

import copy
import io
import pickle
import threading

import pytest

import flambeau as fl
from flambeau import jit
from flambeau.jit import bridge

X = fl.tensor([1.0, 2.0, 3.0])


def agree(function, *cases):
    """A program of the first case gives what the function gives, for all of them."""
    scripted = jit.script(function)
    scripted(*cases[0])
    program = scripted.program()
    for case in cases:
        wanted, found = function(*case), program(*case)
        assert bridge.same_bits(wanted, found)
    return program


def ops(graph):
    return [node.op for node in graph.nodes]


def test_each_run_decides():
    def f(x):
        if x.sum() > 0:
            y = x * 2
        elif x.max() < -5:
            y = x.exp()
        else:
            y = -x
        return y + 1

    program = agree(f, (X,), (-X,), (-X - 9,), (fl.ones(7),))
    assert ops(program.graph) == ["sum", "gt", "branch", "add"]
    assert "  then (%0: float32[N])" in str(program.graph)


def test_returns_in_branches_and_loops():
    def f(x):
        if x.sum() > 10:
            return x
        for i in range(10):
            x = x + i
            if x.max() > 20:
                return x * 100
            if x.min() > 7:
                continue
            x = x - 0.5
        return x

    agree(f, (X,), (X * 10,), (X - 40,))


def test_loops_over_numbers_of_tensors():
    def f(x, n):
        total = x.new_zeros(())
        for i in range(1, n, 2):
            if i == 3:
                continue
            if total > 50:
                break
            total = total + x.sum() * i
        return total

    agree(f, (X, fl.tensor(5)), (X, fl.tensor(0)), (X * 7, fl.tensor(9)))


def test_numbers_of_loops_are_indices():
    def f(x, n):
        total = x[0] * 0
        for i in range(n):
            total = total + x[i] * x[-i - 1] + x[:, i].sum()
        return total

    square = fl.arange(9.0).reshape(3, 3)
    agree(f, (square, fl.tensor(3)), (square, fl.tensor(1)), (-square, fl.tensor(2)))

    def writes(x, n):
        for i in range(n):
            x[i].add_(1)
        return x

    with pytest.raises(jit.TraceError, match="writes in a branch"):
        jit.script(writes, example_inputs=[(square, fl.tensor(3))])


def test_conditions_stop_where_python_stops():
    table = fl.arange(4)

    def f(x, i):
        known = 0 <= i < 4 and table.take(i) > 1 or not x.sum() > 0
        return x if known else -x

    agree(f, (X, fl.tensor(2)), (X, fl.tensor(9)), (-X, fl.tensor(9)), (X, fl.tensor(0)))


def test_numbers_that_values_change_are_tensors():
    def f(x):
        steps, found = 0, False
        while x.sum() < 100:
            x = x * 2
            steps += 1
            if steps > 3:
                found = True
        return x * 0.5 if found else x + steps

    agree(f, (X,), (X * 100,), (X * 0.01,))


def test_long_programs_are_looked_through():
    class Half:
        factor = None

        def __call__(self, x):
            found = x * 0.001
            if self.factor is not None:
                x = x * self.factor
            found += x
            return found

    layers = [Half() for _ in range(600)]

    def f(x):
        for layer in layers:
            x = layer(x)
        return x if x.sum() > 0 else -x

    agree(f, (X,), (-X,))


def test_called_functions_and_closures_are_read_too():
    scale = fl.tensor(2.0)

    def inner(x):
        return x * scale if x.max() > 2 else x

    def f(x):
        pairs = {"one": (x, [inner(x)])}
        if x.sum() > 0:
            pairs = {"one": (x + 1, [inner(x) * 2])}
        return pairs["one"][0] + pairs["one"][1][0]

    program = agree(f, (X,), (-X,), (X * 0.1,))
    scale.fill_(5)
    assert bridge.same_bits(program(X), f(X))


def test_a_program_can_be_differentiated():
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    def f(x):
        while x.norm() > 1:
            x = x / 2 if x.max() > 2 else x * 0.75
        return (x * x).sum()

    program = jit.script(f, example_inputs=[(X.clone().requires_grad_(),)])
    for start in (X, -X, X * 50, X * 0.01):
        one, other = start.clone().requires_grad_(), start.clone().requires_grad_()
        f(one).backward()
        program(other).backward()
        assert bridge.same_bits(one.grad, other.grad)


def test_random_numbers_are_drawn_where_a_branch_is_taken():
    def f(x):
        y = x + fl.rand(3) if x.sum() > 0 else x
        return y + fl.rand(3)

    program = jit.script(f, example_inputs=[(X,)])
    for start in (X, -X):
        fl.manual_seed(3)
        wanted = f(start)
        fl.manual_seed(3)
        assert bridge.same_bits(program(start), wanted)


def test_a_branch_that_returns_its_input_returns_that_tensor():
    program = jit.script(lambda x: x if x.sum() > 0 else -x, example_inputs=[(X,)])
    assert program(X).data_ptr() == X.data_ptr()


@pytest.mark.parametrize(("body", "what"), [
    ("y = x if x.sum() > 0 else x[:1]", "the value.*one type"),
    ("y = x if x.sum() > 0 else x.double()", "float32.*float64"),
    ("y = x if x.sum() > 0 else None", "make both tensors"),
    ("y = (x, x) if x.sum() > 0 else x", "built differently"),
    ("if x.sum() > 0:\n        z = x\n    y = z + 1", "'z' has a value only where"),
    ("y = x.clone()\n    if x.sum() > 0:\n        y.add_(1)", "writes in a branch"),
    ("y = x\n    while y.sum() < 9:\n        y *= 2", "writes in a branch or loop"),
    ("y = x\n    while x.sum() > 0:\n        y = fl.cat([y, y])\n        x = x - 1", "one type"),
    ("kept = []\n    if x.sum() > 0:\n        kept.append(x + 1)\n    y = kept[0]",
     "used outside of it"),
    ("if x.sum() > 0:\n        box.value = 1\n    y = x", "box.value is set in a branch"),
    ("if x > 0:\n        x = -x\n    y = x", r"any\(\) or all\(\)"),
    ("if x.sum() > 0:\n        fl.manual_seed(1)\n    y = x", "manual_seed"),
])
def test_what_a_program_cannot_hold(tmp_path, body, what):
    path = tmp_path / "refused.py"
    path.write_text("import flambeau as fl\nfrom types import SimpleNamespace\n"
                    f"box = SimpleNamespace()\ndef f(x):\n    {body}\n    return y\n")
    names: dict = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    with pytest.raises(jit.TraceError, match=what) as caught:
        jit.script(names["f"], example_inputs=[(X,)])
    assert "refused.py:" in str(caught.value)


def test_backward_through_a_branch_is_outside_of_programs():
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    w = fl.ones(3, requires_grad=True)

    def step(x):
        y = w * x if x.sum() > 0 else w
        y.sum().backward()
        return y

    with pytest.raises(jit.TraceError, match="backward.*branch or loop"):
        jit.script(step, example_inputs=[(X,)])


def test_what_is_not_read_keeps_its_own_control_flow():
    def numbers(x):
        if x.sum() > 0:
            yield x

    def f(x):
        return x + next(numbers(x))

    with pytest.raises(jit.TraceError, match=r"bool\(\) reads a value"):
        jit.script(f, example_inputs=[(X,)])


def test_a_source_that_is_not_known_is_named():
    names: dict = {}
    exec("def f(x):\n    return x if x.sum() > 0 else -x", names)
    with pytest.raises(jit.TraceError, match=r"bool\(\) reads a value") as caught:
        jit.script(names["f"], example_inputs=[(X,)])
    assert "the source of f() is not known" in caught.value.__notes__[0]


@jit.script
def halved(x):
    """Until the sum is small."""
    while x.sum() > 1:
        x = x / 2
    return x


def test_a_scripted_function_is_a_function():
    assert halved(X).sum() <= 1 and halved.__name__ == "halved" and "Until" in halved.__doc__
    assert pickle.loads(pickle.dumps(halved)) is halved
    assert isinstance(halved, jit.ScriptFunction) and jit.script(halved) is halved
    assert "while x.sum() > 1" in halved.code and ops(halved.graph) == ["loop"]
    assert bridge.same_bits(jit.compile(halved)(X), halved(X))
    assert bridge.same_bits(jit.trace(lambda x: halved(x) + 1, X)(X * 9), halved(X * 9) + 1)
    assert copy.deepcopy(halved)(X).shape == X.shape


def test_a_program_is_given_back_whatever_classes_are_called():
    program = halved.program((X,))
    assert jit.script(program) is program

    class Program:
        _parameters: dict = {}

        def forward(self, x):
            return x

    assert isinstance(jit.script(Program()), jit.ScriptModule)


def test_damaged_regions_are_refused(tmp_path):
    program = halved.program((X,))
    (node,) = program.graph.nodes
    node.regions = node.regions[:1]
    program.save(tmp_path / "p")
    with pytest.raises(jit.ProgramError, match="two graphs"):
        jit.load(tmp_path / "p")


def test_cond_and_while_loop():
    def f(x):
        y = fl.cond(x.sum() > 0, lambda x: x + 1, lambda x: x * 2, (x,))
        return jit.while_loop(lambda i, y: y.sum() < 9 + i, lambda i, y: (i + 1, y + 1),
                              (fl.tensor(0), y))[1]

    program = jit.trace(f, X)
    for start in (X, -X, X * 9):
        assert bridge.same_bits(program(start), f(start))
    with pytest.raises(RuntimeError, match="operands must be a tuple"):
        fl.cond(True, f, f, X)
    with pytest.raises(RuntimeError, match="gives 2 values for 1"):
        jit.while_loop(lambda x: True, lambda x: (x, x), (X,))


def test_what_a_module_calls_its_own_is_what_its_forward_means():
    nn = pytest.importorskip("flambeau.nn", reason="needs flambeau-nn")

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("graph", fl.eye(3) * 2)
            self.code = nn.Parameter(fl.ones(3))
            self.original_name = 5.0

        def _keep(self, a, b, c):
            return a + b + c

        def program(self, x, offset):
            return x + offset

        def _source(self):
            return 0.5

        def forward(self, x):
            y = self.program(x @ self.graph, self.code) * self.original_name
            return self._keep(y, y, y) + self._source()

    net = Net()
    scripted = jit.script(net)
    assert bridge.same_bits(scripted(X), net(X))
    assert bridge.same_bits(scripted.graph, net.graph)
    file = io.BytesIO()
    jit.save(scripted, file)
    file.seek(0)
    assert bridge.same_bits(jit.load(file)(-X), net(-X))
    assert jit.script(nn.Linear(3, 2)).original_name == "Linear"


def test_modes_are_those_of_the_scripted_module():
    nn = pytest.importorskip("flambeau.nn", reason="needs flambeau-nn")
    model = nn.Sequential(nn.Linear(3, 3), nn.Sequential(nn.BatchNorm1d(3), nn.Dropout()))
    scripted = jit.script(model).eval()
    assert all(part.training for part in model.modules())
    assert not any(part.training for part in scripted.modules())
    model.eval()[1].train()
    assert not any(part.training for part in scripted.modules())
    mine, its = list(scripted.state_dict(keep_vars=True).values()), list(
        model.state_dict(keep_vars=True).values())
    assert len(mine) == 7 and all(a is b for a, b in zip(mine, its, strict=True))


def test_what_cannot_be_copied_is_shared():
    nn = pytest.importorskip("flambeau.nn", reason="needs flambeau-nn")

    class Locked(nn.Module):
        def __init__(self):
            super().__init__()
            self.lock, self.names, self.inner = threading.Lock(), ["a"], nn.Dropout()
            self.shifts = [{"x": (fl.zeros(3),)}]

        def forward(self, x):
            with self.lock:
                return self.inner(x) + len(self.names) + self.shifts[0]["x"][0]

    model = Locked()
    scripted = jit.script(model)
    assert scripted.lock is model.lock and scripted.names is not model.names
    assert scripted.eval()(X).tolist() == [2.0, 3.0, 4.0] and model.inner.training
    model.shifts[0]["x"][0].fill_(1)
    assert scripted(X).tolist() == [3.0, 4.0, 5.0]


def test_tensors_that_no_program_takes_are_passed_on():
    scripted = jit.script(lambda x: x * 2)
    found = scripted(fl.eye(3).to_sparse())
    assert found.to_dense().equal(fl.eye(3) * 2) and scripted._script_example is None
    masked = fl.masked.masked_tensor(X, X > 1)
    assert scripted(masked).to_tensor(0).tolist() == [0.0, 4.0, 6.0]


def test_a_class_may_be_derived_from_script_modules():
    class Own(jit.ScriptModule):
        def forward(self, x):
            return x

    assert Own().original_name == "Own"
    copied = copy.deepcopy(Own())
    assert type(copied) is Own
