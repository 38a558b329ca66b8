"""The modules that classes, functions and modules say they are of, as in PyTorch."""
from __future__ import annotations

import importlib
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from flambeau import rooms
from flambeau.core.homes import is_own, own_module

REPOSITORY = Path(__file__).resolve().parents[4]
TABLE = REPOSITORY / "packages/tensor-core/src/flambeau/as_torch/pytorch_homes.txt"

#: Printed by PyTorch 2.13.
IN_PYTORCH = {
    "type(torch.ones(1))": "<class 'torch.Tensor'>",
    "type(torch.float32)": "<class 'torch.dtype'>",
    "type(torch.device('cpu'))": "<class 'torch.device'>",
    "torch.ones(2).shape.__class__": "<class 'torch.Size'>",
    "torch.Generator": "<class 'torch._C.Generator'>",
    "torch.max(torch.ones(1, 1), 0).__class__": "<class 'torch.return_types.max'>",
    "torch.typename(torch.ones(1))": "torch.FloatTensor",
    "torch.typename(torch.float32)": "torch.dtype",
    "torch.FloatTensor": "<class 'torch.FloatTensor'>",
    "torch.ones(1, dtype=torch.int32).type()": "torch.IntTensor",
    "type(torch.strided)": "<class 'torch.layout'>",
    "type(torch.ops.aten.add.Tensor)": "<class 'torch._ops.OpOverload'>",
    "torch.UntypedStorage": "<class 'torch.storage.UntypedStorage'>",
    "torch.einsum.__module__": "torch.functional",
    "torch.overrides.resolve_name(torch.Tensor.add)": "torch.Tensor.add",
    "torch.overrides.resolve_name(torch.linalg.norm)": "torch.linalg.norm",
    "repr(torch).startswith(\"<module 'torch' from \")": "True",
    "torch.__package__": "torch",
    "torch.linalg.__name__": "torch.linalg",
}
IN_OTHER_ROOMS = {
    "nn": {"torch.nn.Linear": "<class 'torch.nn.modules.linear.Linear'>",
           "torch.nn.CrossEntropyLoss": "<class 'torch.nn.modules.loss.CrossEntropyLoss'>",
           "torch.typename(torch.nn.Linear(1, 1))": "torch.nn.modules.linear.Linear",
           "type(torch.nn.Parameter(torch.ones(1)))": "<class 'torch.nn.parameter.Parameter'>",
           "torch.nn.functional.cross_entropy.__module__": "torch.nn.functional",
           "torch.distributions.Normal": "<class 'torch.distributions.normal.Normal'>",
           "torch.utils.data.DataLoader": "<class 'torch.utils.data.dataloader.DataLoader'>"},
    "optim": {"torch.optim.Adam": "<class 'torch.optim.adam.Adam'>",
              "torch.optim.lr_scheduler.StepLR": "<class 'torch.optim.lr_scheduler.StepLR'>"},
    "autograd": {
        "torch.no_grad": "<class 'torch.autograd.grad_mode.no_grad'>",
        "torch.autograd.Function": "<class 'torch.autograd.function.Function'>",
        "type((torch.ones(1, requires_grad=True) + 1).grad_fn)": "<class 'AddBackward0'>"},
    "fx": {"torch.fx.Node": "<class 'torch.fx.node.Node'>",
           "torch.fx.GraphModule": "<class 'torch.fx.graph_module.GraphModule'>"},
}


