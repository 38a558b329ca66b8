"""Machine code on disk: found again by other processes, and never trusted."""

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import flambeau
from flambeau import jit
from flambeau.core import _core
from flambeau.jit import cache, compiling
from flambeau.jit.cache import disk, kernels, plans
from flambeau.jit.llvm.link import CannotLinkError, link

X = flambeau.randn(50, 6)
COMPILES = """
import sys, flambeau as fl
from flambeau import jit
from flambeau.jit import compiling
fl.core._core.configure_deferral(compiling.make_plan, 1)
fn = jit.compile(lambda x, p: ((x * 2 + 1).tanh().exp() - x).sin() + x ** p)
x = fl.arange(300.0).view(3, 100) / 30
print([float(fn(x, p).sum()) for p in (2.0, 0.5, 2)], x.mul(1).t().contiguous().sum().item())
costly = ("llvmlite.binding", "flambeau.core.opdefs", "flambeau.jit.deferral")
print(sorted(name for name in sys.modules if name.startswith(costly)))
"""


STEPS = """
import sys
import flambeau as fl
w = fl.nn.Parameter(fl.arange(6.0))
optimizer = fl.optim.AdamW([w], lr=0.1)
@fl.compile
def step():
    optimizer.zero_grad()
    (w * w).sum().backward()
    optimizer.step()
step()
step()
print(w.tolist())
costly = ("llvmlite.binding", "flambeau.jit.llvm")
print(sorted(name for name in sys.modules if name.startswith(costly)))
"""


#: In a file, which replays read: loops of a recording, and blocks of rows.
REPLAYS = """
import sys, flambeau as fl
def fn(x, y):
    return ((x * 2 + 1).tanh() - x).softmax(-1) + y.exp(), (y + 1).sin()
replayed = fl.compile(fn, replay=True)
x, y = fl.arange(300.0).view(3, 100) / 30, fl.ones(3, 1)
for _ in range(4):
    results = replayed(x, y)
print([each.tolist() for each in results] == [each.tolist() for each in fn(x, y)],
      "replayed: " in replayed.explain(), float(results[0].sum()))
costly = ("llvmlite.binding", "flambeau.core.formula", "flambeau.core.opdefs", "flambeau.jit.llvm",
          "flambeau.jit.deferral")
print(sorted(name for name in sys.modules if name.startswith(costly)))
"""


@pytest.fixture
def stored(tmp_path, monkeypatch):
    """A cache of its own, small kernels that wait, and nothing planned."""
    store = kernels.KernelCache(disk=disk.Disk(str(tmp_path / "code")))
    monkeypatch.setattr(plans, "KERNELS", store)
    monkeypatch.setattr(kernels, "KERNELS", store)
    monkeypatch.setattr("flambeau.jit.llvm.launch.KERNELS", store)
    _core.configure_deferral(compiling.make_plan, 1)
    _core.forget_plans()
    yield store
    _core.configure_deferral(compiling.make_plan)
    _core.forget_plans()


def block(x):
    return (x * 2 + 1).sin().exp() - x, x.fmod(2) + 1


def files(store):
    return sorted(os.listdir(store.disk.path))


def run(monkeypatch=None, program=COMPILES, **environ):
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          check=False, env={**os.environ, **environ})
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines(), done.stderr


def test_update_rules_of_another_process(tmp_path):
    pytest.importorskip("flambeau.optim", reason="needs flambeau-optim")
    pytest.importorskip("flambeau.nn", reason="needs flambeau-nn")
    where = str(tmp_path / "cache")
    (first, modules), _ = run(program=STEPS, FLAMBEAU_CACHE_DIR=where)
    assert "llvmlite.binding" in modules
    (second, modules), _ = run(program=STEPS, FLAMBEAU_CACHE_DIR=where)
    assert (second, modules) == (first, "[]")
    largest = max((tmp_path / "cache" / "code").iterdir(), key=lambda file: file.stat().st_size)
    largest.unlink()            # the code, and not what names it
    (third, modules), _ = run(program=STEPS, FLAMBEAU_CACHE_DIR=where)
    assert third == first
    assert "llvmlite.binding" in modules


