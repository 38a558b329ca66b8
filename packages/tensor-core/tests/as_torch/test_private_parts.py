"""Private parts of optimizers, functions and distributions that libraries take."""
from __future__ import annotations

import pytest
from test_alias import lines


def test_line_search_of_lbfgs():
    pytest.importorskip("flambeau.optim", reason="needs flambeau-optim")
    assert lines("""
        import torch
        from torch.optim.lbfgs import _strong_wolfe
        def loss(x, t, d):
            at = x + t * d
            return float(((at - 3) ** 2).sum()), 2 * (at - 3)
        x = torch.zeros(1)
        f, g = loss(x, 0.0, x)
        f, g, t, evaluations = _strong_wolfe(loss, x, 0.01, -g, f, g, -g.dot(g))
        print(f"{f:.3f} {t:.3f} {g.item():.3f} {evaluations}")
        from torch.optim.lbfgs import _cubic_interpolate
        print(_cubic_interpolate(0.0, 1.0, -2.0, 3.0, 4.0, 4.0), _cubic_interpolate(
            0.0, 1.0, -2.0, 3.0, 4.0, 4.0, bounds=(1.5, 2.0)))
    """) == ["5.760 0.100 -4.800 2", "1.0 1.5"]


def test_lists_of_tensors_as_one():
    assert lines("""
        import torch
        from torch._utils import (_element_size, _flatten_dense_tensors, _take_tensors,
                                  _unflatten_dense_tensors)
        a = [torch.arange(6.).view(2, 3), torch.ones(4), torch.zeros(2, dtype=torch.int32)]
        flat = _flatten_dense_tensors(a[:2])
        again = _unflatten_dense_tensors(flat, a[:2])
        print(flat.shape, all(map(torch.equal, a, again)), _element_size(torch.float16))
        print([[each.numel() for each in few] for few in
               _take_tensors([*a, torch.ones(30), torch.ones(2)], 40)])
    """) == ["torch.Size([10]) True 2", "[[6, 4], [30], [2], [2]]"]


def test_parts_of_functions_and_distributions():
    pytest.importorskip("flambeau.nn", reason="needs flambeau-nn")
    assert lines("""
        import torch
        from torch._higher_order_ops.associative_scan import associative_scan
        from torch._vmap_internals import _vmap
        from torch.autograd.functional import _construct_standard_basis_for
        from torch.distributions.multivariate_normal import _precision_to_scale_tril
        from torch.distributions.transforms import _clipped_sigmoid
        from torch.testing import assert_allclose
        P = torch.tensor([[2., .5, .1], [.5, 3., .2], [.1, .2, 1.]], dtype=torch.double)
        L = _precision_to_scale_tril(P)
        print(torch.allclose(L @ L.T @ P, torch.eye(3).double()), torch.equal(L, L.tril()))
        print([x.tolist() for x in _construct_standard_basis_for(
            (torch.zeros(2), torch.zeros(1)), (2, 1))])
        x, scan = torch.arange(1., 7).view(2, 3), lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1])
        print(associative_scan(lambda a, b: a * b, x, 1).tolist(),
              associative_scan(lambda a, b: a + b, x, 0, reverse=True).tolist())
        print(associative_scan(scan, (torch.full((3,), .5), torch.ones(3)), 0)[1].tolist())
        print(_vmap(lambda x: x * 2)(torch.ones(2)).tolist(),
              torch.Future is torch.futures.Future)
        print(all(0 < y < 1 for y in _clipped_sigmoid(torch.tensor([-200., 200.])).tolist()))
        assert_allclose(torch.ones(2).double(), [1., 1.])
        try:
            assert_allclose(torch.ones(2), torch.zeros(2))
        except AssertionError:
            print("differs")
    """) == ["True True", "[[[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]], [[0.0], [0.0], [1.0]]]",
             "[[1.0, 2.0, 6.0], [4.0, 20.0, 120.0]] [[5.0, 7.0, 9.0], [4.0, 5.0, 6.0]]",
             "[1.0, 1.5, 1.75]", "[2.0, 2.0] True", "True", "differs"]


def test_groups_of_processes():
    assert lines("""
        import torch, torch.distributed as dist
        from torch.distributed.distributed_c10d import _get_default_group, _pg_map
        try:
            _get_default_group()
        except ValueError as error:
            print(str(error)[:40])
        print(len(_pg_map), torch._C._get_accelerator().type in ("cpu", "cuda"))
        dist.init_process_group("gloo", rank=0, world_size=1)
        world, other = _get_default_group(), dist.new_group([0])
        print(world is dist.group.WORLD, len(_pg_map), other in _pg_map, _pg_map[other][0])
        dist.destroy_process_group(other)
        print(len(_pg_map), other in _pg_map, object() in _pg_map)
        print(dist.Backend.default_device_backend_map["cpu"], dist.Backend.backend_capability[
            "gloo"], dist.get_default_backend_for_device("cuda:1"),
            dist.distributed_c10d.get_default_backend_for_device(torch.device("cpu")))
        try:
            dist.get_default_backend_for_device("meta")
        except ValueError as error:
            print(error)
    """) == ["Default process group has not been initi", "0 True", "True 2 True gloo",
             "1 False False", "gloo ['cpu', 'cuda'] nccl gloo",
             "Default backend not registered for device : meta"]


