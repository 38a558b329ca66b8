"""Where the runtime without Python lies: library, headers and CMake's description of both.

A wheel puts them where compilers and CMake look below the environment's prefix: ``lib``,
``include``, ``lib/cmake/flambeau_runtime`` and ``bin/flambeau-run``.
"""
from __future__ import annotations

from pathlib import Path

DISTRIBUTION = "flambeau-tensor-core"
LIBRARY = "libflambeau_runtime.so"


def runtime_prefix() -> Path:
    """The folder whose ``lib`` holds the installed runtime.

    Raises:
        FileNotFoundError: this installation has none.

    Example:
        >>> from flambeau.core.runtime_files import runtime_prefix
        >>> prefix = runtime_prefix()                                       # doctest: +SKIP
        >>> f"cmake -B build -DCMAKE_PREFIX_PATH={prefix}"                  # doctest: +SKIP
    """
    from importlib import metadata

    try:
        files = metadata.files(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.name == LIBRARY:
            return Path(str(file.locate())).resolve().parents[1]
    raise FileNotFoundError(
        f"the installed {DISTRIBUTION} has no {LIBRARY}, which its wheels hold: install a wheel, "
        "or build the runtime (cmake --install build/core --component runtime --prefix PREFIX) "
        "and name the prefix")


def runtime_licences() -> list[Path]:
    """The licences of what the runtime consists of, to be passed on with it."""
    from importlib import metadata

    files = metadata.files(DISTRIBUTION) or []
    return [Path(str(file.locate())) for file in files if file.name.startswith("LICENSE")]
