"""Whatever is public has an operator definition, and goes when its definition is deleted."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import calls
import pytest
from pointwise_opdefs import POINTWISE

import flambeau
from flambeau import core
from flambeau.core import ops
from flambeau.core.opdefs import OPDEFS
from flambeau.core.opdefs.opdef import ROLES
from flambeau.testing.reference import KERNELS, RAW_KERNELS

CORE = Path(core.__file__).parent

#: Public functions without a definition, and why.
NO_ROW = {
    "makes tensors from numbers, sizes and foreign memory": {
        "as_tensor", "tensor", "from_dlpack", "from_numpy", "frombuffer", "arange", "eye", "full",
        "ones", "zeros", "rand", "randn", "randint", "randperm", "load", "logspace",
        "asarray", "range", "scalar_tensor", "empty_permuted", "tril_indices", "triu_indices",
        "hann_window", "hamming_window", "blackman_window", "bartlett_window", "kaiser_window"},
    "takes its operands one by one": {"einsum", "chain_matmul"},
    "index_put, with masks spread": {"index_put", "index_put_"},
    "views made of select and view_as_real": {"real", "imag"},
    "conj, of complex numbers only": {"conj"},
    "the definition of nn.functional, its arguments in another order": {
        "adaptive_max_pool1d", "max_pool1d_with_indices", "batch_norm", "instance_norm",
        "embedding", "embedding_bag", "grid_sampler", "dropout", "dropout_",
        "feature_dropout", "feature_dropout_",
        "binary_cross_entropy_with_logits", "cosine_embedding_loss", "ctc_loss",
        "hinge_embedding_loss", "kl_div", "margin_ranking_loss", "poisson_nll_loss",
        "triplet_margin_loss"},
    "the method or property of that name": {
        "is_complex", "is_floating_point", "is_signed", "is_nonzero", "is_conj", "is_neg",
        "is_inference", "is_same_size", "numel", "get_device", "detach", "detach_", "zero_"},
    "asks about or sets something, computes nothing": {
        "is_tensor", "result_type", "can_cast", "promote_types", "finfo", "iinfo",
        "get_default_dtype", "set_default_dtype", "get_default_device", "set_default_device",
        "use_deterministic_algorithms", "are_deterministic_algorithms_enabled",
        "is_deterministic_algorithms_warn_only_enabled", "get_promotion", "set_promotion",
        "get_deterministic_debug_mode", "set_deterministic_debug_mode", "set_warn_always",
        "is_warn_always_enabled",
        "get_num_threads", "set_num_threads",
        "get_rng_state", "set_rng_state", "initial_seed", "manual_seed", "seed", "is_grad_enabled",
        "is_inference_mode_enabled", "set_printoptions", "save", "save_training_state",
        "load_training_state", "broadcast_shapes"},
    "the method of that name": {"resize_as_"},
    "classes": {"Generator", "Size", "Tensor", "device", "dtype"},
}

#: Attributes of Tensor without a definition, and why.
NO_ROW_METHODS = {
    "geometry and kind": {
        "shape", "size", "stride", "ndim", "dim", "ndimension", "numel", "nelement", "data_ptr",
        "storage_offset", "is_contiguous", "element_size", "itemsize", "nbytes", "dtype", "device",
        "get_device", "is_cpu", "is_cuda", "is_meta", "is_floating_point", "is_complex",
        "is_inference", "is_readonly", "is_signed", "is_same_size", "is_set_to"},
    "the same for every tensor": {
        "is_sparse", "is_sparse_csr", "is_quantized", "is_nested", "is_mkldnn", "is_mps", "is_xla",
        "is_xpu", "is_vulkan", "layout", "is_pinned", "is_shared", "share_memory_"},
    "integers and scales of quantized tensors": {
        "dequantize", "int_repr", "q_scale", "q_zero_point", "q_per_channel_scales",
        "q_per_channel_zero_points", "q_per_channel_axis", "qscheme"},
    "layouts, and parts of sparse tensors": {
        "to_sparse", "to_sparse_coo", "to_sparse_csr", "to_sparse_csc", "to_sparse_bsr",
        "to_sparse_bsc", "sparse_mask", "sparse_dim", "dense_dim", "smm", "coalesce",
        "is_coalesced", "indices", "values", "crow_indices", "col_indices", "ccol_indices",
        "row_indices"},
    "other memory and loops in Python": {
        "resize", "resize_as", "resize_", "resize_as_", "set_", "apply_", "map_", "map2_"},
    "older names and the memory itself": {
        "as_subclass", "new", "pin_memory", "dim_order", "record_stream", "storage", "storage_type",
        "to_dense", "untyped_storage"},
    "alias": {"detach", "data", "detach_"},
    "cast and to_device": {
        "to", "to_device", "type", "type_as", "cpu", "cuda", "float", "double", "half",
        "bfloat16", "int", "long", "short", "bool", "byte", "char", "cfloat", "cdouble",
        "chalf"},
    "Python values and other libraries": {"item", "tolist", "is_nonzero", "numpy"},
    "index_put, with masks spread": {"index_put", "index_put_"},
    "conj": {"conj"},
    "where, whose first argument is not the tensor": {"where"},
    "always false: nothing is put off": {"is_conj", "is_neg"},
    "view operators that change the tensor itself": {
        "as_strided_", "squeeze_", "swapaxes_", "swapdims_", "t_", "transpose_", "unsqueeze_"},
    "the creation definitions": {"new_empty", "new_empty_strided", "new_full", "new_ones",
                          "new_tensor", "new_zeros"},
    "pow": {"float_power_"},
    "fill": {"fill_diagonal_"},
    "fill and random_*": {"zero_", "uniform_", "normal_", "random_", "bernoulli_"},
    "views made of permute, transpose, select and view_as_real": {
        "T", "mT", "H", "mH", "real", "imag"},
    "autograd": {"backward", "grad", "grad_fn", "is_leaf", "output_nr", "requires_grad",
                 "requires_grad_",
                 "register_hook", "register_post_accumulate_grad_hook", "retain_grad",
                 "retains_grad"},
}


def _names(form: str) -> set[str]:
    """The Python names that the table asks for."""
    found = set()
    for opdef in OPDEFS:
        if form in opdef.forms:
            found |= {opdef.name, *opdef.plain_aliases}
        methods = form == "method" and "inplace" in opdef.forms
        if opdef.inplace and (form in opdef.forms or methods):
            found |= {name + "_" for name in (opdef.name, *opdef.plain_aliases)}
    return found


def _flat(table: dict[str, set[str]]) -> set[str]:
    return set().union(*table.values())


def test_every_public_function_has_a_row_or_a_reason():
    public = {name for name in flambeau.__all__ if callable(getattr(flambeau, name))
              and not isinstance(getattr(flambeau, name), flambeau.dtype)}
    public -= {"default_generator"}
    assert public - _names("function") == _flat(NO_ROW)


def test_every_function_of_the_table_is_public():
    assert _names("function") <= set(flambeau.__all__)
    more_forms = {"empty", "empty_strided", "linspace"}
    for name in _names("function") - more_forms:
        assert isinstance(getattr(flambeau, name), core.Operator), name


def test_every_tensor_attribute_has_a_row_or_a_reason():
    public = {name for name in dir(flambeau.Tensor) if not name.startswith("_")}
    # `volatile` is there once autograd is: it warns programs older than no_grad().
    assert public - _names("method") - {"volatile"} == _flat(NO_ROW_METHODS)
    assert _names("method") <= public


def test_python_operators_are_rows():
    dunders = {opdef.dunder for opdef in OPDEFS if opdef.dunder}
    assert dunders >= {"add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "neg",
                       "pos", "abs", "invert", "and", "or", "xor", "lt", "le", "eq", "ne", "gt",
                       "ge"}
    for name in dunders:
        assert hasattr(flambeau.Tensor, f"__{name}__")


def test_every_row_is_found_at_run_time_and_documented():
    keys = set(core.op_keys())
    for opdef in OPDEFS:
        assert opdef.key in keys
        assert hasattr(ops, opdef.name)
        assert opdef.doc.endswith(".")
        shown = getattr(ops, opdef.name).__doc__
        assert opdef.doc in shown or opdef.overload or opdef.name in ("max", "min")


def test_every_row_has_test_calls():
    """Calls in PyTorch, too, or a reference in NumPy, which the contract of devices compares."""
    listed = {opdef.key for opdef in POINTWISE} | set(calls.CALLS) | set(calls.ELSEWHERE)
    keys = {opdef.key for opdef in OPDEFS}
    assert listed <= keys
    assert keys <= listed | set(KERNELS) | set(RAW_KERNELS)


def test_facts_of_the_rows():
    for opdef in OPDEFS:
        assert opdef.category in ("pointwise", "reduction", "view", "kernel", "composite")
        assert bool(opdef.formulas) == (opdef.category == "pointwise"), opdef.key
        if opdef.category == "view":
            assert not opdef.inplace and not opdef.out, opdef.key
        if opdef.differentiable and opdef.category == "pointwise":
            assert {"float", "int", "complex"} & set(opdef.formulas)


def test_roles_are_numbered_as_in_the_interface():
    header = (CORE / "include" / "flambeau" / "abi.h").read_text()
    numbers = {name: int(n) for name, n in re.findall(r"FL_R_(\w+) = (\d+)", header)}
    renamed = {"Mask": "TENSOR", "Str": "STRING"}
    assert {renamed.get(name, name.upper()): n for name, n in ROLES.items()} == numbers


# ---- deleting a definition


@pytest.fixture(scope="module")
def generated(tmp_path_factory):
    """What the generators write, from a copy of the table with one line of it replaced."""
    folder = tmp_path_factory.mktemp("generated")

    def run(name, module=None, line=None):
        core_copy = folder / name / "flambeau" / "core"
        for part in ("formula", "opdefs", "codegen", "bindings", "compat"):
            shutil.copytree(CORE / part, core_copy / part)
        if module is not None:
            path = core_copy / "opdefs" / "families" / module
            text = path.read_text()
            assert len(re.findall(line, text)) == 1
            path.write_text(re.sub(line, "", text))
        out = folder / name / "out"
        shutil.copytree(CORE.parent / "array_api", core_copy.parent / "array_api")
        for module_of_package in ("__init__.py", "rooms.py"):
            shutil.copy(CORE.parent / module_of_package, core_copy.parent)
        command = [sys.executable, str(core_copy / "codegen" / "generate.py"), "--out", str(out),
                   "--stubs", str(out / "stubs")]
        subprocess.run(command, check=True)
        return {str(p.relative_to(out)): p.read_text() for p in out.rglob("*") if p.is_file()}

    return run


TRACES = {
    "ops_table.cpp": ['"tanh"', " p_tanh =", '"tanh__d_self"'],
    "stubs/core/ops.pyi": ["def tanh(", "def tanh__d_self("],
}


def test_deleting_a_row_removes_function_method_inplace_out_stub_and_derivatives(generated):
    whole = generated("whole")
    reduced = generated("reduced", "pointwise/transcendental.py",
                        r'    _real\("tanh", "Hyperbolic tangent\."\),\n')
    assert whole.keys() == reduced.keys()
    for name, traces in TRACES.items():
        for trace in traces:
            assert trace in whole[name], (name, trace)
            assert trace not in reduced[name], (name, trace)
    kernels = "".join(text for name, text in reduced.items() if name.startswith("pw_"))
    assert "fl_k_tanh_" not in kernels
    assert "fl_k_tanh_" in "".join(t for n, t in whole.items() if n.startswith("pw_"))
    # The in-place form and out= are flags of the same entry, and the tests are parametrized by
    # definitions: nothing else names the operator.
    assert '{"tanh", 3, 1, 1,' in whole["ops_table.cpp"]
    assert '{"sinh", 3, 1, 1,' in reduced["ops_table.cpp"]


def test_deleting_a_row_with_a_python_operator_removes_its_slots(generated):
    reduced = generated("slots", "pointwise/arithmetic.py",
                        r'    pointwise\("bitwise_xor\((?:.|\n)*?Bitwise exclusive or\."\),\n')
    assert "__xor__" not in reduced["tensor.pxi"]
    assert "__ixor__" not in reduced["tensor.pxi"]
    assert "__or__" in reduced["tensor.pxi"]


def test_deleting_a_row_removes_its_page():
    pages = Path(__file__).parents[4] / "docs" / "_ext"
    if not (pages / "operator_pages.py").exists():
        pytest.skip("the manual is not beside these tests")
    sys.path.insert(0, str(pages))
    try:
        import operator_pages
    finally:
        sys.path.remove(str(pages))
    listed = {heading for opdef in OPDEFS for heading in operator_pages.headings(opdef)}
    assert any("flambeau.tanh(" in h for h in listed)
    others = [opdef for opdef in OPDEFS if opdef.key != "tanh"]
    assert not any(re.search(r"\btanh_?\(", h) for opdef in others
                   for h in operator_pages.headings(opdef))


# ---- definitions added at run time


def test_a_registered_row_is_like_a_built_in_one():
    op = core.register_op("core_test_axpy(Operand x, Operand y, *, Scalar a=1)", "a * x + y")
    x, y = flambeau.arange(6.0).view(2, 3), flambeau.ones(3)
    assert op(x, y, a=2).tolist() == [[1.0, 3.0, 5.0], [7.0, 9.0, 11.0]]
    assert op(x.int(), 1).dtype is flambeau.int32
    assert op(x, 1j).dtype is flambeau.complex64
    target = flambeau.empty(0)
    assert op(x, y, out=target) is target
    assert "core_test_axpy" in core.op_keys()
    with pytest.raises(ValueError, match="already in the table"):
        core.register_op("core_test_axpy(Operand x)", "x")


@pytest.mark.parametrize(("schema", "formula", "text"), [
    ("f(", "x", "not a schema"), ("f(Thing x)", "x", "roles"), ("f(Operand x)", "x +", "x \\+"),
    ("f(Operand x)", "y", "y"), ("f(Operand x)", "nosuch(x)", "nosuch"),
    ("f(Operand x)", "__import__('os')", "__import__"), ("f(Operand x)", "x.real", "real"),
])
def test_bad_rows_are_refused(schema, formula, text):
    with pytest.raises(ValueError, match=text):
        core.register_op(schema, formula)
    assert "f" not in core.op_keys()


@pytest.mark.parametrize("count, kind, text", [
    (15, "Operand", "at most 14 tensors"), (15, "Scalar", "at most 14 numbers"),
    (40, "Operand", "at most 16 parameters")])
def test_rows_with_more_than_fits_are_refused(count, kind, text):
    names = [f"p{k}" for k in range(count)]
    params = [f"{kind if k or kind == 'Operand' else 'Operand'} {p}" for k, p in enumerate(names)]
    params += ["Scalar last"] if kind == "Scalar" else []
    with pytest.raises(ValueError, match=text):
        core.register_op(f"core_test_long({', '.join(params)})", " + ".join(names))
    assert "core_test_long" not in core.op_keys()
