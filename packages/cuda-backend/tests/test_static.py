"""What hot kernels are compiled to, read from machine code: no spills, wide accesses."""
from __future__ import annotations

import pytest

from flambeau.cuda import source, static

needs_compilers = pytest.mark.skipif(static.missing() is not None,
                                     reason=static.missing() or "everything is here")


@pytest.fixture(scope="module")
def readings():
    return {names: static.read(*names) for names in static.HOT}


@needs_compilers
def test_no_hot_kernel_spills(readings):
    spilling = [r.kernel for found in readings.values() for r in found
                if r.spilled_bytes]
    assert not spilling
    # Sines of large arguments look numbers up in an array of their own.
    stacked = {r.kernel.split("_")[1] for found in readings.values() for r in found
               if r.stack_bytes}
    assert stacked <= {"sin", "cos", "tan"}


@needs_compilers
def test_streaming_kernels_access_128_bits_at_once(readings):
    """The result at least, and an operand where one is read, of each kernel that takes packs."""
    checked = 0
    for (group, kind), found in readings.items():
        by_name = {r.kernel: r for r in found}
        for key, name in source._groups().items() if kind == "f32" else ():
            opdef = source.find_opdef(key)
            if name != group or "float" not in opdef.formulas:
                continue
            if source.pack_width(key, kind) > 1 and source.result_kind(opdef, kind) == kind:
                reading = by_name[f"{source.kernel_name(opdef, kind)}_near"]
                assert reading.wide_accesses >= 1 + ("sign__" not in key), reading
                checked += 1
    assert checked > 40


@needs_compilers
def test_near_kernels_fill_half_of_a_multiprocessor(readings):
    low = [r for found in readings.values() for r in found
           if r.kernel.endswith("_near") and r.occupancy() < 0.5]
    assert not low


@needs_compilers
@pytest.mark.parametrize("architecture", ["sm_90", "sm_100"])
def test_later_architectures_spill_no_more(architecture):
    found = static.read("plain0", "f32", architecture)
    assert not [r.kernel for r in found if r.spilled_bytes]
    assert all(r.instructions and r.registers for r in found)


#: Kernels of a loss, which do not stream, of a norm and of dropout.
ROWS = ("nll_loss", "nll_loss_grad", "rms_norm", "rms_norm_grad", "dropout")


@needs_compilers
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90", "sm_100"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("group", ROWS)
def test_loss_norm_and_dropout_do_not_spill(group, dtype, architecture):
    found = static.read(group, dtype, architecture)
    assert found and not [r for r in found if r.spilled_bytes]
    assert all(r.occupancy() >= 0.375 for r in found), found
    streaming = [r for r in found if r.kernel.startswith(f"{group}_warp")] or found
    assert group.startswith("nll") or all(r.wide_accesses for r in streaming), streaming


@needs_compilers
def test_a_kernel_that_spills_is_seen(monkeypatch):
    text = """
extern "C" __global__ void __launch_bounds__(1024, 2) spilling(const fl_call<1> c) {
    float v[96];
    for (int k = 0; k < 96; k++) v[k] = ((float *)c.args[0].data)[k * 32 + threadIdx.x];
    for (int k = 0; k < 96; k++) v[k] += v[(k + 7) % 96] * v[(k * 31) % 96];
    __syncthreads();
    for (int k = 0; k < 96; k++) ((float *)c.args[0].data)[k * 32 + threadIdx.x] = v[k];
}"""
    module = source.Module(source.prelude() + text, {"spilling": "fl_call<1>"})
    monkeypatch.setattr(source, "module", lambda group, kind: module)
    reading, = static.read("planted", "f32")
    assert reading.spilled_bytes > 0


def test_occupancy_follows_registers_and_shared_memory():
    reading = static.Reading("k", "sm_80", registers=32)
    assert reading.occupancy() == 1.0
    reading.registers = 64
    assert reading.occupancy() == 0.5
    reading.shared_bytes = 100 << 10
    assert reading.occupancy() == 0.125


def test_what_is_missing_is_named(monkeypatch):
    monkeypatch.setattr(static, "missing", lambda: "needs the wheel nvidia-cuda-nvcc-cu12")
    with pytest.raises(RuntimeError, match="pip install"):
        static.read("plain0", "f32")
    assert static.main([]) == 1


@needs_compilers
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_update_rules_stream(dtype):
    """All operands are loaded and stored by packs of 16 bytes."""
    from flambeau.core import register_op

    name = f"static_step_{dtype}"
    register_op(f"{name}(Tensor(!) param, Tensor(!) buffer, Tensor grad, *, Float lr, Float keep)"
                " -> (Tensor param, Tensor buffer)",
                float="param - lr * fma(keep, buffer, grad), fma(keep, buffer, grad)",
                differentiable=False)
    reading, = static.read(f"update_{name}", dtype)
    assert reading.wide_accesses == 5 and not reading.spilled_bytes, reading


@needs_compilers
@pytest.mark.parametrize(("group", "dtype"), [("softmax", "float32"), ("softmax_grad", "float16"),
                                              ("batch_norm_grad", "bfloat16")])
def test_kernels_over_rows_load_packs(group, dtype):
    found = static.read(group, dtype)
    assert len(found) == 4
    for reading in found:
        assert reading.wide_accesses and not reading.spilled_bytes, reading
        assert reading.occupancy() >= 0.5, reading
