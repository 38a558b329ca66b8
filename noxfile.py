"""Sessions that build, test and document the packages. `nox --list` shows them.

Nothing but nox is needed to run them; `python3 tools/bootstrap.py SESSION` installs even that.
Sessions take their wheels from `dist/`, where `build` puts them once. Tags: `ci` is what the
README's test command runs, `nightly` the long rest.
"""

from __future__ import annotations

import itertools
import os
import shutil
import sys
from pathlib import Path

import nox

ROOT = Path(__file__).parent
sys.path.insert(0, str(ROOT / "tools"))
import array_api as array_api_suite  # noqa: E402
import compat as compat_cases  # noqa: E402
import steps  # noqa: E402
from inventory import DIST, closure, dependency_closed_sets, read_packages  # noqa: E402

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "virtualenv"
nox.options.reuse_venv = "yes"
nox.options.sessions = ["build", "tests"]

PACKAGES = read_packages()
BY_NAME = {package.name: package for package in PACKAGES}
TOOLS = ROOT / "tools"


@nox.session(tags=["ci"])
def build(session: nox.Session) -> None:
    """Sdist, then wheel, of each package that changed, into dist/; prints seconds and sizes.

    In one environment with the tools of all; `asan`, `compat` and `freethreaded` build isolated,
    where a tool that a package forgot to declare is missed.
    """
    tools = {tool for package in PACKAGES for tool in package.build_tools}
    # Most of what the tools bring is never run: Python compiles what is.
    words = ("--no-compile", *steps.group("build"), *steps.group("core-build"))
    session.install(*words, *sorted(tools))
    steps.build_wheels(session, PACKAGES, DIST, isolated=False)


@nox.session(tags=["ci"], requires=["build"])
def lint(session: nox.Session) -> None:
    """Ruff, cython-lint, dead code, words, mypy, and the tests of tools/."""
    install_all(session, "lint")
    session.run("ruff", "check", ".")
    session.run("python", str(TOOLS / "dead_code.py"))
    session.run("python", str(TOOLS / "words.py"))
    session.run("cython-lint", *map(str, sorted(ROOT.glob("packages/*/src"))))
    session.run("mypy", "tools")
    # The installed packages have the stubs that the build generates.
    session.run("mypy", "--package", "flambeau")
    session.run("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", str(TOOLS / "tests"))


@nox.session(tags=["ci"], requires=["build"])
@nox.parametrize("package", [nox.param(name, id=name) for name in BY_NAME])
def tests(session: nox.Session, package: str) -> None:
    """Tests of one package, from wheels, with only what it declares."""
    tested = BY_NAME[package]
    wheels = [each.wheel() for each in closure(tested, PACKAGES)]
    steps.install_wheels(session, wheels, *steps.group("test"), *tested.test_requires)
    options = ["-m", "not oracle and not slow"]
    steps.run_pytest(session, tested.folder / "tests", f"tests-{package}", *options)


@nox.session(tags=["ci"], requires=["build"])
def subset(session: nox.Session) -> None:
    """Every dependency-closed install: what is there works, what is absent explains itself."""
    steps.install_wheels(session, [package.wheel() for package in PACKAGES])
    installed = set(PACKAGES)
    for chosen in dependency_closed_sets(PACKAGES):
        names = [package.distribution for package in chosen]
        if extra := installed - set(chosen):
            session.run("pip", "uninstall", "-qy", *(p.distribution for p in extra), silent=True)
        if absent := set(chosen) - installed:
            session.install("--no-deps", *(str(package.wheel()) for package in absent))
        installed = set(chosen)
        session.run("pip", "check", silent=True)
        with session.chdir(session.create_tmp()):
            session.run("python", str(TOOLS / "subset.py"), *names)


@nox.session(tags=["ci"], requires=["build"])
def integration(session: nox.Session) -> None:
    """integration-tests/ in the full install."""
    install_all(session, "integration")
    session.install("--no-deps", *steps.group("models"))
    options = ["-m", "not oracle and not slow"]
    steps.run_pytest(session, ROOT / "integration-tests", "integration", *options)