def test_another_process_needs_no_compiler(tmp_path):
    where = str(tmp_path / "cache")
    (first, modules), _ = run(FLAMBEAU_CACHE_DIR=where)
    assert "llvmlite.binding" in modules
    (second, modules), _ = run(FLAMBEAU_CACHE_DIR=where)
    assert (second, modules) == (first, "[]")
    (third, modules), _ = run(FLAMBEAU_CACHE_DIR="")
    assert third == first
    assert "llvmlite.binding" in modules
    folder = os.stat(os.path.join(where, "code"))
    assert stat.S_IMODE(folder.st_mode) == 0o700


def test_replays_of_another_process_need_no_compiler(tmp_path):
    (tmp_path / "replays.py").write_text(REPLAYS)
    program = "import replays"
    environ = {"PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    where = str(tmp_path / "cache")
    (first, modules), _ = run(program=program, FLAMBEAU_CACHE_DIR=where, **environ)
    assert first.startswith("True True")
    assert "llvmlite.binding" in modules
    (second, modules), _ = run(program=program, FLAMBEAU_CACHE_DIR=where, **environ)
    assert (second, modules) == (first, "[]")
    largest = max((tmp_path / "cache" / "code").iterdir(), key=lambda file: file.stat().st_size)
    largest.unlink()            # the code, and not what names it
    (third, modules), _ = run(program=program, FLAMBEAU_CACHE_DIR=where, **environ)
    assert third == first
    assert "llvmlite.binding" in modules


def again(fn, store):
    """Call a function with nothing but files left."""
    store.clear()
    _core.forget_plans()
    return jit.compile(fn)(X)


def test_code_from_disk_computes_the_same(stored, monkeypatch):
    wanted = [tensor.tolist() for tensor in block(X)]
    found = [[tensor.tolist() for tensor in again(block, stored)] for _ in range(2)]
    assert found == [wanted, wanted]
    monkeypatch.setattr("flambeau.jit.llvm.engine._target", None)      # nothing can be compiled
    assert [tensor.tolist() for tensor in again(block, stored)] == wanted


@pytest.mark.parametrize("damage", [
    lambda data: b"", lambda data: data[:40], lambda data: data[:-1], lambda data: data + b"x",
    lambda data: data[:50] + bytes([data[50] ^ 1]) + data[51:], lambda data: os.urandom(len(data)),
    lambda data: bytes(len(data))])
def test_damaged_files_are_written_anew(stored, damage):
    again(block, stored)
    folder = Path(stored.disk.path)
    right = {name: (folder / name).read_bytes() for name in files(stored)}
    assert len(right) > 1
    for name, data in right.items():
        (folder / name).write_bytes(damage(data))
    wanted = [tensor.tolist() for tensor in block(X)]
    assert [tensor.tolist() for tensor in again(block, stored)] == wanted
    assert {name: (folder / name).read_bytes() for name in files(stored)} == right


def test_files_under_other_names_are_foreign(stored):
    again(block, stored)
    names = files(stored)
    for one, other in zip(names, names[1:] + names[:1], strict=True):
        os.rename(os.path.join(stored.disk.path, one), os.path.join(stored.disk.path, other + "-"))
    for other in names:
        os.rename(os.path.join(stored.disk.path, other + "-"),
                  os.path.join(stored.disk.path, other))
    assert [stored.disk.get(name) for name in names] == [None] * len(names)
    assert files(stored) == []


def test_what_is_no_file_of_ours_is_ignored(stored, tmp_path):
    again(block, stored)
    name = files(stored)[0]
    path = os.path.join(stored.disk.path, name)
    right = stored.disk.get(name)
    os.rename(path, tmp_path / "elsewhere")
    os.symlink(tmp_path / "elsewhere", path)
    assert stored.disk.get(name) is None
    os.unlink(path)
    os.mkfifo(path, 0o600)
    assert stored.disk.get(name) is None
    assert not os.path.lexists(path)
    os.mkdir(path)
    assert stored.disk.get(name) is None
    os.rmdir(path)
    stored.disk.put(name, right)
    assert stored.disk.get(name) == right
    os.chmod(path, 0o666)
    assert stored.disk.get(name) is None, "others could write to it"


@pytest.mark.parametrize("spoil", ["others", "not a directory", "link"])
def test_directories_of_others_are_refused_once(tmp_path, monkeypatch, spoil):
    path = str(tmp_path / "code")
    if spoil == "not a directory":
        Path(path).touch()
    elif spoil == "link":
        os.mkdir(tmp_path / "there", 0o700)
        os.symlink(tmp_path / "there", path)
    else:
        os.mkdir(path, 0o777)
        os.chmod(path, 0o777)
    store = disk.Disk(path)
    with pytest.warns(RuntimeWarning, match="compiled code is not kept in .* FLAMBEAU_CACHE_DIR"):
        store.put("0" * 64, b"x")
    store.put("0" * 64, b"x")
    assert store.get("0" * 64) is None
    assert spoil == "not a directory" or os.listdir(path) == []


def test_directories_of_other_users_are_refused(tmp_path, monkeypatch):
    path = str(tmp_path / "code")
    disk.Disk(path).put("0" * 64, b"x")
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.warns(RuntimeWarning, match="theirs"):
        assert disk.Disk(path).get("0" * 64) is None


def test_a_directory_that_cannot_be_made(tmp_path):
    (tmp_path / "file").touch()
    (first, _), said = run(FLAMBEAU_CACHE_DIR=str(tmp_path / "file" / "below"))
    assert said.count("compiled code is not kept") == 1
    assert first == run(FLAMBEAU_CACHE_DIR="")[0][0]


def test_where_files_are(monkeypatch, tmp_path):
    for name in ("FLAMBEAU_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/someone")
    assert disk.directory() == "/home/someone/.cache/flambeau/code"
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
    assert disk.directory() == "/home/someone/.cache/flambeau/code"
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert disk.directory() == "/caches/flambeau/code"
    monkeypatch.setenv("FLAMBEAU_CACHE_DIR", str(tmp_path))
    assert disk.directory() == str(tmp_path / "code")
    monkeypatch.setenv("FLAMBEAU_CACHE_DIR", "")
    assert disk.directory() is None
    disk.Disk(None).put("0" * 64, b"x")
    assert disk.Disk(None).get("0" * 64) is None


def test_size_is_bounded(tmp_path):
    store = disk.Disk(str(tmp_path / "code"))
    for number in range(20):
        store.put(f"{number:064x}", bytes(8192))
        os.utime(os.path.join(store.path, f"{number:064x}"), (number, number))
    os.utime(os.path.join(store.path, f"{0:064x}"))
    left = Path(store.path, disk._TEMPORARY + "left")
    left.touch()
    os.utime(left, (1, 1))
    folder = os.open(store.path, os.O_RDONLY)
    disk.sweep(folder, 20 * 9000)
    assert not left.exists()
    assert len(os.listdir(store.path)) == 20
    disk.sweep(folder, 40960)
    os.close(folder)
    assert sorted(os.listdir(store.path)) == [f"{0:064x}", f"{18:064x}", f"{19:064x}"]


def test_many_writers(tmp_path):
    """Readers see a whole file or none."""
    store, seen = disk.Disk(str(tmp_path / "code")), set()
    contents = [bytes([number]) * (1000 + 500 * number) for number in range(4)]

    def work(content):
        for _ in range(50):
            store.put("0" * 64, content)
            seen.add(store.get("0" * 64))

    threads = [threading.Thread(target=work, args=(content,)) for content in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen <= {*contents}
    assert os.listdir(store.path) == ["0" * 64]


def test_sources_and_machines_have_files_of_their_own(monkeypatch):
    name = cache.stamp.name_of("kernel", b"key")
    assert cache.stamp.name_of("plan", b"key") != name
    assert cache.stamp.name_of("kernel", b"keys") != name
    real = cache.stamp.stamp()
    cache.stamp.stamp.cache_clear()
    monkeypatch.setattr(_core, "isa_level", lambda: "v1")
    assert cache.stamp.stamp() != real
    cache.stamp.stamp.cache_clear()


def test_plans_with_what_only_this_process_has_stay_here(stored):
    kernel = stored.get("key", lambda: "define void @kernel(ptr %w, i64 %b, i64 %e) {\n"
                                       "  ret void\n}\n")
    step = (kernel.address, 10, (0, 1), (), (), (1, 2, 3))
    plan = plans.StoredPlan([step, (0,)], ["a", "b"], [kernel], (0,))
    packed = plans.pack(plan)
    found = plans.unpack(packed, stored)
    assert (found.steps, found.about, found.alone) == (plan.steps, plan.about, plan.alone)
    rows = ((step, (1, 2)), "softmax", None, 1.5)
    packed_rows = plans.pack(plans.StoredPlan([rows], [], [kernel]))
    assert plans.unpack(packed_rows, stored).steps == [rows]
    for other in [(1 << 40, *step[1:]), (*step[:5], (-(1 << 45),)), (X,), (b"x",)]:
        assert plans.pack(plans.StoredPlan([other], [], [kernel])) is None
    stored.clear()
    os.unlink(os.path.join(stored.disk.path, kernel.name))
    assert plans.unpack(packed, stored) is None


def test_machine_code_must_be_sound():
    with pytest.raises(ValueError, match="outside"):
        _core.MachineCode(b"\xc3", 1)
    with pytest.raises(ValueError, match="'no_such_function'"):
        _core.MachineCode(bytes(16), 0, [(0, "no_such_function")])
    with pytest.raises(ValueError, match="'sin'"):
        _core.MachineCode(bytes(16), 0, [(9, "sin")])
    for data in (b"", b"\x7fELF\x02\x01" + bytes(90), b"MZ" + bytes(90)):
        with pytest.raises(CannotLinkError):
            link(data, "kernel")


REGISTERED = """
import sys, flambeau as fl
from flambeau import jit
from flambeau.jit import compiling
op = fl.core.register_op("scaled_for_a_test(Operand self)", formula=sys.argv[1])
fl.core._core.configure_deferral(compiling.make_plan, 1)
print(jit.compile(lambda x: op(x * 2))(fl.ones(3)).tolist())
"""


def test_operators_of_programs_have_the_formula_of_their_process(tmp_path):
    for formula, wanted in (("self + 1", 3.0), ("self * 10", 20.0)):
        done = subprocess.run([sys.executable, "-c", REGISTERED, formula], capture_output=True,
                              text=True, check=False,
                              env={**os.environ, "FLAMBEAU_CACHE_DIR": str(tmp_path)})
        assert done.stdout == f"{[wanted] * 3}\n", done.stderr


def test_processes_at_once(tmp_path):
    command = [sys.executable, "-c", COMPILES]
    environ = {**os.environ, "FLAMBEAU_CACHE_DIR": str(tmp_path)}
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environ)
               for _ in range(3)]
    found = {each.communicate()[0].splitlines()[0] for each in running}
    assert len(found) == 1
    assert all(each.returncode == 0 for each in running)


def test_systems_whose_files_are_not_linked_compile_in_memory(stored, monkeypatch):
    def unknown(data, function):
        raise CannotLinkError("another format")

    monkeypatch.setattr("flambeau.jit.llvm.engine.link", unknown)
    wanted = [tensor.tolist() for tensor in block(X)]
    for _ in range(2):
        assert [tensor.tolist() for tensor in again(block, stored)] == wanted
    assert all(stored.disk.get(name)[:1] != b"\x7f" for name in files(stored))
    kernel = next(iter(stored._kernels.values()))
    assert type(kernel.code).__name__ == "Engine"
