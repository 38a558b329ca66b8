"""Private names that libraries import through the alias."""
from __future__ import annotations

import pytest
from test_alias import lines

from flambeau import rooms


def test_private_names_that_libraries_import():
    pytest.importorskip("flambeau.jit", reason="needs flambeau-jit")
    assert lines("""
        from torch._C import _log_api_usage_once
        from torch.jit import _overload, _script_if_tracing
        from torch.onnx.symbolic_helper import parse_args
        from torch.serialization import MAP_LOCATION
        import torch
        print(_log_api_usage_once("x"), _script_if_tracing(len) is len, _overload(len) is len)
        print(parse_args("v", "i")(len) is len, torch._C._get_tracing_state())
        keys = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU)
        keys = keys | torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCUDA)
        with torch._C._ExcludeDispatchKeyGuard(keys):
            print(keys.has(torch._C.DispatchKey.AutocastCPU), keys.has(torch._C.DispatchKey.CPU))
    """) == ["None True True", "True None", "True False"]


def test_operators_of_libraries_have_kernels_for_autocast():
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    assert lines("""
        import torch
        library = torch.library.Library("mine", "DEF")
        library.define("twice(Tensor x) -> Tensor")
        library.impl("twice", lambda x: x * 2, "CompositeImplicitAutograd")
        keys = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU)

        def cast(x):
            with torch._C._ExcludeDispatchKeyGuard(keys):
                return torch.ops.mine.twice(x.double())

        library.impl("twice", cast, "AutocastCPU")
        print(torch.ops.mine.twice(torch.ones(1)).dtype)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            print(torch.ops.mine.twice(torch.ones(1)).dtype)
    """) == ["torch.float32", "torch.float64"]


def test_private_operators():
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    assert lines("""
        import torch
        x = torch.tensor([3, 1, 3])
        print([each.tolist() for each in torch._unique2(x, True, True, False)])
        print(torch._segment_reduce(x.float(), "amax", offsets=torch.tensor([0, 1, 3])).tolist())
        x = torch.tensor([[1.0, 2.0], [3.0, 0.0]], requires_grad=True)
        for function in "_softmax", "_log_softmax":
            found = getattr(torch, function)(x, 1)
            slope = getattr(torch, f"{function}_backward_data")(x.exp(), found, 1, x.dtype)
            print(torch.allclose(slope, torch.autograd.grad(found, x, x.exp())[0]))
        print(torch._safe_softmax(torch.full((2,), -torch.inf), 0).tolist())
        steps = torch.tensor([[3.0, 0.0], [0.0, -4.0]])
        print(torch.native_norm(steps).item(), torch.native_norm(steps.to_sparse(), 1).item())
        print(torch._weight_norm(torch.tensor([[3.0, 4.0]]), torch.ones(1, 1), 0).tolist())
        print(torch._int_mm(torch.full((1, 2), 100, dtype=torch.int8).clone(),
                            torch.full((2, 1), 100, dtype=torch.int8)).tolist())
    """) == ["[[1, 3], [1, 0, 1], []]", "[3.0, 3.0]", "True", "True", "[0.0, 0.0]",
             "5.0 7.0", "[[0.6000000238418579, 0.800000011920929]]", "[[20000]]"]


def test_old_names_of_sparse_tensors():
    assert lines("""
        import torch, warnings
        warnings.simplefilter("ignore")
        x = torch.sparse.FloatTensor(torch.tensor([[0, 1], [1, 0]]), torch.tensor([1.0, 2.0]),
                                     torch.Size([2, 3]))
        print(x.to_dense().tolist(), x.dtype, tuple(x.shape))
        print(torch.spmm(x, torch.ones(3, 2)).tolist(), torch.sparse.LongTensor(2, 3).dtype)
        print(isinstance(x, torch.sparse.FloatTensor), isinstance(x, torch.sparse.LongTensor),
              isinstance(x.to_dense(), torch.sparse.FloatTensor))
    """) == ["[[0.0, 1.0, 0.0], [2.0, 0.0, 0.0]] torch.float32 (2, 3)",
             "[[1.0, 1.0], [2.0, 2.0]] torch.int64", "True False False"]


def test_names_of_types_that_are_not_made():
    assert lines("""
        import torch
        print(str(torch.complex32), torch.torch is torch, torch.legacy_contiguous_format)
        print(torch.ones(2).new_ones(size=(1, 2)).tolist())
    """) == ["torch.complex32 True torch.contiguous_format", "[[1.0, 1.0]]"]


def test_settings_of_a_compiler_that_is_not_there():
    assert lines("""
        import torch
        print(torch._C._jit_set_profiling_executor(True), torch._C._jit_set_profiling_mode(False),
              torch._C._jit_override_can_fuse_on_cpu(True))
        torch.set_printoptions(precision=2, profile="long")
        print(torch.tensor(1.2345))
    """) == ["False False False", "tensor(1.23)"]


