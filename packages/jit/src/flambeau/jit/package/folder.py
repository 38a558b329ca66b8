"""What a folder for C and C++ holds."""
from __future__ import annotations

import os
import shutil
from importlib.resources import files
from pathlib import Path
from string import Template

from flambeau.core.blas import library_path
from flambeau.core.runtime_files import LIBRARY, runtime_licences, runtime_prefix
from flambeau.jit.c_names import c_name
from flambeau.jit.package.header import examples, header
from flambeau.jit.programs.archive import load

#: What every folder holds beside program, header and runtime.
TEMPLATES = ("CMakeLists.txt", "main.c", "main.cpp", "README.md")


def package(
    program: str | os.PathLike[str], to: str | os.PathLike[str], *, name: str | None = None,
    runtime: str | os.PathLike[str] | None = None, copy_runtime: bool = True, blas: bool = False,
) -> list[Path]:
    """Write a folder with a program, its runtime, a C header, and examples that CMake builds.

    Args:
        program: a file that ``Program.save`` wrote; its weights are in it.
        to: the folder; it is made, and files of these names in it are replaced.
        name: what files and functions are called; the name of the program's file if ``None``.
            Characters that C's names do not have are replaced.
        runtime: the prefix below which ``lib/libflambeau_runtime.so`` lies; where the installed
            wheel put it if ``None``.
        copy_runtime: whether library and headers are copied. ``find_package`` looks for an
            installed runtime otherwise.
        blas: whether OpenBLAS is copied too, which large products and linear algebra go to.

    Returns:
        The files that were written.

    Raises:
        ProgramError: the file is no program.
        FileNotFoundError: there is no such file, or no runtime.
        ValueError: a BLAS without a runtime.

    Example:
        >>> import flambeau, tempfile
        >>> from pathlib import Path
        >>> from flambeau import jit
        >>> from flambeau.jit.package import package
        >>> folder = Path(tempfile.mkdtemp())
        >>> jit.trace(lambda x: x * 2, flambeau.ones(3)).save(folder / "twice.program")
        >>> written = package(folder / "twice.program", folder / "out", copy_runtime=False)
        >>> sorted(path.name for path in written)
        ['CMakeLists.txt', 'README.md', 'main.c', 'main.cpp', 'twice.h', 'twice.program']
    """
    program, to = Path(program), Path(to)
    if blas and not copy_runtime:
        raise ValueError("package(): blas=True copies OpenBLAS beside the runtime, which "
                         "copy_runtime=False leaves out")
    name = c_name(name if name is not None else program.stem)
    graph = load(program).graph
    prefix = (Path(runtime) if runtime else runtime_prefix()) if copy_runtime else None
    if prefix and not (prefix / "lib" / LIBRARY).exists():
        raise FileNotFoundError(f"{prefix}: there is no lib/{LIBRARY}; name the prefix that the "
                                "runtime was installed to")
    to.mkdir(parents=True, exist_ok=True)
    written = [to / f"{name}.program", to / f"{name}.h"]
    if program.resolve() != written[0].resolve():
        shutil.copyfile(program, written[0])
    written[1].write_text(header(name, graph))
    filled = {"name": name, "upper": name.upper(), **examples(name, graph)}
    for each in TEMPLATES:
        text = (files("flambeau.jit.package") / "templates" / each).read_text()
        written.append(to / each)
        written[-1].write_text(Template(text).substitute(filled))
    return written + (_copy_runtime(prefix, to / "runtime", blas) if prefix else [])


def _copy_runtime(prefix: Path, to: Path, blas: bool) -> list[Path]:
    """The library, its headers and its CMake files, as they lie below the prefix."""
    folders = {"lib": [LIBRARY], "include/flambeau": ["runtime.h", "runtime.hpp"],
               "lib/cmake/flambeau_runtime": [
                   "flambeau_runtimeConfig.cmake", "flambeau_runtimeConfigVersion.cmake"]}
    copies = [(prefix / folder / name, to / folder / name)
              for folder, names in folders.items() for name in names]
    copies += [(path, to / path.name) for path in runtime_licences()]
    if blas:
        if not library_path():
            raise FileNotFoundError("package(): blas=True needs scipy-openblas32: pip install "
                                    "scipy-openblas32")
        copies.append((Path(library_path()), to / "lib" / "libscipy_openblas.so"))
    for source, target in copies:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)
    return [target for _, target in copies]