@nox.session(tags=["nightly"], requires=["build"])
def oracle(session: nox.Session) -> None:
    """All tests, with PyTorch at hand for expected values; the slow ones too."""
    session.env["FLAMBEAU_KILLS"] = "200"  # processes killed while they save a training state
    session.env["PROGRAM_MUTATIONS"] = "10000"  # damaged files of traced programs
    session.env["TRACED_PROGRAMS"] = "5000"  # random programs that are traced
    install_all(session, "oracle", *(need for each in PACKAGES for need in each.test_requires))
    suites = {f"oracle-{package.name}": package.folder / "tests" for package in PACKAGES}
    steps.run_suites(session, {**suites, "oracle-integration": ROOT / "integration-tests"})


@nox.session(tags=["nightly"], requires=["build"])
def deferring(session: nox.Session) -> None:
    """Tests of the core, autograd, nn and optim as compiled calls, kernels of all sizes waiting."""
    tested = [BY_NAME[name] for name in ("tensor-core", "autograd", "nn", "optim")]
    install_all(session, "test", *(need for each in tested for need in each.test_requires))
    session.env["PYTHONPATH"] = str(TOOLS)
    suites = {f"deferring-{package.name}": package.folder / "tests" for package in tested}
    # Memory and calls that are counted are others where kernels wait.
    counts = "resident_memory or nothing_is_kept_between or test_scopes_and_nodes"
    chosen = ["-m", "not oracle and not slow", "-p", "deferring", "-k", f"not ({counts})"]
    steps.run_suites(session, suites, *chosen)


@nox.session(tags=["ci"], requires=["build"])
def runtime(session: nox.Session) -> None:
    """jit's tests, each program in the runtime without Python as well."""
    jit = BY_NAME["jit"]
    install_all(session, "test", *jit.test_requires)
    session.env["PYTHONPATH"] = f"{TOOLS}{os.pathsep}{jit.folder / 'tests'}"
    steps.run_suites(session, {"runtime": jit.folder / "tests"}, "-p", "in_runtime",
                     "-m", "not oracle and not slow")
    serving = ROOT / "integration-tests" / "test_serving.py"
    steps.run_pytest(session, serving, "serving", "-k", "c++")


@nox.session(tags=["nightly"], requires=["build"])
def browser(session: nox.Session) -> None:
    """Programs as WebAssembly: the gallery's page, drawn on in Chromium without a screen."""
    needed = {"chromium": "chromium", "chromedriver": "chromium-driver",
              "emcc": "emscripten node-acorn"}
    if absent := [package for program, package in needed.items() if not shutil.which(program)]:
        session.skip(f"apt-get install {' '.join(absent)}")
    install_all(session, "browser")
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
    install_all(session, "integration")
    steps.run_pytest(session, ROOT / "integration-tests" / "export" / "test_aot.py", "cross")


@nox.session(tags=["nightly"], requires=["build"])
def devices(session: nox.Session) -> None:
    """All operator tests on the simulated GPU, and kernels read in machine code."""
    cuda = BY_NAME["cuda-backend"]
    install_all(session, "devices", *cuda.test_requires)
    session.env["TESTED_SHARE"] = "1"
    folder = ROOT / "integration-tests" / "devices"
    steps.run_suites(session, {"devices": folder, "devices-cuda": cuda.folder / "tests"})


@nox.session(requires=["build"], default=False)
def gpu(session: nox.Session) -> None:
    """All that is to be known of a GPU, in docs/design/gpu-results.md; `-- --simulate` here."""
    words = [word for word in session.posargs if word != "--simulate"]
    simulated = len(words) < len(session.posargs)
    device, page = ("cudasim", "simulated") if simulated else ("cuda", "gpu")
    install_all(session, "devices", *(() if simulated else ("cupy-cuda12x>=14,<15",)))
    script = ROOT / "integration-tests" / "devices" / "report.py"
    target = ROOT / "docs" / "design" / f"{page}-results.md"
    with session.chdir(session.create_tmp()):
        session.run("python", str(script), "--device", device, "--page", str(target), *words)


@nox.session(tags=["nightly"], requires=["build"])
def programs(session: nox.Session) -> None:
    """100,000 random programs, compiled and as they are: about five hours on one core."""
    install_all(session, "integration")
    session.env["RANDOM_PROGRAMS"] = os.environ.get("RANDOM_PROGRAMS", "100000")
    tests = ROOT / "integration-tests" / "compiled" / "test_random_programs.py"
    steps.run_pytest(session, tests, "programs")


