"""Sessions that build, test and document the packages. `nox --list` shows them.

Nothing but nox is needed to run them; `python3 tools/bootstrap.py SESSION` installs even that.
Sessions take their wheels from `dist/`, where `build` puts them once. Tags: `ci` is what the
README's test command runs, `nightly` the long rest. Sessions that compare with PyTorch and those
that look for crashes are in `tools/sessions`.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import nox

ROOT = Path(__file__).parent
sys.path.insert(0, str(ROOT / "tools"))
import compat as compat_cases  # noqa: E402
import steps  # noqa: E402
from inventory import DIST, closure, dependency_closed_sets  # noqa: E402
from sessions import hardening, peers  # noqa: E402, F401
from steps import BY_NAME, PACKAGES  # noqa: E402

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "virtualenv"
nox.options.reuse_venv = "yes"
nox.options.sessions = ["build", "tests"]

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
    steps.install_all(session, "lint")
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
    steps.install_all(session, "integration")
    session.install("--no-deps", *steps.group("models"))
    options = ["-m", "not oracle and not slow"]
    steps.run_pytest(session, ROOT / "integration-tests", "integration", *options)


@nox.session(tags=["nightly"], requires=["build"])
def oracle(session: nox.Session) -> None:
    """All tests, with PyTorch at hand for expected values; the slow ones too."""
    session.env["FLAMBEAU_KILLS"] = "200"  # processes killed while they save a training state
    session.env["PROGRAM_MUTATIONS"] = "10000"  # damaged files of traced programs
    session.env["TRACED_PROGRAMS"] = "5000"  # random programs that are traced
    steps.install_all(session, "oracle", *steps.test_needs())
    suites = {f"oracle-{package.name}": package.folder / "tests" for package in PACKAGES}
    steps.run_suites(session, {**suites, "oracle-integration": ROOT / "integration-tests"})


@nox.session(tags=["nightly"], requires=["build"])
def deferring(session: nox.Session) -> None:
    """Tests of the core, autograd, nn and optim as compiled calls, kernels of all sizes waiting."""
    tested = [BY_NAME[name] for name in ("tensor-core", "autograd", "nn", "optim")]
    steps.install_all(session, "test", *steps.test_needs(tested))
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
    steps.install_all(session, "test", *jit.test_requires)
    session.env["PYTHONPATH"] = f"{TOOLS}{os.pathsep}{jit.folder / 'tests'}"
    steps.run_suites(session, {"runtime": jit.folder / "tests"}, "-p", "in_runtime",
                     "-m", "not oracle and not slow")
    serving = ROOT / "integration-tests" / "test_serving.py"
    steps.run_pytest(session, serving, "serving", "-k", "c++")


@nox.session(tags=["nightly"], requires=["build"])
def devices(session: nox.Session) -> None:
    """All operator tests on the simulated GPU, and kernels read in machine code."""
    cuda = BY_NAME["cuda-backend"]
    steps.install_all(session, "devices", *cuda.test_requires)
    session.env["TESTED_SHARE"] = "1"
    folder = ROOT / "integration-tests" / "devices"
    steps.run_suites(session, {"devices": folder, "devices-cuda": cuda.folder / "tests"})


@nox.session(requires=["build"], default=False)
def gpu(session: nox.Session) -> None:
    """All that is to be known of a GPU, in docs/design/gpu-results.md; `-- --simulate` here."""
    words = [word for word in session.posargs if word != "--simulate"]
    simulated = len(words) < len(session.posargs)
    device, page = ("cudasim", "simulated") if simulated else ("cuda", "gpu")
    steps.install_all(session, "devices", *(() if simulated else ("cupy-cuda12x>=14,<15",)))
    script = ROOT / "integration-tests" / "devices" / "report.py"
    target = ROOT / "docs" / "design" / f"{page}-results.md"
    with session.chdir(session.create_tmp()):
        session.run("python", str(script), "--device", device, "--page", str(target), *words)


@nox.session(tags=["nightly"], requires=["build"])
def programs(session: nox.Session) -> None:
    """100,000 random programs, compiled and as they are: about five hours on one core."""
    steps.install_all(session, "integration")
    session.env["RANDOM_PROGRAMS"] = os.environ.get("RANDOM_PROGRAMS", "100000")
    tests = ROOT / "integration-tests" / "compiled" / "test_random_programs.py"
    steps.run_pytest(session, tests, "programs")


@nox.session(tags=["ci"], requires=["build"])
def demo(session: nox.Session) -> None:
    """Train a small network on real handwritten digits; results go to build/demo."""
    steps.install_all(session, "demo")
    output = ROOT / "build" / "demo"
    script = ROOT / "docs" / "tutorials" / "digits.py"
    with session.chdir(session.create_tmp()):
        session.run("python", str(script), "--out", str(output), *session.posargs)
    session.log(f"Results are in {output}")


@nox.session(tags=["ci"], requires=["build"])
def docs(session: nox.Session) -> None:
    """The manual (warnings are errors), and every example in it and in docstrings."""
    steps.install_all(session, "docs")
    for builder in ("html", "doctest"):
        target = ROOT / "docs" / "_build" / builder
        options = ["-W", "--keep-going", "-q", "-j", "auto"]
        session.run("sphinx-build", "-b", builder, *options, str(ROOT / "docs"), str(target))
    session.run("python", str(TOOLS / "doctests.py"))


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
    session.install(*steps.group("dev"), *steps.test_needs())
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