def lines(code):
    """What a program prints that is run under the alias."""
    done = subprocess.run([sys.executable, "-m", "flambeau.as_torch", "-c", textwrap.dedent(code)],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def installed():
    """The rooms that can be asked here, in the order of the table."""
    return [room for room in IN_OTHER_ROOMS if rooms.installed(room)
            and rooms.installed(rooms.ALSO_NEEDED.get(room, room))]


def test_names_are_those_of_pytorch():
    wanted = dict(IN_PYTORCH)
    for room in installed():
        wanted |= IN_OTHER_ROOMS[room]
    imports = "".join(f"import torch.{room}\n" for room in ("linalg", "overrides", *installed()))
    if "nn" in installed():
        imports += "import torch.utils.data, torch.distributions\n"
    program = f"import torch\n{imports}for each in {list(wanted)!r}:\n    print(eval(each))"
    assert dict(zip(wanted, lines(program), strict=True)) == wanted


def test_what_is_shown_is_found_there():
    """A pickle names a class by its module: that must give the same class."""
    imports = "".join(f"import torch.{room}\n" for room in installed())
    assert lines(f"import torch, torch.linalg, torch.library, torch.return_types\n{imports}" + """
import importlib
from flambeau.core import homes
bad = []
for thing in list(homes.defined):
    if isinstance(thing, type) and "." not in thing.__qualname__:
        found = getattr(importlib.import_module(thing.__module__), thing.__name__, None)
        if found is not thing and thing.__name__ != "RemovableHandle":     # is never pickled
            bad.append(f"{thing.__module__}.{thing.__name__}")
print(len(homes.defined) > 100, sorted(bad))
""") == ["True []"]


def test_pickles_name_modules_of_pytorch():
    assert lines("""
        import pickle, torch, torch.storage
        for thing in (torch.Tensor, torch.Size, torch.finfo, torch.Generator, torch.layout):
            data = pickle.dumps(thing)
            print(b"flambeau" in data, pickle.loads(data) is thing)
        x = pickle.loads(pickle.dumps({"x": torch.ones(2), "d": torch.float16}))
        print(type(x["x"]), x["d"])
    """) == ["False True"] * 5 + ["<class 'torch.Tensor'> torch.float16"]


def test_the_library_knows_its_own_under_both_names():
    assert lines("""
        import torch, torch.linalg
        from flambeau.core.homes import is_own, own_module
        class Mine(torch.Tensor):
            pass
        for thing in (torch.Tensor, torch.ones(1), torch.Size, torch.einsum, Mine, len):
            print(own_module(thing))
        print(is_own(vars(torch)), is_own(vars(torch.linalg)), is_own(globals()))
    """) == ["flambeau.core._core", "flambeau.core._core", "flambeau.core.size",
             "flambeau.core.composites.matmul.einsum", "__main__", "builtins", "True True False"]


def test_nothing_changes_without_the_alias():
    import flambeau

    assert repr(flambeau.Size) == "<class 'flambeau.core.size.Size'>"
    assert flambeau.Tensor.__module__ == own_module(flambeau.Tensor) == "flambeau.core._core"
    assert is_own(vars(flambeau))
    assert not is_own(globals())
    foreign = type("Linear", (), {"__module__": "torch.nn.modules.linear"})
    assert own_module(foreign) == "torch.nn.modules.linear"     # of PyTorch beside it


@pytest.mark.oracle
def test_table_is_that_of_pytorch():
    importlib.import_module("torch")
    done = subprocess.run([sys.executable, REPOSITORY / "tools/pytorch_homes.py"],
                          capture_output=True, text=True, check=True)
    made = [line for line in done.stdout.splitlines() if "install" not in line]
    assert sorted(made) == sorted(TABLE.read_text().splitlines())


@pytest.mark.skipif(not rooms.installed("nn"), reason="needs flambeau-nn")
def test_annotations_of_subclasses_can_be_resolved():
    assert lines("""
        import typing, torch
        class Net(torch.nn.Module):
            weight: torch.Tensor
        print(typing.get_type_hints(Net)["weight"])
    """) == ["<class 'torch.Tensor'>"]


def test_nodes_of_own_functions_are_those_of_the_module_of_functions():
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    assert lines("""
        import torch
        class Twice(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2
            @staticmethod
            def backward(ctx, grad):
                return grad * 2
        y = Twice.apply(torch.ones(1, requires_grad=True))
        print(str(y.grad_fn)[:45], y)
        print(str((y + 1).grad_fn)[:20], type((y + 1).grad_fn).__module__)
    """) == ["<torch.autograd.function.TwiceBackward object  "[:45]
             + " tensor([2.], grad_fn=<TwiceBackward>)", "<AddBackward0 object builtins"]
