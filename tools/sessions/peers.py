"""Sessions beside PyTorch: its tests, its libraries, programs for it, and benchmarks."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import array_api as array_api_suite
import nox
import steps
from inventory import ROOT
from steps import BY_NAME, PACKAGES

TOOLS = ROOT / "tools"


@nox.session(tags=["nightly"], requires=["build"])
def guide(session: nox.Session) -> None:
    """What the guide says of adding an operator, a layer and so on, to the letter, in a copy."""
    steps.install_all(session, "oracle", *steps.test_needs())
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
    steps.install_all(session, "libraries")
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
    steps.install_all(session, "programs")
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
    steps.install_all(session, "torch-suite")
    session.run("python", "-m", "tools.torch_suite", *session.posargs)


@nox.session(tags=["nightly"], requires=["build"])
def array_api(session: nox.Session) -> None:
    """The public suite of the array API standard; what may fail is listed with the reason."""
    wheel = BY_NAME["tensor-core"].wheel()
    steps.install_wheels(session, [wheel], *steps.group("array-api"))
    array_api_suite.run(session)


@nox.session(tags=["nightly"], requires=["build"])
def bench(session: nox.Session) -> None:
    """Side by side with PyTorch, into docs/benchmarks.md; small calls of all operators; imports."""
    steps.install_all(session, "bench")
    pair, page = ROOT / "benchmarks" / "pair.py", ROOT / "docs" / "benchmarks.md"
    session.run("python", str(pair), "--page", str(page), *session.posargs)
    session.run("python", str(ROOT / "benchmarks" / "situations.py"))
    session.run("python", str(ROOT / "benchmarks" / "startup.py"))
