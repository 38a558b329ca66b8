"""Modules and private names of PyTorch that exist under the alias alone."""
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


def test_conditions_raise_the_error_of_their_kind():
    assert lines("""
        import torch
        torch._check(True)
        for check in (lambda: torch._check(False, lambda: "one"),
                      lambda: torch._check_index(False, lambda: "two"),
                      lambda: torch._check_is_size(-1), lambda: torch._check(1),
                      lambda: torch._check_tensor_all(torch.tensor([True, False])),
                      lambda: torch._assert(0 > 1, "three")):
            try:
                check()
            except Exception as error:
                print(type(error).__name__, str(error)[:8])
        print(torch.sym_int(2.5), torch.sym_max(2, 3), torch.sym_not(True),
              torch.sym_ite(True, 1, 2))
    """) == ["RuntimeError one", "IndexError two", "RuntimeError Expected", "TypeError cond mus",
             "RuntimeError Expected", "AssertionError three", "2 3 False 1"]


def test_names_are_printed_as_programs_parse_them():
    assert lines("""
        import flambeau, torch
        x = torch.ones(2, dtype=torch.float64)
        print(str(torch.float32), x, x.shape, torch.channels_last)
        print(repr(x.max(0))[:23])
    """) == ["torch.float32 tensor([1., 1.], dtype=torch.float64) torch.Size([2]) "
             "torch.channels_last", "torch.return_types.max("]


def test_shares_add_up():
    assert lines("""
        import torch
        print(torch._sample_dirichlet(torch.ones(2, 3)).sum(1).tolist())
        print(torch._standard_gamma(torch.ones(4)).shape)
    """) == ["[1.0, 1.0]", "torch.Size([4])"]


def test_hub_reads_weights_that_are_there(tmp_path):
    (tmp_path / "hubconf.py").write_text(
        "def double(x):\n    'Twice a number.'\n    return 2 * x\n_hidden = double\n")
    assert lines("""
        import hashlib, os, pathlib, sys
        import torch
        folder = sys.argv[1]
        torch.hub.set_dir(folder)
        print(torch.hub.get_dir() == folder, torch.hub.list(folder, source="local"))
        print(torch.hub.load(folder, "double", 4, source="local"),
              torch.hub.help(folder, "double", source="local"))
        torch.save({"weight": torch.arange(3)}, folder + "/w.pth")
        digest = hashlib.sha256(open(folder + "/w.pth", "rb").read()).hexdigest()
        address = pathlib.Path(folder, "w.pth").as_uri()
        for name in (f"net-{digest[:8]}.pth", "net-00000000.pth"):
            try:
                print(torch.hub.load_state_dict_from_url(address, check_hash=True, file_name=name))
            except RuntimeError as error:
                print("another" if "SHA-256" in str(error) else error)
        print(len(os.listdir(folder + "/checkpoints")))
        from torch.hub import HASH_REGEX, _get_torch_home, tqdm, urlparse
        from torch.utils.model_zoo import load_url, tqdm
        print(load_url is torch.hub.load_state_dict_from_url, HASH_REGEX.search("a-0f.b").group(1))
        try:
            torch.hub.load("owner/name", "net")
        except NotImplementedError as error:
            print("local" in str(error))
    """, str(tmp_path)) == ["True ['double']", "8 Twice a number.", "{'weight': tensor([0, 1, 2])}",
                            "another", "1", "True 0f", "True"]


def test_compiled_libraries_of_others_are_refused():
    assert lines("""
        import torch
        try:
            torch.ops.load_library("/lib/mine/_C.so")
        except OSError as error:
            print("compiled for PyTorch" in str(error))
    """) == ["True"]


SET_UP = """
    import torch
    torch.ops.load_library("torchvision/_C.so")
    ops = torch.ops.torchvision
    features = torch.arange(32.).reshape(1, 2, 4, 4).requires_grad_()
"""


def vision(code):
    pytest.importorskip("flambeau.nn", reason="needs flambeau-nn")
    return lines(SET_UP + code)


def test_boxes_that_overlap_a_better_one_are_dropped():
    assert vision("""
    boxes = torch.tensor([[0., 0, 2, 2], [0, 0, 2, 1], [5, 5, 6, 6], [0, 0, 2, 2]])
    scores = torch.tensor([0.5, 0.9, 0.1, 0.5])
    for threshold in (0.4, 0.5, 1.0):
        print(ops.nms(boxes, scores, threshold).tolist())
    print(ops.nms.default(boxes[:0], scores[:0], 0.5))
    """) == ["[1, 2]", "[1, 0, 2]", "[1, 0, 3, 2]", "tensor([], dtype=torch.int64)"]


