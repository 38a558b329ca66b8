"""Programs as files: a round trip through another process, and files that are not what they say."""

import json
import os
import subprocess
import sys
import zipfile

import pytest
from replay import same

import flambeau
from flambeau import jit
from flambeau.core import ops

X = flambeau.randn(4, 6)


def net():
    w, b = flambeau.randn(5, 6), flambeau.randn(5)
    mask = lambda n: flambeau.ones(n, n).tril()  # noqa: E731

    def forward(x, scale):
        h = ops.gelu(ops.linear(x, w, b)) * scale["by"]
        h[:, 0] = -0.0
        return h @ mask(5), {"half": h.to(flambeau.bfloat16), "total": h.sum() / x.shape[0]}

    return forward


@pytest.fixture
def saved(tmp_path):
    program = jit.trace(net(), (X, {"by": 0.1}))
    path = tmp_path / "net.program"
    program.save(path)
    return program, path


def test_round_trip(saved):
    program, path = saved
    loaded = jit.load(path)
    assert str(loaded.graph) == str(program.graph)
    for n in (1, 4, 9):
        x = flambeau.randn(n, 6)
        (a, b), (c, d) = program(x, {"by": 0.1}), loaded(x, {"by": 0.1})
        assert same(a, c)
        assert same(b["half"], d["half"])
        assert same(b["total"], d["total"])


def test_loaded_weights_are_its_own(saved):
    program, path = saved
    loaded = jit.load(path)
    before = program(X, {"by": 0.1})[0]
    loaded.graph.captures[0].tensor.zero_()
    assert same(program(X, {"by": 0.1})[0], before)


