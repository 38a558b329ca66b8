"""TorchScript under the alias: scripts and traces compute what Python does, and are saved."""
from __future__ import annotations

import textwrap

import pytest
from test_alias import PROGRAM, lines, run


@pytest.fixture(autouse=True)
def _packages():
    pytest.importorskip("flambeau.jit", reason="needs flambeau-jit")
    pytest.importorskip("flambeau.nn", reason="needs flambeau-nn")


NET = """
    import copy, io, warnings
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc, self.norm, self.drop = nn.Linear(3, 2), nn.BatchNorm1d(2), nn.Dropout()

        def forward(self, x, times: int = 1):
            y = self.drop(self.norm(self.fc(x)))
            return y * times

        @torch.jit.export
        def more(self, x):
            return self.fc(x) + 1

    def again(script, **options):
        file = io.BytesIO()
        torch.jit.save(script, file)
        file.seek(0)
        return torch.jit.load(file, **options)

    x, model = torch.randn(4, 3), Net().eval()
    same = lambda f, *given, **named: torch.equal(f(*given, **named), model(*given, **named))
"""


def told(program):
    return lines(textwrap.dedent(NET) + textwrap.dedent(program))


def test_scripts_that_were_not_called_are_saved():
    assert told("""
        loaded = again(torch.jit.script(model), map_location="cpu")
        print(same(loaded, x), same(loaded, x, 3), same(loaded, x, times=2), same(loaded, x[:1]))
        print(torch.equal(loaded.more(x), model.more(x)), isinstance(loaded, nn.Module),
              isinstance(loaded, torch.jit.ScriptModule), loaded.original_name)
        print(list(loaded.state_dict()) == list(model.state_dict()), loaded.training)
        twice = again(again(torch.jit.script(model)))
        print(same(twice, x), same(copy.deepcopy(twice), x))
        loaded.fc.weight.data.zero_()
        print(loaded(x).std(0).sum().item() == 0, model(x).std(0).sum().item() == 0)
    """) == ["True True True True", "True True True Net", "True False", "True True", "True False"]


def test_modes_of_scripts_and_traces_are_their_own():
    assert told("""
        scripted, traced = torch.jit.script(model), torch.jit.trace(model, x)
        model.train()
        print(scripted.training, scripted.norm.training, traced.norm.training)
        wanted = torch.jit.script(copy.deepcopy(model).eval())(x)
        print(torch.equal(scripted(x), wanted), torch.equal(traced(x), wanted))
        traced.train()
        print(torch.equal(traced(x), wanted), traced.training, all(
            part.training for part in model.modules()))
        model.eval()
        print(same(scripted, x))
        with torch.no_grad():
            model.fc.weight.add_(1)
        print(same(scripted, x), torch.allclose(traced(x), model(x)))
    """) == ["False False False", "True True", "True True True", "True", "True True"]


def test_traces_take_what_the_example_was_not_like():
    assert told("""
        traced = torch.jit.trace(model, x, check_trace=False, strict=False)
        print(torch.allclose(traced(x), model(x)), same(traced, x=x), same(traced, x, 2),
              same(traced, x[:, :3].t().contiguous().t()))
        print(traced(torch.ones(7, 3)).shape, type(traced).__name__, traced.original_name)
        wide = torch.jit.trace(lambda a, b: a @ b, (x, x.t()), check_inputs=[(x, x.t())])
        print(wide(torch.ones(2, 5), b=torch.ones(5, 6)).shape, isinstance(
            wide, torch.jit.ScriptFunction))
        print(torch.allclose(traced.to(torch.float64)(x.double()), model(x.double())))
        several = torch.jit.trace_module(model, {"forward": x.double(), "more": x.double()})
        print(torch.equal(several.more(x.double()), model.more(x.double())))
        print(len(list(traced.parameters())), torch.jit.trace(traced, x) is traced)
    """) == ["True True True True", "torch.Size([7, 2]) TracedModule Net",
             "torch.Size([2, 6]) True", "True", "True", "4 True"]


