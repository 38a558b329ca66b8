"""Programs that import torch and get this library: each runs in a process of its own."""
from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

PROGRAM = [sys.executable, "-m", "flambeau.as_torch"]


def run(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def lines(code, *arguments):
    """What a program prints that is run under the alias."""
    return run([*PROGRAM, "-c", textwrap.dedent(code), *arguments]).splitlines()


def test_each_module_is_one_object_under_two_names():
    assert lines("""
        import importlib.util, pickle, sys
        import torch, torch.linalg as linalg
        from torch.fft import rfft
        import flambeau, flambeau.linalg
        print(torch is flambeau is sys.modules["torch"], linalg is flambeau.linalg)
        print(rfft is flambeau.fft.rfft, sys.modules["torch.linalg"] is torch.linalg)
        print(flambeau.linalg.__spec__.name, importlib.util.find_spec("torch.linalg") is not None)
        print(importlib.util.find_spec("torch.not_there"), hasattr(torch, "not_there"))
        print(pickle.loads(pickle.dumps(torch.float32)) is torch.float32)
    """) == ["True True", "True True", "flambeau.linalg True", "None False", "True"]


def test_versions_pass_what_programs_ask():
    assert lines("""
        import importlib.metadata, torch
        found = importlib.metadata.version("torch")
        print(found == torch.__version__ == torch.version.__version__, "+flambeau." in found)
        print(torch.__version__ >= "2.0", torch.__version__ >= (1, 13), torch.__version__ < "2.9")
        print(torch.__version__ >= "2.13", torch.__version__ == (2, 13), torch.__version__ > "10")
        print("torch" in importlib.metadata.packages_distributions()["torch"])
        from torch.torch_version import TorchVersion
        print(type(torch.__version__) is TorchVersion, TorchVersion("2.10") > "2.9")
    """) == ["True True", "True True False", "True True False", "True", "True True"]


def test_what_is_not_made_may_be_imported_and_raises_at_use():
    assert lines("""
        import abc
        import torch, torch._dynamo, torch.distributed.rpc
        from torch.package import PackageExporter, PackageImporter as Node
        from torch.nested import *
        print(isinstance(3, Node), isinstance(3, (str, Node, int)),
              Node is torch.package.PackageImporter)
        class Mine(PackageExporter, abc.ABC):
            pass
        print(issubclass(Mine, PackageExporter), issubclass(int, PackageExporter))
        for use in (Mine, torch._dynamo.export):
            try:
                use()
            except NotImplementedError as error:
                print(str(error).replace("torch.", "", 1))
        print(torch.xpu.is_available(), torch.mtia.device_count())
    """) == [
        "False True True", "True False",
        "package.PackageExporter is not part of Flambeau, which this program runs with",
        "_dynamo.export is not part of Flambeau, which this program runs with", "False 0"]


def test_marks_for_compilers_leave_functions_as_they_are():
    assert lines("""
        import torch, torch._dynamo

        @torch._dynamo.disable
        @torch._dynamo.disable()
        def double(x):
            return x * 2

        print(double(3))

        @torch.library.custom_op("mine::thrice", mutates_args=())
        def thrice(x: torch.Tensor) -> torch.Tensor:
            return x * 3

        @thrice.register_fake
        def fake(x):
            return x

        print(fake(4), torch.ops.mine.thrice(torch.ones(2)).tolist())
    """) == ["6", "4 [3.0, 3.0]"]


def test_classes_and_modes_of_programs():
    assert lines("""
        import torch
        from torch._C import DisableTorchFunctionSubclass
        from torch.overrides import TorchFunctionMode, handle_torch_function
        from torch.utils._python_dispatch import TorchDispatchMode

        class Mine(torch.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                with DisableTorchFunctionSubclass():
                    return func.__name__, type(func(*args, **(kwargs or {}))).__name__

        print(torch.ones(2).as_subclass(Mine) * 2)
        print(torch.ops.aten.mm.default)
    """) == ["('mul', 'Tensor')", "aten.mm.default"]


def test_seeds_give_the_numbers_of_pytorch():
    assert lines("""
        import torch
        _ = torch.manual_seed(0)
        print(torch.rand(2), torch.Generator().algorithm)
    """) == ["tensor([0.4963, 0.7682]) mt19937"]


def test_names_of_modules_that_are_absent_are_those_above():
    assert lines("""
        import torch
        from torch.functional import einsum
        from torch.storage import UntypedStorage
        print(einsum is torch.einsum, UntypedStorage is torch.UntypedStorage)
    """) == ["True True"]


def test_unknown_modules_and_names_are_refused_as_ever():
    assert lines("""
        import torch
        for what in ("import torch.not_there", "from torch import not_there", "torch.not_there"):
            try:
                exec(what)
            except (ImportError, AttributeError) as error:
                print(type(error).__name__)
    """) == ["ModuleNotFoundError", "ImportError", "AttributeError"]


@pytest.mark.parametrize("how", ["spawn", "forkserver", "fork"])
def test_worker_processes_have_it_too(how, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent("""
        import multiprocessing, sys

        def work(queue):
            import torch
            queue.put(torch.__version__)

        if __name__ == "__main__":
            context = multiprocessing.get_context(sys.argv[1])
            queue = context.Queue()
            child = context.Process(target=work, args=(queue,))
            child.start()
            print("flambeau" in queue.get(), sys.path[0] == sys.argv[0].rpartition("/")[0])
            child.join()
    """))
    assert run([*PROGRAM, str(program), how]) == "True True\n"


def test_other_programs_have_it_and_can_do_without(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import builtins\nbuiltins.hidden = 'seen'\n")
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1]], check=True)"
    show = "import sys; print(hidden, 'children' in ''.join(sys.path)); import torch"
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join([str(tmp_path), *sys.path]))
    child = show + "; print('flambeau' in torch.__version__)"
    printed = run([*PROGRAM, "-c", code, child], env=environment).split("\n")
    assert printed[:2] == ["seen False", "True"]
    without = "import sys; print([type(f).__name__ for f in sys.meta_path if 'as_torch' in " \
              "type(f).__module__])"
    off = code.replace("check=True", "check=True, env=dict(os.environ, FLAMBEAU_AS_TORCH='0')")
    assert run([*PROGRAM, "-c", "import os; " + off, without], env=environment) == "[]\n"