def test_regions_are_means_and_maxima_of_pixels():
    assert vision("""
    whole = torch.tensor([[0., 0, 0, 4, 4]])
    print(ops.roi_align(features, whole, 1.0, 2, 2, 2, True).tolist())
    print(ops.ps_roi_align(features[:, :1].repeat(1, 4, 1, 1), whole, 1.0, 2, 2, 2)[0].tolist())
    found, places = ops.roi_pool(features, whole, 0.5, 1, 1)
    print(found.tolist(), places.tolist(), places.dtype)
    means, channels = ops.ps_roi_pool(features, whole[:, :1].expand(1, 5) + 0, 1.0, 1, 2)
    print(means.tolist(), channels.tolist())
    ops.roi_align(features, whole, 1.0, 1, 1, 2, True).sum().backward()
    print(features.grad.sum().item())
    print(ops.roi_pool(features, whole[:0], 1.0, 2, 2)[0].shape)
    try:
        ops.roi_align(features, whole + 1, 1.0, 2, 2, 2, True)
    except RuntimeError as error:
        print(error)
    """) == ["[[[[2.5, 4.5], [10.5, 12.5]], [[18.5, 20.5], [26.5, 28.5]]]]",
             "[[[[2.5, 4.5], [10.5, 12.5]]]]",
             "[[[[10.0]], [[26.0]]]] [[[[10]], [[10]]]] torch.int32",
             "[[[[0.0, 16.0]]]] [[[[0, 1]]]]", "2.0", "torch.Size([0, 2, 2, 2])",
             "roi_align: rois name images that are not there: input has 1"]


def test_convolution_with_moved_points():
    assert vision("""
    weight, bias = torch.ones(1, 2, 1, 1), torch.tensor([0.5])
    offset = torch.zeros(1, 2, 4, 4)
    mask = torch.ones(1, 1, 4, 4)
    def run(use_mask=True):
        return ops.deform_conv2d(features, weight, offset, mask, bias, 1, 1, 0, 0, 1, 1, 1, 1,
                                 use_mask)
    print(torch.equal(run(), torch.nn.functional.conv2d(features, weight, bias)))
    offset[0, 0], offset[0, 1, 0, 0] = 1, 0.5     # one row down; half a column to the right
    mask[0, 0, 0] = 2
    print(run()[0, 0].tolist(), run(False)[0, 0, 0].tolist())
    """) == ["True", "[[50.5, 52.5, 56.5, 60.5], [32.5, 34.5, 36.5, 38.5], "
             "[40.5, 42.5, 44.5, 46.5], [0.5, 0.5, 0.5, 0.5]] [25.5, 26.5, 28.5, 30.5]"]


def test_pictures_by_pillow(tmp_path):
    pytest.importorskip("PIL", reason="needs Pillow")
    assert lines("""
        import sys, torch
        torch.ops.load_library("/lib/torchvision/image.so")
        ops, path = torch.ops.image, sys.argv[1] + "/x.png"
        pixels = torch.arange(24, dtype=torch.uint8).reshape(3, 2, 4)
        ops.write_file(path, ops.encode_png(pixels, 6))
        print(torch.equal(ops.decode_png(ops.read_file(path), 0, False), pixels))
        print(ops.decode_image(ops.encode_jpeg(pixels, 95), 1, False).shape)
        try:
            ops.decode_png(pixels, 0, False)
        except RuntimeError as error:
            print("1-d tensor of uint8" in str(error))
    """, str(tmp_path)) == ["True", "torch.Size([1, 2, 4])", "True"]


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