def test_a_trace_of_a_branch_on_values_warns_and_decides_in_each_call():
    assert told("""
        def f(x):
            return x * 2 if x.sum() > 0 else x - 1
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            traced = torch.jit.trace(f, torch.ones(2))
        print([w.category is torch.jit.TracerWarning for w in seen])
        print(traced(torch.ones(2)).tolist(), traced(-torch.ones(2)).tolist())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            print(torch.jit.trace(lambda d: d[1] + d["a"], ({1: x, "a": x},))({1: 1, "a": 2}))
        try:
            traced.graph
        except Exception as error:
            print("runs as Python" in str(error))
    """) == ["[True]", "[2.0, 2.0] [-2.0, -2.0]", "3", "True"]


def test_frozen_modules_are_not_trained_along():
    assert told("""
        frozen = torch.jit.freeze(torch.jit.script(model), preserved_attrs=["more", "fc.weight"])
        fast = torch.jit.optimize_for_inference(torch.jit.trace(model, x))
        wanted, more = model(x), model.more(x)
        with torch.no_grad():
            model.fc.weight.zero_()
        print(torch.equal(frozen(x), wanted), torch.allclose(fast(x), wanted, atol=1e-5),
              torch.equal(frozen.more(x), more), frozen(x).requires_grad)
        for wrong in (model, torch.jit.script(model).train()):
            try:
                torch.jit.freeze(wrong)
            except RuntimeError as error:
                print("write" in str(error) or "eval()" in str(error))
    """) == ["True True True False", "True", "True"]


def test_modules_written_as_scripts():
    assert told("""
        class Old(torch.jit.ScriptModule):
            __constants__ = ["n"]

            def __init__(self):
                super().__init__()
                self.n, self.w = 2, nn.Parameter(torch.ones(3))

            @torch.jit.script_method
            def forward(self, x):
                return x * self.w * self.n

        old = Old()
        old.define("def twice(self, x):\\n    return self.forward(x) * 2")
        print(torch.equal(old.twice(x), x * 4), [name for name, _ in old.named_parameters()])
        print(torch.equal(again(old).twice(x), x * 4), torch.equal(copy.deepcopy(old)(x), x * 2))
        unit = torch.jit.CompilationUnit('''
            def f(x, y: int, z: Optional[Tensor] = None) -> Tensor:
                if y > 1:
                    return x * y
                return x if z is None else z
        ''')
        print(torch.equal(unit.f(x, 2), x * 2), torch.equal(unit.f(x, 1), x), unit.f.name,
              unit.find_function("g"))

        class Holds(nn.Module):
            def __init__(self):
                super().__init__()
                self.table = torch.jit.Attribute({"a": 2}, dict)

            def forward(self, x):
                return x * self.table["a"]

            @torch.jit.unused
            @property
            def size(self):
                return 3

        print(torch.equal(torch.jit.script(Holds())(x), x * 2), Holds().size)
        with torch.jit.optimized_execution(False), torch.jit.fuser("fuser1"):
            print(torch.jit.set_fusion_strategy([("STATIC", 3)]), torch.jit.onednn_fusion_enabled())
    """) == ["True ['w']", "True True", "True True f None", "True 3",
             "[('STATIC', 2), ('DYNAMIC', 10)] False"]


def test_tied_tensors_and_contents_beside_them_are_kept():
    assert told("""
        class Tied(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = nn.Linear(3, 3, bias=False), nn.Linear(3, 3, bias=False)
                self.b.weight, self.c = self.a.weight, self.a

            def forward(self, x):
                return self.b(self.a(x)) + self.c(x)

        def run(x):
            return x + 1

        file = io.BytesIO()
        torch.jit.script(Tied()).save(file, _extra_files={"note": "text", "bytes": b"1"})
        file.seek(0)
        extra = {"note": "", "bytes": "", "absent": "x"}
        loaded = torch.jit.load(file, _extra_files=extra)
        print(loaded.b.weight is loaded.a.weight, loaded.c is loaded.a, extra)
        print(type(loaded).__name__, again(torch.jit.script(run))(1))
    """) == ["True True {'note': b'text', 'bytes': b'1', 'absent': 'x'}", "Tied 2"]


