"""Private modules of PyTorch that libraries import: containers, dtypes, sizes, optimizers."""
from __future__ import annotations

import pytest
from test_alias import lines


def test_structures_are_written_as_pytorch_does():
    assert lines("""
        from torch.utils import _pytree as tree
        import torch.utils._cxx_pytree as fast
        spec = tree.tree_structure({"a": [1, ()]})
        text = tree.treespec_dumps(spec)
        print(text)
        print(tree.treespec_loads(text) == spec, fast.tree_map(lambda x: x + 1, {"a": [1]}))
        for bad in ('[1, {"type": "os.system", "context": "null", "children_spec": []}]', '[2, 0]'):
            try:
                tree.treespec_loads(bad)
            except NotImplementedError:
                print("refused")
        print(tree._dict_flatten({"x": 1}), tree.is_structseq_instance((1,)))
    """) == ['[1, {"type": "builtins.dict", "context": "[\\"a\\"]", "children_spec": [{"type": '
             '"builtins.list", "context": "null", "children_spec": [{"type": null, "context": '
             'null, "children_spec": []}, {"type": "builtins.tuple", "context": "null", '
             '"children_spec": []}]}]}]',
             "True {'a': [2]}", "refused", "refused", "([1], ['x']) False"]


def test_branches_and_loops_are_run():
    pytest.importorskip("flambeau.jit", reason="needs flambeau-jit")
    assert lines("""
        import torch
        x = torch.ones(2)
        for holds in (torch.tensor(True), False):
            print(torch.cond(holds, torch.neg, torch.exp, (x * 0 + 1,))[0].item() < 0)
        print(torch.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 2), (0, x)))
        for call in (lambda: torch.cond(x > 0, torch.neg, torch.exp, (x,)),
                     lambda: torch.cond(True, torch.neg, torch.exp, x),
                     lambda: torch.while_loop(lambda y: True, lambda y: (y, y), (x,))):
            try:
                call()
            except RuntimeError as error:
                print(str(error)[:12])
    """) == ["True", "False", "(3, tensor([8., 8.]))", "cond(): pred", "cond(): oper",
             "while_loop()"]


def test_questions_about_dtypes_and_shapes():
    assert lines("""
        import torch
        from torch import _prims_common as common
        print(common.make_contiguous_strides_for((2, 0, 3)),
              common.make_contiguous_strides_for((2, 3, 4), False))
        print(common.canonicalize_dims(3, (-1, 0)), common.canonicalize_dim(0, -1))
        print([common.is_integer_dtype(d) for d in (torch.bool, torch.int8, torch.float16)])
        print(common.dtype_to_type(torch.complex64).__name__, common.type_to_dtype(int),
              common.get_computation_dtype(torch.bfloat16))
    """) == ["(3, 3, 1) (12, 1, 3)", "(2, 0) 0", "[False, True, False]",
             "complex torch.int64 torch.float32"]


def test_every_size_is_a_number():
    pytest.importorskip("flambeau.fx", reason="needs flambeau-jit")
    assert lines("""
        from torch.fx.experimental.symbolic_shapes import (
            free_symbols, guard_or_false, is_symbolic, statically_known_true)
        print(guard_or_false(2 > 1), statically_known_true(False), is_symbolic(3), free_symbols(3))
    """) == ["True False False set()"]


def test_what_optimizers_of_libraries_use():
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    assert lines("""
        import torch
        from torch.optim.optimizer import _get_value, _use_grad_for_differentiable

        class Steps:
            defaults = {"differentiable": False}

            @_use_grad_for_differentiable
            def step(self):
                return torch.is_grad_enabled()

        print(Steps().step(), _get_value(torch.tensor(2.0)))
        lists = [torch.tensor([1.0, 5.0])]
        torch._foreach_maximum_(lists, [torch.tensor([3.0, 2.0])])
        print(lists[0].tolist())
    """) == ["False 2.0", "[3.0, 5.0]"]


def test_decompositions_that_a_program_registers():
    assert lines("""
        import torch
        from torch._decomp import core_aten_decompositions, get_decompositions
        from torch._decomp import register_decomposition

        @register_decomposition(torch.ops.aten.silu.default)
        def silu(x):
            return x * torch.sigmoid(x)

        found = get_decompositions([torch.ops.aten.silu, torch.ops.aten.mm])
        print([str(op) for op in found], core_aten_decompositions())
    """) == ["['aten.silu.default'] {}"]


def test_context_managers_that_decorate():
    assert lines("""
        from torch.utils._contextlib import _DecoratorContextManager

        class Says(_DecoratorContextManager):
            def __init__(self, what):
                self.what = what

            def clone(self):
                return type(self)(self.what)

            def __enter__(self):
                print("in", self.what)

            def __exit__(self, *error):
                print("out")

        @Says("x")
        def work():
            return 3

        print(work())
    """) == ["in x", "out", "3"]


def test_samples_of_batches_are_known():
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    assert lines("""
        import torch
        from torch._C._functorch import get_unwrapped, is_batchedtensor
        from torch._utils import _get_available_device_type
        x = torch.ones(3, 2)
        torch.vmap(lambda row: print(is_batchedtensor(row), get_unwrapped(row).shape) or row)(x)
        print(is_batchedtensor(x), is_batchedtensor(x.to_sparse()))
        try:
            get_unwrapped(x)
        except RuntimeError as error:
            print(str(error)[:20])
        print(_get_available_device_type() in (None, "cuda"))
    """) == ["True torch.Size([3, 2])", "False False", "No wrappers present!", "True"]


def test_hooks_of_all_modules_are_dicts():
    pytest.importorskip("flambeau.nn", reason="needs flambeau-nn")
    assert lines("""
        import torch
        import torch.nn.modules.module as m
        kept, called = [], []
        handle = m.register_module_parameter_registration_hook(lambda *a: kept.append(a[1]))
        hooks = m._global_parameter_registration_hooks
        print(len(hooks), len(m._global_forward_hooks), len(m._global_buffer_registration_hooks))
        for hook in hooks.values():
            hook(None, "weight", None)
        handle.remove()
        print(kept, len(hooks))
        m._global_forward_hooks[77] = lambda module, inputs, output: called.append(module)
        layer = torch.nn.Identity()
        layer(1)
        del m._global_forward_hooks[77]
        layer(1)
        print(called, m._global_forward_hooks)
    """) == ["1 0 0", "['weight'] 0", "[Identity()] {}"]