def test_modules_that_importing_pytorch_brings():
    assert lines("""
        import urllib, torch, multiprocessing, concurrent, importlib
        print(multiprocessing.connection.Connection.__name__, urllib.request.urlopen.__name__,
              concurrent.futures.wait.__name__, importlib.metadata.version.__name__)
        print(type(multiprocessing.__spec__.loader).__name__)
        try:
            multiprocessing.nothing
        except AttributeError as error:
            print(error)
    """) == ["Connection urlopen wait version", "SourceFileLoader",
             "module 'multiprocessing' has no attribute 'nothing'"]


def test_public_names_lie_in_private_modules_too():
    pytest.importorskip("flambeau.nn", reason="needs flambeau-nn")
    assert lines("""
        import torch
        from torch._library.infer_schema import infer_schema
        from torch._C._nn import gelu
        from torch._C._VariableFunctions import addmm
        from torch._functorch.apis import vmap
        import torch.nn.functional as F
        print(infer_schema is torch.library.infer_schema, gelu is F.gelu, addmm is torch.addmm,
              vmap is torch.vmap)
    """) == ["True True True True"]


@pytest.mark.skipif(not all(map(rooms.installed, ("nn", "jit", "optim", "autograd"))),
                    reason="needs flambeau-nn")
def test_all_of_these_names_are_there():
    assert lines("""
        import importlib, torch
        from flambeau.as_torch import elsewhere
        count = 0
        for module, inside in elsewhere._homes().items():
            for name, home in inside.items():
                there = importlib.import_module(f"torch.{home}".rstrip("."))
                count += hasattr(there, name)
                assert hasattr(there, name), (home, name)
        print(count > 1000)
    """) == ["True"]


def test_operators_of_a_world_of_one_and_of_namespaces_that_are_not_there():
    pytest.importorskip("flambeau.jit", reason="needs flambeau-jit")
    assert lines("""
        import torch
        x, there = torch.ones(2), torch.ops._c10d_functional
        print(there.all_reduce(x, "sum", "0").tolist(), there.wait_tensor(x) is x)
        print({there.broadcast.default: 1, torch.ops.c10d.scatter_.default: 2}.__len__())
        try:
            torch.ops.c10d.scatter_(x)
        except NotImplementedError as error:
            print("torch.ops.c10d.scatter_" in str(error))
        print(torch.jit.wait(torch.jit.fork(lambda x: x + 1, 2)))
        from torch._prims_common import suggest_memory_format
        print(suggest_memory_format(torch.ones(1, 2, 3, 3).to(memory_format=torch.channels_last)),
              suggest_memory_format(x), torch._has_compatible_shallow_copy_type(x, x))
    """) == ["[1.0, 1.0] True", "2", "True", "3",
             "torch.channels_last torch.contiguous_format True"]


def test_names_that_a_module_imports_from_its_neighbours():
    pytest.importorskip("flambeau.nn", reason="needs flambeau-nn")
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    assert lines("""
        from torch.distributed.fsdp.fully_sharded_data_parallel import BackwardPrefetch
        from torch.distributed.checkpoint.utils import CheckpointException
        try:
            from torch.distributed.checkpoint.utils import NoSuchName
        except ImportError:
            print(issubclass(CheckpointException, Exception))
        import torch
        print(torch.distributed.ReduceOp.RedOpType.SUM is torch.distributed.ReduceOp.SUM)
    """) == ["True", "True"]


def test_kinds_of_runs_through_a_data_loader():
    pytest.importorskip("flambeau.nn", reason="needs flambeau-nn")
    assert lines("""
        import torch
        from torch.utils.data import DataLoader
        from torch.utils.data.dataloader import (_BaseDataLoaderIter, _DatasetKind,
            _MultiProcessingDataLoaderIter, _SingleProcessDataLoaderIter)
        kinds = (_BaseDataLoaderIter, _SingleProcessDataLoaderIter, _MultiProcessingDataLoaderIter)
        for workers in (0, 1):
            run = iter(DataLoader(["a", "b"], num_workers=workers))
            print(*(isinstance(run, kind) for kind in kinds), next(run))
        print(isinstance(iter([]), _BaseDataLoaderIter), _DatasetKind.Iterable)
    """) == ["True True False ['a']", "True False True ['a']", "False 1"]


def test_the_older_names_of_compile():
    pytest.importorskip("flambeau.jit", reason="needs flambeau-jit")
    pytest.importorskip("flambeau.nn", reason="needs flambeau-nn")
    assert lines("""
        import torch, torch._dynamo
        model = torch.nn.Linear(2, 2)
        for kind in torch._dynamo.OptimizedModule, torch._dynamo.eval_frame.OptimizedModule:
            print(isinstance(torch.compile(model), kind), isinstance(model, kind))

        @torch._dynamo.optimize("inductor")
        def twice(x):
            torch._dynamo.graph_break()
            return 2 * x

        print(twice(torch.ones(2)).tolist(), "inductor" in torch._dynamo.list_backends())
    """) == ["True False", "True False", "[2.0, 2.0] True"]