def test_modules_run_by_name(tmp_path):
    package = tmp_path / "program"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text(
        "import sys, torch; print(__name__, __spec__.name, torch.ones(2).tolist(), sys.argv[1:])")
    assert run([*PROGRAM, "-m", "program", "--x"], cwd=tmp_path) == (
        "__main__ program.__main__ [1.0, 1.0] ['--x']\n")


def test_pytorch_that_is_imported_already_is_an_error():
    code = "import sys, types; sys.modules['torch'] = types.ModuleType('torch')\n"
    done = subprocess.run([sys.executable, "-c", code + "import flambeau.as_torch"],
                          capture_output=True, text=True, check=False)
    assert "PyTorch itself is imported already" in done.stderr


def test_without_the_alias_nothing_changes():
    code = ("import flambeau, sys; print(any('as_torch' in name for name in sys.modules), "
            "'torch' in sys.modules, flambeau.__version__.startswith('2.'))")
    assert run([sys.executable, "-c", code]) == "False False False\n"


def test_files_are_those_of_pytorch(tmp_path):
    path = tmp_path / "x.pt"
    run([*PROGRAM, "-c", f"import torch; torch.save({{'a': torch.ones(2)}}, {str(path)!r}); "
                         f"assert torch.load({str(path)!r})['a'].tolist() == [1, 1]"])
    assert path.read_bytes().startswith(b"PK\3\4")


def test_programs_set_attributes_of_tensors_class():
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    assert lines("""
        import torch
        torch.Tensor.retain_grad = before = lambda self: print("mine")
        former = torch.Tensor.backward
        def backward(self):
            print("backward of", self.item())
            former(self)
        torch.Tensor.backward = backward
        torch.Tensor.double_of = lambda self: self + self
        x = torch.ones(2, requires_grad=True)
        x.sum().backward()
        x.retain_grad()
        print(x.grad.double_of().tolist(), torch.nn.Parameter(x).double_of().tolist())
    """) == ["backward of 2.0", "mine", "[2.0, 2.0] [2.0, 2.0]"]
    code = "import flambeau\ntry: flambeau.Tensor.x = 1\nexcept TypeError: print('refused')"
    assert run([sys.executable, "-c", code]) == "refused\n"


def test_programs_see_the_name_that_they_import():
    pytest.importorskip("flambeau.nn", reason="needs flambeau-nn")
    assert lines("""
        import torch, flambeau
        from torch import nn
        print(torch.__name__, flambeau is torch, nn.Linear(2, 1).weight.shape)
    """) == ["torch True torch.Size([1, 2])"]


def test_a_module_that_is_imported_may_call_what_is_not_made(tmp_path):
    (tmp_path / "library.py").write_text(textwrap.dedent("""
        import torch
        from torch.package import PackageExporter, PackageImporter
        def made():
            return PackageImporter("name")
        @PackageExporter("word")
        class Marked:
            pass
        class Below(made()):
            pass
    """))
    assert lines("""
        import sys
        sys.path.insert(0, sys.argv[1])
        import library
        for use in library.Marked, library.made, lambda: library.PackageExporter("word"):
            try:
                use()
            except NotImplementedError as error:
                print(str(error).partition(" is")[0])
    """, str(tmp_path)) == ["torch.package.PackageExporter", "torch.package.PackageImporter",
                            "torch.package.PackageExporter"]


def test_indices_of_sparse_matrices():
    assert lines("""
        import torch
        rows = torch.tensor([0, 0, 2, 3])
        starts = torch._convert_indices_from_coo_to_csr(rows, 5, out_int32=True)
        print(starts.tolist(), starts.dtype)
        print(torch._convert_indices_from_csr_to_coo(starts, rows).tolist())
    """) == ["[0, 2, 2, 3, 4, 4] torch.int32", "[[0, 0, 2, 3], [0, 0, 2, 3]]"]
