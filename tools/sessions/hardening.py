"""Sessions that look for crashes, and for what other machines, browsers and Pythons do."""

from __future__ import annotations

import itertools
import shutil

import nox
import steps
from inventory import ROOT
from steps import BY_NAME

TOOLS = ROOT / "tools"


@nox.session(tags=["nightly"], requires=["build"])
def browser(session: nox.Session) -> None:
    """Programs as WebAssembly: the gallery's page, drawn on in Chromium without a screen."""
    needed = {"chromium": "chromium", "chromedriver": "chromium-driver",
              "emcc": "emscripten node-acorn"}
    if absent := [package for program, package in needed.items() if not shutil.which(program)]:
        session.skip(f"apt-get install {' '.join(absent)}")
    steps.install_all(session, "browser")
    folder = ROOT / "build" / "wasm"
    source = BY_NAME["tensor-core"].folder / "cmake" / "wasm"
    session.env["NODE_PATH"] = "/usr/share/nodejs"      # where Debian puts what emcc runs
    session.run("emcmake", "cmake", "-G", "Ninja", "-S", str(source), "-B", str(folder),
                f"-DPython_EXECUTABLE={session.bin}/python", external=True)
    session.run("ninja", "-C", str(folder))
    session.env.update(TESTED_BROWSER="1", TESTED_WEB_RUNTIME=str(folder))
    steps.run_pytest(session, ROOT / "integration-tests" / "browser", "browser")


@nox.session(tags=["nightly"], requires=["build"])
def cross(session: nox.Session) -> None:
    """Machine code ahead of time for aarch64, in an emulator."""
    needed = {"aarch64-linux-gnu-gcc": "gcc-aarch64-linux-gnu", "qemu-aarch64": "qemu-user"}
    if absent := [package for program, package in needed.items() if not shutil.which(program)]:
        session.skip(f"apt-get install {' '.join(absent)}")
    steps.install_all(session, "integration")
    steps.run_pytest(session, ROOT / "integration-tests" / "export" / "test_aot.py", "cross")


@nox.session(tags=["nightly"])
def asan(session: nox.Session) -> None:
    """Operator and autograd tests under AddressSanitizer and UBSan, after a planted overrun."""
    session.install(*steps.group("build"))
    dist = ROOT / "build" / "asan"
    native = [BY_NAME["tensor-core"], BY_NAME["autograd"]]
    options = ["-Ccmake.define.FLAMBEAU_SANITIZE=ON", "-Cinstall.strip=false"]
    steps.build_wheels(session, native, dist, *options)
    needs = steps.test_needs(native)
    steps.install_wheels(session, [p.wheel(dist) for p in native], *steps.group("test"), *needs)
    session.env.update(steps.sanitizer_environment())
    session.run("python", str(TOOLS / "overrun.py"))
    suites = {f"asan-{package.name}": package.folder / "tests" for package in native}
    # Two folders compile C++ of their own and do not run ours. Captured at the level of files, a
    # report would be lost with the process that it ends.
    core_tests = suites["asan-tensor-core"]
    others = [f"--ignore={core_tests / name}" for name in ("formula", "native")]
    # The sanitizer keeps freed memory for a while, so that memory is not flat.
    chosen = ["-m", "not oracle and not slow", "-k", "not resident_memory and not leave_nothing"]
    steps.run_suites(session, suites, *chosen, "--capture=sys", *others)


@nox.session(tags=["nightly"], requires=["build"])
def fuzz(session: nox.Session) -> None:
    """Property tests with new examples, then each fuzzer for some minutes (`-- 60`: seconds)."""
    core = BY_NAME["tensor-core"]
    steps.install_wheels(session, [core.wheel()], *steps.group("test"), *core.test_requires)
    # Guided by coverage where there is a build of atheris for this Python, else by chance.
    session.run("pip", "install", "-q", "--only-binary=:all:", "atheris", success_codes=[0, 1])
    options = ["--hypothesis-profile=nightly", "-p", "no:cacheprovider"]
    tests = core.folder / "tests" / "fuzzing"
    session.run("python", "-m", "pytest", "-q", *options, str(tests / "test_properties.py"))
    seconds = session.posargs[0] if session.posargs else "300"
    for target in ("reading", "writing", "einsum", "files", "harmful"):
        session.run("python", str(tests / "run.py"), target, seconds)


@nox.session(tags=["nightly"], requires=["build"])
def runtime_fuzz(session: nox.Session) -> None:
    """Damaged programs in the runtime with sanitizers, for half an hour (`-- 60`: seconds)."""
    jit, core = BY_NAME["jit"], BY_NAME["tensor-core"]
    steps.install_all(session, "test", *jit.test_requires)
    session.install(*steps.group("core-build"), *sorted(core.build_tools))
    folder = ROOT / "build" / "runtime-fuzz"
    session.run("cmake", "-G", "Ninja", "-S", str(core.folder), "-B", str(folder),
                "-DFLAMBEAU_ISA=native", "-DFLAMBEAU_SANITIZE=ON")
    session.run("ninja", "-C", str(folder), "flambeau_fuzz")
    seconds, *seed = session.posargs or ["1800"]
    script = jit.folder / "tests" / "fuzz_runtime.py"
    with session.chdir(session.create_tmp()):
        session.run("python", str(script), str(folder / "flambeau_fuzz"), seconds, *seed)


@nox.session(tags=["nightly"], requires=["build"])
def fuzz_onnx(session: nox.Session) -> None:
    """Damaged ONNX models are read and run for half an hour (`-- 60`: seconds)."""
    steps.install_all(session, "integration")
    script = ROOT / "integration-tests" / "export" / "fuzz_onnx.py"
    session.run("python", str(script), session.posargs[0] if session.posargs else "1800")


@nox.session(tags=["nightly"], python=["3.13t", "3.14t"])
def freethreaded(session: nox.Session) -> None:
    """Build and test core and autograd in free-threaded Pythons; skipped where there is none.

    Run with the GIL, as Python does by itself with modules that do not declare that they need
    none, and without it, which is for programs that ask for it (docs/design/threads.md).
    """
    session.install(*steps.group("build"))
    dist = ROOT / "build" / f"freethreaded-{session.python}"
    native = [BY_NAME["tensor-core"], BY_NAME["autograd"]]
    steps.build_wheels(session, native, dist)
    # Few projects have wheels for these interpreters, some in older versions only; safetensors,
    # the reference for files, has none.
    session.env["PIP_PREFER_BINARY"] = "1"
    needs = [*steps.group("test"), *BY_NAME["tensor-core"].test_requires]
    needs = [need for need in needs if not need.startswith("safetensors")]
    steps.install_wheels(session, [package.wheel(dist) for package in native], *needs)
    options = ["-c", str(ROOT / "pyproject.toml"), "-m", "not oracle and not slow"]
    for gil, package in itertools.product(("1", "0"), native):
        session.env["PYTHON_GIL"] = gil
        with session.chdir(session.create_tmp()):
            tests = str(package.folder / "tests")
            session.run("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, tests)
