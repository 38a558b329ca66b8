"""Every module that PyTorch has can be imported under the alias, in every form."""
from __future__ import annotations

import subprocess
import sys
import textwrap
from importlib.machinery import PathFinder
from pathlib import Path

import pytest
from test_alias import PROGRAM, lines, run

import flambeau

WALK = """
import importlib, importlib.util, sys, warnings
import torch
warnings.simplefilter("ignore")
for name in sys.stdin.read().split():
    above, _, last = name.rpartition(".")
    try:
        assert importlib.util.find_spec(name) is not None
        importlib.import_module(name)
        exec(f"import {name}\\nfrom {above} import {last}\\nfrom {name} import *", {})
    except Exception as error:
        print(name, type(error).__name__, error)
"""


def modules():
    """The names of the modules in the folder of an installed PyTorch, which is not imported."""
    root = Path(next(iter(PathFinder.find_spec("torch").submodule_search_locations)))
    for path in root.rglob("*.py"):
        words = path.relative_to(root).with_suffix("").parts
        words = words[:-1] if words[-1] == "__init__" else words
        if words and words[0] not in ("test", "lib", "include", "bin", "share"):
            yield ".".join(("torch", *words))


@pytest.mark.oracle
def test_all_modules_of_pytorch_are_importable():
    pytest.importorskip("flambeau.nn", reason="needs flambeau-nn")
    pytest.importorskip("flambeau.jit", reason="needs flambeau-jit")
    found = [name for name in modules() if all(word.isidentifier() for word in name.split("."))
             and not name.endswith("__main__")]
    assert len(found) > 2000
    failed = run([*PROGRAM, "-c", WALK], input="\n".join(found)).splitlines()
    # PyTorch's asks for the package tensorboard, too.
    assert [line for line in failed if not line.startswith("torch.utils.tensorboard")] == []


def test_absent_names_say_so_in_every_form():
    assert lines("""
        import importlib, importlib.util, torch
        import torch.distributed.rpc.constants
        from torch.distributed.rpc import constants, options
        from torch.distributed.rpc.constants import *
        from torch.distributed.rpc.constants import DEFAULT_INIT_METHOD
        print(hasattr(options, "TensorPipeRpcBackendOptions"), hasattr(options, "not_there"))
        print(importlib.util.find_spec("torch.distributed.rpc.not_there"))
        print(torch.distributed.rpc.constants is constants is
              importlib.import_module("torch.distributed.rpc.constants"))
        for use in (lambda: options.TensorPipeRpcBackendOptions(),
                    lambda: getattr(torch.distributed.rpc, "init_rpc")(1),
                    lambda: list(DEFAULT_INIT_METHOD)):
            try:
                use()
            except NotImplementedError as error:
                print("not part of Flambeau" in str(error))
    """) == ["True False", "None", "True", "True", "True", "True"]


def test_parts_that_programs_ask_about():
    pytest.importorskip("flambeau.jit", reason="needs flambeau-jit")
    assert lines("""
        import torch, torch._dynamo, torch.cuda.amp, torch.distributed as dist, torch.hub
        import torch.distributed.elastic.multiprocessing.errors
        torch._dynamo.reset()
        torch._dynamo.config.suppress_errors = True
        print(torch.compile(lambda x: x + 1)(torch.ones(2)).tolist())
        print(torch.cuda.is_available(), torch.cuda.device_count(), dist.is_available(),
              dist.is_initialized(), torch.backends.cudnn.is_available())
        print(torch.hub._get_torch_home() + "/hub" == torch.hub.get_dir())
    """) == ["[2.0, 2.0]", "False 0 True False False", "True"]


def test_each_listed_name_is_found():
    table = next(path for folder in flambeau.__path__
                 for path in Path(folder).glob("as_torch/pytorch_names.txt"))
    rows = (line.partition(":") for line in table.read_text().splitlines())
    listed = [(home, name) for home, _, rest in rows if home != "private"
              for name in rest.split() if name != "*" and not name.startswith("^")]
    assert len(listed) > 3000
    program = """
        import importlib, sys, warnings
        import torch
        warnings.simplefilter("ignore")
        for line in sys.stdin:
            home, name = line.split()
            try:
                getattr(importlib.import_module(home), name)
            except Exception as error:
                print(home, name, type(error).__name__)
    """
    pytest.importorskip("flambeau.nn", reason="needs flambeau-nn")
    pytest.importorskip("flambeau.jit", reason="needs flambeau-jit")
    text = "\n".join(f"torch.{home}".rstrip(".") + f" {name}" for home, name in listed
                     if not home.startswith("utils.tensorboard"))
    assert run([*PROGRAM, "-c", textwrap.dedent(program)], input=text) == ""


def test_absent_warnings_and_errors_are_classes_of_their_kind():
    pytest.importorskip("flambeau.jit", reason="needs flambeau-jit")
    assert lines("""
        import warnings, torch
        from torch.jit import Error, TracerWarning, _get_trace_graph
        warnings.filterwarnings("ignore", category=TracerWarning)
        try:
            raise ValueError
        except Error:
            print("wrong")
        except ValueError:
            print(issubclass(TracerWarning, Warning), issubclass(Error, Exception))
        try:
            _get_trace_graph()
        except NotImplementedError:
            print("refused")
    """) == ["True True", "refused"]


def test_modules_are_run_as_programs():
    pytest.importorskip("flambeau.nn", reason="needs flambeau-nn")
    command = [sys.executable, "-m", "flambeau.as_torch", "-m", "torch.distributed.run", "--help"]
    told = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert told.returncode == 0 and told.stdout.startswith("usage: torchrun"), told.stderr


def test_a_function_stays_where_a_module_of_its_name_is_imported():
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    pytest.importorskip("flambeau.nn", reason="needs flambeau-nn")
    assert lines("""
        import torch
        from torch.autograd.gradcheck import GradcheckError
        import torch.autograd.gradcheck, torch.quantization.quantize, torch.nn.utils.weight_norm
        x = torch.ones(2, dtype=torch.double, requires_grad=True)
        print(torch.autograd.gradcheck(torch.sin, (x,)))
        print(callable(torch.quantization.quantize), callable(torch.nn.utils.weight_norm))
        from torch.quantization.quantize import prepare, convert
        torch.autograd.gradcheck = 3
        print(torch.autograd.gradcheck)
    """) == ["True", "True True", "3"]


def test_derivatives_are_compared_as_closely_as_pytorch_does():
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    program = """
        import {0}
        from {0}.autograd import Function, gradcheck, gradgradcheck
        error = 0.0
        class Square(Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x
            @staticmethod
            def backward(ctx, grad):
                return 2 * grad * ctx.saved_tensors[0] * (1 + error)
        class Cube(Square):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x ** 3
            @staticmethod
            def backward(ctx, grad):
                return 3 * grad * Square.apply(ctx.saved_tensors[0])
        x = {0}.tensor([0.5, 2.0], dtype={0}.double, requires_grad=True)
        for error in (0.0, 5e-4, 5e-3):
            print(gradcheck(Square.apply, x, raise_exception=False),
                  gradgradcheck(Cube.apply, x, raise_exception=False))
    """
    assert lines(program.format("torch")) == ["True True", "True True", "False False"]
    assert lines(program.format("flambeau")) == ["True True", "False False", "False False"]