def test_profiles_and_casts():
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    assert lines("""
        import torch
        from torch.amp.autocast_mode import _cast
        found = _cast((torch.ones(1), [torch.ones(1).double()], 3), "cpu", torch.bfloat16)
        print(found[0].dtype, found[1][0].dtype, found[2])
        print(torch.autograd._profiler_enabled())
        profile = torch.profiler.profile()
        profile.__enter__()
        print(torch.autograd._profiler_enabled(), torch.profiler.profiler._default_schedule_fn(3))
        torch.ones(2) + 1
        torch.autograd._disable_profiler()
        print(torch.autograd._profiler_enabled())
        profile.__exit__(None, None, None)
        print([each.key for each in profile.key_averages() if "add" in each.key])
    """) == ["torch.bfloat16 torch.float64 3", "False", "True ProfilerAction.RECORD", "False",
             "['aten::add']"]


def test_parts_of_shared_tensors():
    pytest.importorskip("flambeau.nn", reason="needs flambeau-nn")
    assert lines("""
        import torch
        from torch.distributed.tensor import Replicate, Shard
        from torch.distributed.tensor._utils import compute_local_shape_and_global_offset
        class Mesh:                     # of 2 by 2 processes
            ndim = 2
            def __init__(self, where): self.where = where
            def get_coordinate(self): return self.where
            def size(self, dim): return 2
        for where in ([0, 1], [1, 0], [1, 1], None):
            print([compute_local_shape_and_global_offset((2, 5), Mesh(where), placements)
                   for placements in ((Shard(1), Shard(-1)), (Replicate(), Shard(0)))])
        print(compute_local_shape_and_global_offset(torch.Size([4]), Mesh([1, 0]),
                                                    (Shard(0), Shard(0)), skip_offset=True))
    """) == ["[((2, 1), (0, 2)), ((1, 5), (1, 0))]", "[((2, 1), (0, 3)), ((1, 5), (0, 0))]",
             "[((2, 1), (0, 4)), ((1, 5), (1, 0))]", "[((0,), ()), ((0,), ())]", "((1,), ())"]


def test_questions_about_kernels_of_attention():
    pytest.importorskip("flambeau.nn", reason="needs flambeau-nn")
    assert lines("""
        import torch
        from torch.backends.cuda import SDPAParams, can_use_flash_attention
        from torch.nn.attention import can_use_efficient_attention
        x = torch.ones(1, 2, 3, 4)
        asked = SDPAParams(x, x, x, None, 0.0, True, False)
        print(asked.query.shape, asked.attn_mask, asked.is_causal, asked.enable_gqa)
        print(can_use_flash_attention(asked, True), can_use_efficient_attention(asked))
    """) == ["torch.Size([1, 2, 3, 4]) None True False", "False False"]


def test_marks_for_a_tracer():
    pytest.importorskip("flambeau.jit", reason="needs flambeau-jit")
    assert lines("""
        import torch
        @torch._disable_dynamo
        def one(x):
            return x + 1
        @torch._disable_dynamo(recursive=False)
        def two(x):
            return x + 2
        with torch._dynamo.utils.disable_cache_limit():
            print(one(1), two(1), torch.compile(lambda x: one(x) * 2)(torch.ones(2)).tolist())
    """) == ["2 3 [4.0, 4.0]"]


def test_helpers_of_layers_and_losses():
    pytest.importorskip("flambeau.nn", reason="needs flambeau-nn")
    assert lines("""
        import torch
        from torch import nn
        from torch.nn import functional as F
        from torch.nn.modules.module import _addindent
        from torch.nn.modules.transformer import _get_clones
        from torch.nn.modules.rnn import apply_permutation
        from torch.utils._triton import has_triton
        reduction = F._Reduction
        print(reduction.get_enum("mean"), torch.nn._reduction.get_enum("sum"),
              reduction.legacy_get_string(None, False, False),
              reduction.legacy_get_enum(False, None, False))
        try:
            reduction.get_enum("most")
        except ValueError as error:
            print(str(error)[:40])
        clones = _get_clones(nn.Linear(1, 1), 3)
        print(repr(_addindent("a\\nb", 2)), type(clones).__name__, len(clones),
              clones[0].weight is clones[1].weight)
        x = torch.arange(6.0).view(3, 2)
        print(apply_permutation(x, torch.tensor([1, 0])).tolist(), nn.modules.utils._pair(3))
        print(torch._C._nn.gelu(torch.zeros(1)).tolist(), has_triton())
        print(torch.backends.cudnn.fp32_precision, nn.utils.parametrize._cache_enabled)
    """) == ["1 2 none 2", "most is not a valid value for reduction:",
             r"'a\n  b' ModuleList 3 False",
             "[[1.0, 0.0], [3.0, 2.0], [5.0, 4.0]] (3, 3)", "[0.0] False", "none 0"]


def test_products_of_batches_of_vectors():
    pytest.importorskip("flambeau.nn", reason="needs flambeau-nn")
    assert lines("""
        import torch
        from torch.distributions.multivariate_normal import _batch_mahalanobis, _batch_mv
        factor, x = torch.tensor([[2.0, 0.0], [1.0, 3.0]]), torch.arange(12.0).view(3, 2, 2)
        factors = torch.stack([factor, 2 * factor])
        both = factors @ factors.mT
        want = [[float(x[i, j] @ both[j].inverse() @ x[i, j]) for j in range(2)] for i in range(3)]
        print(torch.allclose(_batch_mahalanobis(factors, x), torch.tensor(want)),
              torch.equal(_batch_mv(factor, x), x @ factor.mT))
    """) == ["True True"]