def test_what_modules_are_moved_to():
    pytest.importorskip("flambeau.nn", reason="needs flambeau-nn")
    assert lines("""
        import torch
        print(torch._C._nn._parse_to("cpu", torch.float64)[:3])
        print(torch._C._nn._parse_to(torch.float16))
    """) == ["(device(type='cpu'), torch.float64, False)", "(None, torch.float16, False, None)"]


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
        print(torch._weight_norm(torch.tensor([[3.0, 4.0]]), torch.ones(1, 1), 0).tolist())
        print(torch._int_mm(torch.full((1, 2), 100, dtype=torch.int8).clone(),
                            torch.full((2, 1), 100, dtype=torch.int8)).tolist())
    """) == ["[[1, 3], [1, 0, 1], []]", "[3.0, 3.0]", "True", "True", "[0.0, 0.0]",
             "[[0.6000000238418579, 0.800000011920929]]", "[[20000]]"]


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


def test_operators_on_lists():
    assert lines("""
        import torch
        from torch.utils._foreach_utils import _group_tensors_by_device_and_dtype as grouped
        from torch.utils._foreach_utils import _device_has_foreach_support, _has_foreach_support
        x, y = [torch.tensor([1.0, -2.0]), torch.tensor([3.0])], [torch.ones(2), torch.ones(1)]
        print([each.tolist() for each in torch._foreach_add(x, y, alpha=2)])
        print([each.tolist() for each in torch._foreach_mul(x, [2.0, 3.0])])
        print([each.tolist() for each in torch._foreach_addcmul(x, x, x, torch.tensor([1.0, 2]))])
        print([each.tolist() for each in torch._foreach_maximum(torch._foreach_pow(2, x), 1.0)])
        print(torch._foreach_addcdiv_(x, y, y, [1.0, 2.0]), [each.tolist() for each in x])
        groups = grouped([[*x, torch.ones(1, dtype=torch.int32)], [1, 2, 3]], with_indices=True)
        print([(dtype, lists[1], places) for (_, dtype), (lists, places) in groups.items()])
        print(hasattr(torch, "_foreach_norm"), hasattr(torch, "_foreach_nothing"))
        print(_has_foreach_support(x, "cpu"), _device_has_foreach_support("cpu"))
    """) == ["[[3.0, 0.0], [5.0]]", "[[2.0, -4.0], [9.0]]", "[[2.0, 2.0], [21.0]]",
             "[[2.0, 1.0], [8.0]]", "None [[2.0, -1.0], [5.0]]",
             "[(torch.float32, [1, 2], [0, 1]), (torch.int32, [3], [2])]", "True False",
             "False False"]


def test_names_of_types_that_are_not_made():
    assert lines("""
        import torch
        print(str(torch.complex32), torch.torch is torch, torch.legacy_contiguous_format)
        print(torch.ones(2).new_ones(size=(1, 2)).tolist())
    """) == ["torch.complex32 True torch.contiguous_format", "[[1.0, 1.0]]"]


def test_references_to_tensors_are_weak_and_by_identity():
    assert lines("""
        import gc, torch
        from torch.utils.weak import TensorWeakRef, WeakIdKeyDictionary, WeakTensorKeyDictionary
        x, y = torch.ones(2), torch.ones(2)
        known = WeakTensorKeyDictionary({x: "x"})
        known[y] = "y"
        print(known[x], known[y], len(known), torch.ones(2) in known, 3 in known)
        other, ref = known.copy(), TensorWeakRef(y)
        print(ref() is y, [key is x for key in other], len(known.keyrefs()))
        del known[x], y
        _ = gc.collect()
        print(len(known), len(other), ref(), list(known.items()))
    """) == ["x y 2 False False", "True [True, False] 2", "0 1 None []"]


def test_options_of_printing():
    assert lines("""
        import torch
        from torch._tensor_str import PRINT_OPTS, _str, printoptions
        with printoptions(precision=2):
            print(PRINT_OPTS.precision, _str(torch.tensor([1 / 3])))
        print(PRINT_OPTS.precision, torch.tensor([1 / 3]))
    """) == ["2 tensor([0.33])", "4 tensor([0.3333])"]


def test_numbers_of_devices():
    assert lines("""
        import torch
        from torch._utils import _get_device_index as index
        print(index(torch.device("cuda:1")), index(3), index("cpu", allow_cpu=True))
        for wrong in ("cpu", None):
            try:
                index(wrong)
            except ValueError as error:
                print(error)
    """) == ["1 3 -1", "Expected a non cpu device, but got: cpu",
             "Expected a device with a specified index or an integer, but got: None"]


def test_named_outputs_count_their_fields():
    assert lines("""
        import torch
        print(torch.max(torch.ones(1, 1), 0).n_fields, torch.return_types.sort.n_fields)
    """) == ["2 2"]


def test_networks_are_quantized_without_data():
    pytest.importorskip("flambeau.nn", reason="needs flambeau-nn")
    assert lines("""
        import torch
        from torch import nn
        from torch.ao.quantization import quantize_dynamic
        model = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 2)))
        kinds = lambda network: [type(each).__name__ for each in network.modules()][1:]
        print(*kinds(quantize_dynamic(model, {nn.Linear}, dtype=torch.qint8)))
        print(*kinds(torch.quantization.quantize_dynamic(model, {"1"}, dtype=torch.qint8)))
        x = torch.arange(4.0)
        print(torch.allclose(quantize_dynamic(model)(x), model(x), atol=0.1))
        try:
            quantize_dynamic(model, dtype=torch.float16)
        except NotImplementedError as error:
            print("model.half()" in str(error))
    """) == ["QuantizedLinear Sequential QuantizedLinear", "Linear Sequential QuantizedLinear",
             "True", "True"]


def test_types_of_what_containers_hold():
    pytest.importorskip("flambeau.jit", reason="needs flambeau-jit")
    assert lines("""
        from typing import Dict, List, Optional, Tuple, Union
        import torch
        said = torch.jit.isinstance
        x = torch.ones(1)
        several = List[torch.Tensor]
        print(said([x], several), said([x, 1], several), said(x, torch.Tensor))
        print(said({"a": (1, "b")}, Dict[str, Tuple[int, str]]), said((1,), Tuple[int, int]),
              said(None, Optional[int]), said("a", Union[int, float]), said([1], (str, List[int])))
        try:
            said([1], list)
        except RuntimeError as error:
            print("write List[int]" in str(error))
    """) == ["True False True", "True False True False True", "True"]


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


def test_what_wrappers_of_checkpointing_ask_for():
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    assert lines("""
        import warnings, torch
        from torch.utils.checkpoint import check_backward_validity, detach_variable
        x = torch.ones(1, requires_grad=True) * 2
        made = detach_variable((x, 3))
        print(made[0].is_leaf, made[0].requires_grad, made[1])
        print(torch.autograd._is_checkpoint_valid())
        with warnings.catch_warnings(record=True) as seen:
            check_backward_validity(made)
            check_backward_validity((3,))
        print(len(seen), torch._C._is_torch_function_mode_enabled(), torch._C._is_tracing())
    """) == ["True True 3", "True", "1 False False"]


def test_tensors_are_made_of_storages():
    pytest.importorskip("flambeau.nn", reason="needs flambeau-nn")
    assert lines("""
        import torch
        from torch._utils import ExceptionWrapper, _rebuild_parameter, _rebuild_tensor_v2
        x = torch.arange(6.0)
        y = _rebuild_tensor_v2(x.storage(), 1, (2, 2), (2, 1), True, {})
        print(y.tolist(), y.requires_grad, y.untyped_storage().data_ptr() == x.data_ptr())
        print(type(_rebuild_parameter(x, False, {})).__name__)
        for kind in (ValueError, KeyError):
            try:
                try:
                    raise kind("lost")
                except kind:
                    kept = ExceptionWrapper(where="in worker 3")
                kept.reraise()
            except kind as error:
                print("Caught", str(error).splitlines()[0], "lost" in str(error))
    """) == ["[[1.0, 2.0], [3.0, 4.0]] True True", "Parameter",
             "Caught Caught ValueError in worker 3. True",
             "Caught Caught KeyError in worker 3. True"]


def test_parts_of_attention():
    pytest.importorskip("flambeau.nn", reason="needs flambeau-nn")
    assert lines("""
        import warnings, torch
        from torch.nn import functional as F
        torch.manual_seed(0)
        x, y, w, b = torch.randn(2, 4), torch.randn(3, 4), torch.randn(12, 4), torch.randn(12)
        same, other = F._in_projection_packed(x, x, x, w, b), F._in_projection_packed(x, y, y, w)
        print([torch.equal(a, F.linear(x, w, b)[:, 4 * i:4 * i + 4]) for i, a in enumerate(same)])
        print([tuple(a.shape) for a in other], torch.allclose(other[2], y @ w[8:].T))
        mask = F._canonical_mask(torch.tensor([True, False]), "m", None, "", torch.float64)
        print(mask, F._none_or_dtype(mask), F._canonical_mask(None, "m", None, "", None))
        for call in (lambda: F._verify_batch_size([1, 3]), lambda: F._none_or_dtype(3)):
            try:
                call()
            except (ValueError, RuntimeError) as error:
                print(type(error).__name__)
        with warnings.catch_warnings(record=True):
            print(F._get_softmax_dim("softmax", 3, 3), F._get_softmax_dim("softmax", 2, 3))
        from torch.distributions.kl import _KL_REGISTRY
        print(len(_KL_REGISTRY) > 50)
    """) == ["[True, True, True]", "[(2, 4), (3, 4), (3, 4)] True",
             "tensor([-inf, 0.], dtype=torch.float64) torch.float64 None",
             "ValueError", "RuntimeError", "0 1", "True"]


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
