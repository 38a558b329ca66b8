"""Modules and private names of PyTorch that exist under the alias alone."""
from __future__ import annotations

import pytest
from test_alias import lines


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


def test_what_modules_are_moved_to():
    pytest.importorskip("flambeau.nn", reason="needs flambeau-nn")
    assert lines("""
        import torch
        print(torch._C._nn._parse_to("cpu", torch.float64)[:3])
        print(torch._C._nn._parse_to(torch.float16))
    """) == ["(device(type='cpu'), torch.float64, False)", "(None, torch.float16, False, None)"]


def test_operators_on_lists():
    assert lines("""
        import torch
        from torch.utils._foreach_utils import _group_tensors_by_device_and_dtype as grouped
        from torch.utils._foreach_utils import _device_has_foreach_support, _has_foreach_support
        x, y = [torch.tensor([1.0, -2.0]), torch.tensor([3.0])], [torch.ones(2), torch.ones(1)]
        print([each.tolist() for each in torch._foreach_add(x, y, alpha=2)])
        print([each.tolist() for each in torch._foreach_mul(x, [2.0, 3.0])])
        print([each.tolist() for each in torch._foreach_mul(x, scalar=2.0)])
        print([each.tolist() for each in torch._foreach_lerp(x, tensors1=y, weight=0.5)])
        print([each.tolist() for each in torch._foreach_addcmul(x, x, x, torch.tensor([1.0, 2]))])
        print([each.tolist() for each in torch._foreach_addcmul(
            x, tensor1=x, tensor2=x, scalars=[1.0, 2.0])])
        print([each.tolist() for each in torch._foreach_maximum(torch._foreach_pow(2, x), 1.0)])
        print(torch._foreach_addcdiv_(x, y, y, [1.0, 2.0]), [each.tolist() for each in x])
        groups = grouped([[*x, torch.ones(1, dtype=torch.int32)], [1, 2, 3]], with_indices=True)
        print([(dtype, lists[1], places) for (_, dtype), (lists, places) in groups.items()])
        print(hasattr(torch, "_foreach_norm"), hasattr(torch, "_foreach_nothing"))
        print(_has_foreach_support(x, "cpu"), _device_has_foreach_support("cpu"))
    """) == ["[[3.0, 0.0], [5.0]]", "[[2.0, -4.0], [9.0]]", "[[2.0, -4.0], [6.0]]",
             "[[1.0, -0.5], [2.0]]", "[[2.0, 2.0], [21.0]]", "[[2.0, 2.0], [21.0]]",
             "[[2.0, 1.0], [8.0]]", "None [[2.0, -1.0], [5.0]]",
             "[(torch.float32, [1, 2], [0, 1]), (torch.int32, [3], [2])]", "True False",
             "False False"]


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
        kinds = lambda network: [type(each).__name__ for each in network.modules()
                                 if "Packed" not in type(each).__name__][1:]
        print(*kinds(quantize_dynamic(model, {nn.Linear}, dtype=torch.qint8)))
        print(*kinds(torch.quantization.quantize_dynamic(model, {"1"}, dtype=torch.qint8)))
        x = torch.arange(4.0)
        print(torch.allclose(quantize_dynamic(model)(x), model(x), atol=0.1))
        print(torch.quantization.MinMaxObserver is torch.ao.quantization.observer.MinMaxObserver)
        from torch.nn.quantized import FloatFunctional
        print(FloatFunctional.__module__, type(quantize_dynamic(model)[0]).__module__)
    """) == ["Linear Sequential Linear", "Linear Sequential Linear", "True", "True",
             "torch.ao.nn.quantized.modules.functional_modules "
             "torch.ao.nn.quantized.dynamic.modules.linear"]


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


def test_steps_of_optimizers_on_lists():
    pytest.importorskip("flambeau.optim", reason="needs flambeau-optim")
    pytest.importorskip("flambeau.nn", reason="needs flambeau-nn")
    assert lines("""
        import torch
        from torch.optim import _functional
        from torch.optim.adam import adam
        from torch.optim.sgd import sgd

        print(_functional.adam is adam)
        torch.manual_seed(0)
        start, grads = torch.randn(3, 2), [torch.randn(3, 2) for _ in range(4)]
        p, m, v, t = start.clone(), torch.zeros(3, 2), torch.zeros(3, 2), torch.tensor(0.0)
        q, momentum = start.clone(), [None]
        first, second = (torch.nn.Parameter(start.clone()) for _ in range(2))
        by_class = (torch.optim.Adam([first], lr=0.1), torch.optim.SGD([second], 0.1, 0.9))
        for g in grads:
            adam([p], [g], [m], [v], [], [t], amsgrad=False, beta1=0.9, beta2=0.999, lr=0.1,
                 weight_decay=0.0, eps=1e-8, maximize=False)
            sgd([q], [g], momentum, weight_decay=0.0, momentum=0.9, lr=0.1, dampening=0.0,
                nesterov=False, maximize=False)
            first.grad, second.grad = g.clone(), g.clone()
            [each.step() for each in by_class]
        state = by_class[0].state[first]
        print(torch.equal(p, first), torch.equal(q, second), t)
        print(torch.equal(m, state["exp_avg"]), torch.equal(v, state["exp_avg_sq"]))
        print(torch.equal(momentum[0], by_class[1].state[second]["momentum_buffer"]))
        """) == ["True", "True True tensor(4.)", "True True", "True"]


def test_mixed_precision_by_calls():
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    assert lines("""
        import torch
        x = torch.ones(2, 2)
        def seen():
            print((x @ x).dtype)
        torch.set_autocast_enabled("cpu", True)
        seen()
        torch.set_autocast_dtype("cpu", torch.float16)
        seen()
        with torch.autocast("cpu", enabled=False):
            seen()
            torch.set_autocast_cpu_enabled(True)
            seen()
            torch.set_autocast_cpu_enabled(False)
        seen()
        torch.set_autocast_cpu_dtype(torch.bfloat16)
        torch.set_autocast_enabled("cpu", False)
        seen()
        print(torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu"))
        """) == [f"torch.{name}" for name in ("bfloat16", "float16", "float32", "bfloat16",
                                              "float16", "float32")] + ["False torch.bfloat16"]


def test_operators_that_are_no_public_functions():
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    pytest.importorskip("flambeau.nn", reason="needs flambeau-nn")
    assert lines("""
        import torch
        print(torch._VF.lstm_cell is torch.lstm_cell, torch._C._VariableFunctions.add is torch.add)
        x, w = torch.randn(2, 3, 5, 5), torch.randn(4, 3, 3, 3)
        args = [1, 1], [1, 1], [1, 1], False, [0, 0], 1
        y = torch.convolution(x, w, None, *args)
        print(torch.equal(y, torch.nn.functional.conv2d(x, w, padding=1)))
        found = torch.ops.aten.convolution_backward(y, x, w, [4], *args, [True, True, True])
        x.requires_grad_()
        w.requires_grad_()
        bias = torch.zeros(4, requires_grad=True)
        torch.nn.functional.conv2d(x, w, bias, padding=1).backward(y)
        print([torch.allclose(a, b.grad, atol=1e-4) for a, b in zip(found, (x, w, bias))])
        result, mean, factor = torch.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-9)
        print(torch.allclose((x - mean.view(-1, 1, 1)) * factor.view(-1, 1, 1), result, atol=1e-5))
        z = torch.linspace(-2, 2, 9)
        slope = torch.ops.aten.gelu_backward(torch.ones(9), z, approximate="tanh")
        z.requires_grad_()
        torch.nn.functional.gelu(z, approximate="tanh").sum().backward()
        print(torch.equal(slope, z.grad))
        """) == ["True True", "True", "[True, True, True]", "True", "True"]


def test_dimensions_by_a_pattern():
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    assert lines("""
        import torch
        from torch.func import functionalize, rearrange

        x, y = torch.arange(24).reshape(4, 3, 2), torch.arange(12).reshape(4, 3)
        print(torch.equal(rearrange(x, "a b c -> c (a b)"), x.permute(2, 0, 1).reshape(2, 12)))
        print(torch.equal(rearrange(y, "(a k) b -> k (b a)", k=2),
                          y.reshape(2, 2, 3).permute(1, 2, 0).reshape(2, 6)))
        print(rearrange(x, "... c -> c ... 1").shape, rearrange(x, "a ... -> a (...)").shape)
        print(torch.equal(rearrange([y, y + 1], "l a b -> a l b"), torch.stack([y, y + 1], 1)))
        for pattern, sizes in (("a b -> b", {}), ("a a -> a", {}), ("a b -> a b", {"q": 2}),
                               ("(a c) b -> a c b", {}), ("(a c) b -> a c b", {"a": 3}),
                               ("a b c -> a b c", {}), ("a b", {})):
            try:
                rearrange(y, pattern, **sizes)
            except ValueError:
                continue
            print("not refused:", pattern)
        print(functionalize(lambda a: a.add_(1))(torch.zeros(2)))
        """) == ["True", "True", "torch.Size([2, 4, 3, 1]) torch.Size([4, 6])", "True",
                 "tensor([1., 1.])"]


def test_lists_have_one_length():
    assert lines("""
        import torch

        x, y = [torch.ones(1)] * 2, [torch.ones(1)] * 3
        for name, arguments in (("add", (x, y)), ("addcdiv", (x, x, x, [1, 2, 3])), ("abs", ([],)),
                                ("addcdiv", (x, x, x, torch.ones(3))), ("mul", (x, [1.0]))):
            try:
                print(getattr(torch, "_foreach_" + name)(*arguments))
            except RuntimeError as error:
                print(str(error)[:50])
        """) == ["Tensor lists must have the same number of tensors,",
                 "Tensor list must have same number of elements as s",
                 "Tensor list must have at least one tensor.",
                 "Expected length of scalars to match input of lengt",
                 "Tensor list must have same number of elements as s"]


def test_hashes_are_exclusive_ors_of_the_bits():
    assert lines("""
        import torch

        x = torch.arange(35.0).reshape(5, 7)
        print(torch.hash_tensor(torch.tensor([1, 2, 4])), torch.hash_tensor(x))
        print(torch.hash_tensor(x, 1, keepdim=True).shape, torch.hash_tensor(torch.tensor(1.5)))
        """) == ["tensor(7, dtype=torch.uint64) tensor(9203528050996674560, dtype=torch.uint64)",
                 "torch.Size([5, 1]) tensor(4609434218613702656, dtype=torch.uint64)"]


def test_the_whole_of_a_slice():
    assert lines("""
        import torch

        whole = torch.zeros(2, 3)
        torch.slice_inverse(whole[:, 1:], whole, 1, 1, 3).fill_(2)
        print(whole.tolist())
        for call in (lambda: torch.hash_tensor(whole, mode=1),
                     lambda: torch.hash_tensor(torch.empty(0, 3)),
                     lambda: torch.hash_tensor(torch.empty(0, 3), 0),
                     lambda: torch.hash_tensor(whole + 1j)):
            try:
                print(call())
            except (RuntimeError, IndexError) as error:
                print(type(error).__name__)
        """) == ["[[2.0, 2.0, 2.0], [2.0, 2.0, 2.0]]", "RuntimeError", "RuntimeError",
                 "IndexError", "NotImplementedError"]


def test_texts_of_tensors_in_parts():
    assert lines("""
        import torch
        from torch._tensor_str import _add_suffixes, _str_intern, _tensor_str
        x = torch.tensor([[1.5, 2], [3, 4]])
        print(_add_suffixes("Own(" + _tensor_str(x, 4), ["size=2", "w" * 75], 4, False))
        print(_add_suffixes("Own(" + _tensor_str(x[0], 4), ["size=2", "b"], 4, True))
        print(_add_suffixes(_tensor_str(x[:0], 0), [], 0, True), _tensor_str(x[0].half(), 0))
        print(_str_intern(x, tensor_contents="(own)"), _str_intern(x[0]))
    """) == ["Own([[1.5000, 2.0000],", "     [3.0000, 4.0000]], size=2,",
             "    " + "w" * 75 + ")", "Own([1.5000, 2.0000],", "    size=2, b)",
             "[]) [1.5000, 2.0000]", "tensor((own)) tensor([1.5000, 2.0000])"]


def test_what_a_machine_is():
    assert lines("""
        import sys
        from torch.utils.collect_env import (get_cpu_info, get_gcc_version, get_gpu_info,
                                             get_nvidia_driver_version, run)
        print(run([sys.executable, "-c", "print(5)"]), run("exit 3")[0])
        said = {"lscpu": "Model: a", "nvidia-smi": "Driver Version: 5.1 CUDA", "gcc --version":
                "gcc (own) 12.1\\nfree"}
        asked = lambda command: (int(command not in said), said.get(command, ""), "")
        print(get_cpu_info(asked), get_gpu_info(asked), get_nvidia_driver_version(asked),
              get_gcc_version(asked))
        print(get_gcc_version(lambda command: (1, "", "not found")))
    """) == ["(0, '5', '') 3", "Model: a None 5.1 (own) 12.1", "None"]


def test_test_cases_compare_tensors():
    assert lines("""
        import torch
        from torch.testing._internal.common_utils import TestCase, run_tests
        case, x = TestCase(), torch.tensor([1.0, 2.0])
        case.assertEqual(x, x + 1e-7)
        case.assertEqual({"a": [x, 1.0]}, {"a": [x.clone(), 1.0 + 1e-9]})
        case.assertEqual(torch.tensor(2), 2.0), case.assertEqual("a", "a")
        case.assertEqual([x, torch.tensor(float("nan"))], [x, torch.tensor(float("nan"))])
        case.assertEqual(x, x.double(), exact_dtype=False)
        case.assertEqual(x, x + .1, atol=1, rtol=0)
        state = {"state": {0: {"step": x, "left": None, 3: (x.numpy(), "sgd")}}, "on": True}
        case.assertEqual(state, {**state, "on": torch.tensor(True)})
        case.assertEqual([x[0], 2, {1}], [1.0, x[1:], {1}])
        for a, b in ((state, {**state, "on": False}), ({"a": None}, {"a": x}),
                     (x, x + .1), (x, x.double()), ([x], [x, x]), ("a", "b"), (x, 1.0), (True, 2)):
            try:
                case.assertEqual(a, b)
            except AssertionError:
                print("differs")
        print(callable(run_tests), torch.backends.flags_frozen())
    """) == ["differs"] * 8 + ["True False"]


def test_conditions_of_tensors_are_bools():
    assert lines("""
        import torch
        torch._check_tensor_all(torch.tensor([True, True]))
        for cond in (torch.ones(1), torch.ones(1, dtype=torch.int64), True):
            try:
                torch._check_tensor_all(cond)
            except TypeError as error:
                print(str(error)[:31])
    """) == ["cond tensor must have dtype tor", "cond tensor must have dtype tor",
             "cond must be a tensor, got bool"]


def test_ends_of_graphs_are_known_by_their_class():
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    assert lines("""
        import torch
        from torch._C._functions import AccumulateGrad
        made = torch.ones(2, requires_grad=True).exp().grad_fn
        print(isinstance(made.next_functions[0][0], AccumulateGrad),
              isinstance(made, AccumulateGrad),
              issubclass(AccumulateGrad, torch.autograd.graph.Node))
    """) == ["True False True"]
