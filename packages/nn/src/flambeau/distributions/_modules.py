"""PyTorch's names of modules: ``from flambeau.distributions.normal import Normal``."""

from __future__ import annotations

import sys

#: Modules whose name differs from PyTorch's by more than the folder.
_RENAMED = {
    "continuous.fisher_snedecor": "fishersnedecor",
    "continuous.student_t": "studentT",
}


def register_modules(package: str) -> None:
    """Let every module below a folder be imported from the package as well.

    Args:
        package: The name of the package, whose modules have been imported.

    Example:
        >>> import flambeau.distributions.normal
        >>> flambeau.distributions.normal.Normal is flambeau.distributions.Normal
        True
    """
    prefix = package + "."
    # A copy made in one step: other threads may import modules meanwhile.
    below = [name for name in list(sys.modules) if name.startswith(prefix)]
    for folder in ("continuous.", "discrete.", "multivariate.", "combined."):
        for name in below:
            inner = name.removeprefix(prefix)
            if inner.startswith(folder):
                short = _RENAMED.get(inner, inner.removeprefix(folder))
                module = sys.modules[name]
                sys.modules.setdefault(prefix + short, module)
                setattr(sys.modules[package], short, module)
