"""Files of GGUF: each type as the package gguf itself computes it."""

import numpy as np
import pytest

import flambeau
from flambeau.nn.utils import QuantizedWeight, WeightOnlyLinear, load_gguf

try:
    import gguf
except ImportError:
    gguf = None
pytestmark = pytest.mark.skipif(gguf is None, reason="needs the package gguf")

KEPT = ["Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q4_K"]
SPREAD = ["Q2_K", "Q3_K", "Q5_K", "Q6_K", "IQ4_NL"]


def blocks(kind, rows, columns, seed=0):
    """Random bytes, but for numbers of float16, which are finite."""
    per, size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[kind]]
    rng = np.random.default_rng(seed)
    data = rng.integers(0, 256, (rows, columns // per, size)).astype(np.uint8)
    halves = {"Q4_1": (0, 2), "Q5_1": (0, 2), "Q4_K": (0, 2), "Q5_K": (0, 2), "Q6_K": (208,),
              "Q2_K": (80, 82), "Q3_K": (108,)}.get(kind, (0,))
    for at in halves:
        value = rng.standard_normal((rows, columns // per, 1)).astype(np.float16)
        data[:, :, at:at + 2] = value.view(np.uint8)
    return data.reshape(rows, -1)


def write(path, tensors, **metadata):
    writer = gguf.GGUFWriter(path, "test")
    for key, value in metadata.items():
        writer.add_key_value(key, value, gguf.GGUFValueType.get_type(value))
    for name, (data, kind) in tensors.items():
        writer.add_tensor(name, data, raw_dtype=gguf.GGMLQuantizationType[kind])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.mark.parametrize("kind", KEPT + SPREAD)
def test_quantized_matrices(kind, tmp_path):
    data = blocks(kind, 6, 512)
    want = gguf.quants.dequantize(data, gguf.GGMLQuantizationType[kind])
    path = write(tmp_path / "m.gguf", {"w": (data, kind)})
    plain, few = (load_gguf(path, keep_quantized=keep).tensors["w"] for keep in (False, True))
    assert (plain.numpy() == want).all()
    if kind in SPREAD:
        assert (few.numpy() == want).all()
        return
    assert isinstance(few, QuantizedWeight) and (few.dequantize().numpy() == want).all()
    x = flambeau.randn(3, 512)
    bound = 1e-6 * (np.abs(x.numpy()) @ np.abs(want).T)
    assert (np.abs(WeightOnlyLinear(few)(x).numpy() - x.numpy() @ want.T) <= 10 * bound).all()


def test_one_block_a_row(tmp_path):
    data = blocks("Q8_0", 3, 32)
    few = load_gguf(write(tmp_path / "m.gguf", {"w": (data, "Q8_0")})).tensors["w"]
    assert (few.dequantize().numpy() ==
            gguf.quants.dequantize(data, gguf.GGMLQuantizationType.Q8_0)).all()


def test_floats_and_metadata(tmp_path):
    rng = np.random.default_rng(0)
    wide = rng.standard_normal((2, 3, 4)).astype(np.float32)
    brain = gguf.quants.quantize(wide.reshape(6, 4), gguf.GGMLQuantizationType.BF16)
    read = load_gguf(write(tmp_path / "m.gguf", {
        "f32": (wide, "F32"), "f16": (wide.astype(np.float16), "F16"), "bf16": (brain, "BF16"),
    }, words=["a", "b"], size=7, name="näme", on=True))
    assert (read.tensors["f32"].numpy() == wide).all()
    assert (read.tensors["f16"].numpy() == wide.astype(np.float16)).all()
    assert flambeau.equal(read.tensors["bf16"],
                          flambeau.tensor(wide.reshape(6, 4)).to(flambeau.bfloat16))
    for key, value in {"words": ["a", "b"], "size": 7, "name": "näme", "on": True,
                       "general.architecture": "test"}.items():
        assert read.metadata[key] == value


def test_damaged_files(tmp_path):
    path = write(tmp_path / "m.gguf", {"w": (blocks("Q8_0", 3, 64), "Q8_0")}, size=7)
    whole = path.read_bytes()
    broken = tmp_path / "broken.gguf"
    for damaged in (b"", b"GGUF", b"not a model at all, but a text", whole[:20], whole[:60],
                    whole[:-40], b"XXXX" + whole[4:], whole[:4] + b"\x63" + whole[5:],
                    whole[:16] + b"\xff" * 8 + whole[24:]):
        broken.write_bytes(damaged)
        with pytest.raises(ValueError, match="is no whole file of GGUF"):
            load_gguf(broken)
    with pytest.raises(FileNotFoundError):
        load_gguf(tmp_path / "missing.gguf")