def test_another_process(saved, tmp_path):
    program, path = saved
    x = flambeau.randn(7, 6)
    flambeau.save({"x": x, "y": program(x, {"by": 0.1})[0]}, tmp_path / "x")
    code = (
        "import flambeau, sys\n"
        "from flambeau import jit\n"
        "data = flambeau.load(sys.argv[2])\n"
        "y = jit.load(sys.argv[1])(data['x'], {'by': 0.1})[0]\n"
        "assert (y == data['y']).all()\n"
        "assert 'flambeau.nn' not in sys.modules\n"
        "print('equal')\n"
    )
    command = [sys.executable, "-c", code, str(path), str(tmp_path / "x")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == "equal\n", done.stderr


@pytest.mark.parametrize("count", range(1, 5))
def test_weights_lie_aligned_in_the_file(tmp_path, count):
    tables = [flambeau.ones(4 * k) for k in range(1, count + 1)]
    path = tmp_path / ("x" * count)
    jit.trace(lambda x: [x * each.sum() for each in tables], flambeau.ones(2)).save(path)
    raw = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        start = raw.index(archive.read("weights.safetensors"))
    length = int.from_bytes(raw[start : start + 8], "little")
    begins = [entry["data_offsets"][0]
              for entry in json.loads(raw[start + 8 : start + 8 + length]).values()]
    assert len(begins) == count
    assert [(start + 8 + length + begin) % 16 for begin in begins] == [0] * count


def test_special_numbers(tmp_path):
    def fn(x):
        return x * float("inf"), x + -0.0, x * 1e-45, x + True, x.clamp(max=float("nan"))

    program = jit.trace(fn, X)
    program.save(tmp_path / "p")
    loaded = jit.load(tmp_path / "p")
    assert all(same(a, b) for a, b in zip(loaded(X), fn(X), strict=True))


def test_save_names_no_folders(saved):
    with zipfile.ZipFile(saved[1]) as archive:
        text = archive.read("graph.json").decode()
    assert "test_archive.py:" in text
    assert os.path.dirname(__file__) not in text


def test_generators_cannot_be_saved(tmp_path):
    generator = flambeau.Generator()
    fn = lambda x: x + flambeau.rand(x.shape, generator=generator)  # noqa: E731
    program = jit.trace(fn, X)
    with pytest.raises(jit.ProgramError, match="generator"):
        program.save(tmp_path / "p")
    assert os.listdir(tmp_path) == []


def test_a_failed_save_leaves_the_old_file(saved, monkeypatch):
    program, path = saved
    before = path.read_bytes()
    monkeypatch.setattr(os, "replace", lambda *a: (_ for _ in ()).throw(OSError("disk")))
    with pytest.raises(OSError, match="disk"):
        program.save(path)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


# ---- hostile files ----


def rewrite(path, compress=zipfile.ZIP_STORED, extra=(), **changes):
    """The file again with entries changed by functions of their bytes."""
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", compress) as archive:
        for name, content in entries.items():
            change = changes.get(name.split(".")[0])
            archive.writestr(name, change(content) if change else content)
        for name in extra:
            archive.writestr(name, b"")


def edit(path, change):
    """Change the JSON of the graph."""

    def apply(content):
        data = json.loads(content)
        change(data)
        return json.dumps(data).encode()

    rewrite(path, graph=apply)


def refused(path, *words):
    with pytest.raises(jit.ProgramError) as error:
        jit.load(path)
    for word in (str(path), *words):
        assert word in str(error.value)


@pytest.mark.parametrize("content", [b"", b"PK", b"not a zip", b"\x00" * 1000])
def test_not_a_zip(tmp_path, content):
    path = tmp_path / "p"
    path.write_bytes(content)
    refused(path, "not a program")


def test_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        jit.load(tmp_path / "nothing")


def test_every_truncation(saved):
    path = saved[1]
    whole = path.read_bytes()
    for keep in range(0, len(whole), max(1, len(whole) // 60)):
        path.write_bytes(whole[:keep])
        refused(path)


def test_flipped_bytes(saved):
    """Zip's checksums catch them, wherever they are."""
    path = saved[1]
    whole = path.read_bytes()
    for index in range(30, len(whole) - 300, max(1, len(whole) // 50)):
        damaged = bytearray(whole)
        damaged[index] ^= 0x40
        path.write_bytes(damaged)
        try:
            jit.load(path)
        except jit.ProgramError:
            continue
        assert damaged[index : index + 1] not in b"{}[]\":,", index


def test_compressed_entries(saved):
    rewrite(saved[1], zipfile.ZIP_DEFLATED)
    refused(saved[1], "stored, not compressed")


def test_other_entries(saved):
    rewrite(saved[1], extra=("../../evil.py",))
    refused(saved[1], "exactly version.json")


@pytest.mark.parametrize(("version", "words"), [
    ({"format": "flambeau-program", "version": 99}, "pip install --upgrade flambeau-jit"),
    ({"format": "other", "version": 1}, "does not say"),
    ([], "does not say"),
])
def test_versions(saved, version, words):
    rewrite(saved[1], version=lambda _: json.dumps(version).encode())
    refused(saved[1], words)


BAD_JSON = [b"{", b"\xff\xfe", b"[" * 100000, b"null", b"{}", b'{"graph": 1}']


@pytest.mark.parametrize("text", BAD_JSON)
def test_bad_json(saved, text):
    rewrite(saved[1], graph=lambda _: text)
    refused(saved[1], "graph.json")


def first_node(data):
    return data["graph"]["nodes"][0]


@pytest.mark.parametrize(("change", "words"), [
    (lambda d: first_node(d).update(op="os.system"), "no operator 'os.system'"),
    (lambda d: first_node(d)["args"].pop(), "arguments for the parameters"),
    (lambda d: first_node(d)["args"].__setitem__(0, {"value": 10**6}), "not a graph"),
    (lambda d: first_node(d)["args"].__setitem__(0, {"value": -1}), "not a graph"),
    (lambda d: first_node(d)["args"].__setitem__(0, {"evil": 1}), "unknown literal"),
    (lambda d: first_node(d)["args"].__setitem__(0, "text"), "does not fit"),
    (lambda d: first_node(d)["outputs"][0].update(shape=[1, 1]), "the operator gives"),
    (lambda d: first_node(d)["outputs"][0].update(shape=[-1, 5]), "is not a size"),
    (lambda d: first_node(d)["outputs"][0].update(shape=5), "a list is expected"),
    (lambda d: first_node(d)["outputs"][0].update(dtype="float99"), ""),
    (lambda d: d["graph"].update(outputs=[10**9]), "not a graph"),
    (lambda d: d["graph"].update(symbols={"N": [0]}), "'N'"),
    (lambda d: d["graph"].update(symbols={}), "'N' is no symbol"),
    (lambda d: d["graph"]["captures"][0].update(name="other"), "weights.safetensors"),
    (lambda d: d["graph"]["captures"][0].update(shape=[1]), "weights.safetensors"),
    (lambda d: d["graph"].update(writes=[[10**6, 0]]), "not a graph"),
    (lambda d: d["graph"]["inputs"][0].update(device="nowhere"), ""),
    (lambda d: d.update(gives={"tensor": 77}), "not a structure"),
    (lambda d: d.update(gives={"is": {"deep": 1}}), "not a structure"),
    (lambda d: d.update(takes=[1]), "not a structure"),
    (lambda d: d.update(more=1), "graph.json must hold"),
])
def test_changed_graphs(saved, change, words):
    edit(saved[1], change)
    refused(saved[1], words)


def test_a_region_may_hold_pointwise_operators_only(tmp_path):
    path = tmp_path / "p"
    jit.trace(lambda x: x.exp() + 1, X).save(path)

    def change(data):
        node = next(n for n in data["graph"]["nodes"] if "body" in n)
        inner = node["body"]["nodes"][0]
        inner["op"], inner["args"] = "softmax", [{"value": 0}, 1, None]

    edit(path, change)
    refused(path, "is not pointwise")


def test_bad_weights(saved):
    rewrite(saved[1], weights=lambda content: content[:-4])
    refused(saved[1], "weights.safetensors")
    rewrite(saved[1], weights=lambda content: b"\xff" * 8 + content)
    refused(saved[1], "weights.safetensors")


def test_programs_go_through_open_files():
    import io

    memory = io.BytesIO()
    jit.save(jit.trace(lambda x: x * 2, flambeau.ones(2)), memory)
    memory.seek(0)
    assert jit.load(memory)(flambeau.full((2,), 3.0)).tolist() == [6.0, 6.0]
    with pytest.raises(jit.ProgramError, match="load"):
        jit.load(io.BytesIO(b"no program"))