@nox.session(tags=["nightly"], requires=["build"])
def guide(session: nox.Session) -> None:
    """What the guide says of adding an operator, a layer and so on, to the letter, in a copy."""
    install_all(session, "oracle", *(need for each in PACKAGES for need in each.test_requires))
    copy = Path(session.create_tmp()).resolve() / "tree"
    shutil.rmtree(copy, ignore_errors=True)
    leave = shutil.ignore_patterns("build", "dist", "_build", ".*", "*.so", "__pycache__")
    shutil.copytree(ROOT, copy, ignore=leave)
    sources = [copy / each.folder.relative_to(ROOT) / "src" for each in PACKAGES]
    session.env["PYTHONPATH"] = os.pathsep.join(map(str, sources))
    session.run("python", str(TOOLS / "follow_guide.py"), "--tree", str(copy), *session.posargs)


@nox.session(tags=["nightly"], requires=["build"])
def libraries(session: nox.Session) -> None:
    """Libraries written for PyTorch, with Flambeau and with PyTorch; fills their page."""
    folder = ROOT / "integration-tests" / "libraries"
    versions = ("-r", str(folder / "versions.txt"))
    install_all(session, "libraries")
    session.install("--no-deps", *versions)
    ours = Path(session.create_tmp()).resolve()
    pytorch = ours / "pytorch"
    session.run("python", "-m", "virtualenv", "-q", str(pytorch))
    pip = [str(pytorch / "bin" / "python"), "-m", "pip", "install", "-q"]
    session.run(*pip, *steps.group("libraries"), "torch==2.13.0", external=True)
    session.run(*pip, "--no-deps", *versions, external=True)
    page = ROOT / "docs" / "guide" / "libraries.md"
    words = (f"{session.bin}/python", str(pytorch / "bin" / "python"), "--page", str(page))
    session.run("python", str(folder / "run.py"), *words, *session.posargs)


@nox.session(tags=["nightly"], requires=["build"])
def public_programs(session: nox.Session) -> None:
    """Public programs, with Flambeau and with PyTorch: `-- CLONES`; fills their page."""
    if not session.posargs:
        session.skip("say where the clones of the repositories lie")
    install_all(session, "programs")
    session.install("--no-deps", "torchvision")
    pytorch = Path(session.create_tmp()).resolve() / "pytorch"
    session.run("python", "-m", "virtualenv", "-q", str(pytorch))
    pip = [str(pytorch / "bin" / "python"), "-m", "pip", "install", "-q"]
    session.run(*pip, *steps.group("programs"), "torch==2.13.0", external=True)
    session.run(*pip, "--no-deps", "torchvision", external=True)
    clones, *others = session.posargs
    session.env["PYTHONPATH"] = str(TOOLS)
    session.run("python", "-m", "public_programs", clones, f"{session.bin}/python",
                str(pytorch / "bin" / "python"), "--page",
                str(ROOT / "docs" / "guide" / "programs.md"), *others)


@nox.session(requires=["build"], default=False)
def torch_suite(session: nox.Session) -> None:
    """PyTorch's own tests: `-- FOLDER test_torch.py ...`, where FOLDER is its `test/`."""
    if not session.posargs:
        session.skip("say where PyTorch's test/ lies")
    install_all(session, "torch-suite")
    session.run("python", "-m", "tools.torch_suite", *session.posargs)


@nox.session(tags=["nightly"], requires=["build"])
def array_api(session: nox.Session) -> None:
    """The public suite of the array API standard; what may fail is listed with the reason."""
    wheel = BY_NAME["tensor-core"].wheel()
    steps.install_wheels(session, [wheel], *steps.group("array-api"))
    array_api_suite.run(session)


@nox.session(tags=["ci"], requires=["build"])
def demo(session: nox.Session) -> None:
    """Train a small network on real handwritten digits; results go to build/demo."""
    install_all(session, "demo")
    output = ROOT / "build" / "demo"
    script = ROOT / "docs" / "tutorials" / "digits.py"
    with session.chdir(session.create_tmp()):
        session.run("python", str(script), "--out", str(output), *session.posargs)
    session.log(f"Results are in {output}")