WRITES = """
    import torch, parts
    from torch import nn

    class Local(nn.Module):
        def forward(self, x):
            return x + 1

    x, net = torch.ones(2, 3), parts.Net()
    script = torch.jit.script(net)
    script.save("new.pt")
    script(x)
    script.save("called.pt")
    torch.jit.trace(net, x).save("traced.pt")
    torch.jit.script(Local()).save("local.pt")
    torch.jit.save(torch.jit.trace(Local(), x), "program.pt")
    torch.save(net(x), "wanted.pt")
"""
READS = """
    import contextlib, copy, torch
    with contextlib.suppress(ImportError):
        import parts
    x, wanted = torch.ones(2, 3), torch.load("wanted.pt")
    for name in ("new", "called", "traced", "local", "program"):
        try:
            loaded = torch.jit.load(f"{name}.pt")
        except RuntimeError as error:
            print(name, "call the module" in str(error))
            continue
        found = loaded(x)
        print(name, torch.equal(found, x + 1 if name == "program" else wanted), type(
            loaded).__name__, len(list(loaded.parameters())), torch.equal(
            copy.deepcopy(loaded)(x), found))
"""
PARTS = """
    import torch

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = torch.nn.Linear(3, 2)

        def forward(self, x):
            return self.fc(x) * 2
"""


def test_classes_inside_functions_are_found_again_in_their_process():
    assert told("""
        def classes(by):
            class Part(nn.Module):
                pass

            class Whole(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.part, self.shift = Part(), torch.rand(3)

                def __getstate__(self):
                    return (3, self.training)

                def __setstate__(self, state):
                    self.training = state[1]

                def forward(self, x):
                    return x * by + self.shift

            return Whole()

        two, three = torch.jit.script(classes(2)), torch.jit.script(classes(3))
        print(torch.equal(again(two)(x), two(x)), torch.equal(again(three)(x), three(x)),
              again(two).part.training, again(two).part is again(two)._modules["part"])
    """) == ["True True True False"]


def test_files_are_read_by_other_processes(tmp_path):
    def process(program):
        return run([*PROGRAM, "-c", textwrap.dedent(program)], cwd=tmp_path).splitlines()

    parts = tmp_path / "parts.py"
    parts.write_text(textwrap.dedent(PARTS))
    process(WRITES)
    beside = ["local True", "program True LoadedModule 0 True"]
    assert process(READS) == ["new True Net 2 True", "called True Net 2 True",
                              "traced True TracedModule 2 True", *beside]
    assert process("""
        import sys, torch
        try:
            torch.jit.load("new.pt")
        except RuntimeError as error:
            print("import parts first" in str(error), "parts" in sys.modules)
    """) == ["True False"]
    programs = ["new True", "called True LoadedModule 2 True", "traced True LoadedModule 2 True",
                *beside]
    parts.write_text(textwrap.dedent(PARTS).replace("* 2", "* 3"))   # not what was saved
    assert process(READS) == programs
    parts.unlink()
    assert process(READS) == programs
    assert process("""
        import torch
        loaded = torch.jit.load("traced.pt")
        loaded.eval().train()
        with torch.no_grad():
            loaded.fc.weight.zero_(), loaded.fc.bias.fill_(1)
        print(loaded(torch.ones(1, 3)).tolist())
        try:
            loaded.double()
        except Exception as error:
            print("part of a program" in str(error))
        import flambeau.jit.programs.archive
        print(flambeau.jit.programs.archive.load("traced.pt")(torch.ones(1, 3)).shape)
    """) == ["[[2.0, 2.0]]", "True", "torch.Size([1, 2])"]


def test_files_that_are_no_scripts_are_refused(tmp_path):
    assert lines("""
        import io, pickle, sys, zipfile
        import torch
        with zipfile.ZipFile(sys.argv[1] + "/a.pt", "w") as file:
            file.writestr("net/constants.pkl", b"")
        open(sys.argv[1] + "/b.pt", "wb").write(b"no zip")
        for name in ("a.pt", "b.pt", "absent.pt"):
            try:
                torch.jit.load(f"{sys.argv[1]}/{name}")
            except (RuntimeError, ValueError) as error:
                print(type(error).__name__, "TorchScript" in str(error))
        from flambeau.as_torch.stands.scripts import archives, records
        named = {"module": "shutil", "name": "rmtree", "number": "0", "source": records._digest(
            __import__("shutil").rmtree)}
        content = io.BytesIO()
        torch.save({"function": named, "traced": False}, content)
        print(records.read(content.getvalue(), None))
    """, str(tmp_path)) == [
        "RuntimeError True", "RuntimeError False", "ValueError False",
        "(None, 'shutil.rmtree is of the standard library, with which a file could do harm')"]