@nox.session(tags=["ci"], requires=["build"])
def docs(session: nox.Session) -> None:
    """The manual (warnings are errors), and every example in it and in docstrings."""
    install_all(session, "docs")
    for builder in ("html", "doctest"):
        target = ROOT / "docs" / "_build" / builder
        options = ["-W", "--keep-going", "-q"]
        session.run("sphinx-build", "-b", builder, *options, str(ROOT / "docs"), str(target))
    session.run("python", str(TOOLS / "doctests.py"))


@nox.session(tags=["nightly"], requires=["build"])
def bench(session: nox.Session) -> None:
    """Side by side with PyTorch, into docs/benchmarks.md; small calls of all operators; imports."""
    install_all(session, "bench")
    pair, page = ROOT / "benchmarks" / "pair.py", ROOT / "docs" / "benchmarks.md"
    session.run("python", str(pair), "--page", str(page), *session.posargs)
    session.run("python", str(ROOT / "benchmarks" / "situations.py"))
    session.run("python", str(ROOT / "benchmarks" / "startup.py"))


@nox.session(tags=["nightly"])
def asan(session: nox.Session) -> None:
    """Operator and autograd tests under AddressSanitizer and UBSan, after a planted overrun."""
    session.install(*steps.group("build"))
    dist = ROOT / "build" / "asan"
    native = [BY_NAME["tensor-core"], BY_NAME["autograd"]]
    options = ["-Ccmake.define.FLAMBEAU_SANITIZE=ON", "-Cinstall.strip=false"]
    steps.build_wheels(session, native, dist, *options)
    needs = [need for package in native for need in package.test_requires]
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
    install_all(session, "test", *jit.test_requires)
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
    install_all(session, "integration")
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


@nox.session(tags=["nightly"], requires=["build"])
def compat(session: nox.Session) -> None:
    """Each released package among new siblings, and each new one among released siblings."""
    session.install(*steps.group("build"))
    cases = list(compat_cases.cases(PACKAGES))
    if not cases:
        session.skip("nothing has been released yet")
    for case in cases:
        compat_cases.run_case(session, case, PACKAGES)


@nox.session(name="release", venv_backend="none", default=False)
def release_train(session: nox.Session) -> None:
    """`-- plan` shows what the next train would hold, `-- check FILE` verifies one."""
    session.run(sys.executable, str(TOOLS / "release.py"), *session.posargs, external=True)


@nox.session(venv_backend="none", default=False)
def dev(session: nox.Session) -> None:
    """Editable installs of everything into .venv, for daily work."""
    venv = ROOT / ".venv"
    if not venv.exists():
        session.run(sys.executable, "-m", "virtualenv", "-q", str(venv), external=True)
    pip = [str(venv / "bin" / "python"), "-m", "pip", "install", "-q"]
    session.run(*pip, *steps.group("dev"), external=True)
    for package in PACKAGES:
        options = ["--no-build-isolation", "--editable"]
        session.run(*pip, *options, str(package.folder), external=True)
    session.log(f"Ready: source {venv / 'bin' / 'activate'}")


@nox.session(name="try", default=False)
def try_operator(session: nox.Session) -> None:
    """`-- exp`: build what changed, for this processor alone, and run each test of an operator."""
    if not session.posargs:
        session.error("name an operator: nox -s try -- exp")
    name, *options = session.posargs
    session.install(*steps.group("dev"), *(n for each in PACKAGES for n in each.test_requires))
    for package in PACKAGES:
        steps.install_editable(session, package, ROOT / "build" / "try")
    session.env.update(TRIED_OPERATOR=name, PYTHONPATH=str(TOOLS))
    for suite in (*(each.folder / "tests" for each in PACKAGES), ROOT / "integration-tests"):
        words = ("-q", "-p", "no:cacheprovider", "-p", "only_operator", *options)
        session.run("python", "-m", "pytest", *words, str(suite), success_codes=[0, 5])


@nox.session(venv_backend="none", default=False)
def clean(session: nox.Session) -> None:
    """Remove what sessions wrote: build/, dist/ and docs/_build."""
    for folder in ("build", "dist", "docs/_build"):
        shutil.rmtree(ROOT / folder, ignore_errors=True)


def install_all(session: nox.Session, group: str, *others: str) -> None:
    """Install all six packages, a dependency group and other requirements."""
    wheels = [package.wheel() for package in PACKAGES]
    steps.install_wheels(session, wheels, *steps.group(group), *others)
