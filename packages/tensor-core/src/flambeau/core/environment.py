"""The environment variables that are read, and warnings about those that cannot be meant.

Nothing is imported before a variable is wrong: this runs at every import.
"""
from __future__ import annotations

import os

PREFIX = "FLAMBEAU_"

#: Variable -> what it may be: values, or a word for what is checked by `_fits`.
VARIABLES: dict[str, tuple[str, ...] | str] = {
    "FLAMBEAU_NUM_THREADS": "a positive number",
    "OMP_NUM_THREADS": "a positive number",
    "MKL_NUM_THREADS": "a positive number",
    "FLAMBEAU_ISA": ("v2", "v3", "v4", "neon"),
    "FLAMBEAU_ALLOC": ("cache", "plain", "poison"),
    "FLAMBEAU_COMPILE": ("0", "1"),
    "FLAMBEAU_CACHE_DIR": "a directory, or nothing",
    "FLAMBEAU_BACKENDS": "names of device types with commas between",
    "FLAMBEAU_AS_TORCH": ("0", "1"),
}

#: What this library's own tests read.
OF_TESTS = ("FLAMBEAU_KILLS", "FLAMBEAU_MEMORY_ROUNDS", "FLAMBEAU_REQUIRE_NVRTC")


def _fits(value: str, allowed: tuple[str, ...] | str) -> bool:
    if isinstance(allowed, tuple):
        return value in allowed
    if allowed == "a positive number":          # "4,2": OpenMP's numbers for nested loops
        first = value.partition(",")[0].strip()
        return first.isdecimal() and int(first) > 0
    return True


def problems(environ=os.environ) -> list[str]:
    """A sentence for each variable that cannot be meant."""
    found = []
    for name in environ:
        if name.startswith(PREFIX) and name not in VARIABLES and name not in OF_TESTS:
            found.append(_unknown(name))
    for name, allowed in VARIABLES.items():
        value = environ.get(name)
        if value and not _fits(value, allowed):
            known = f"one of {', '.join(allowed)}" if isinstance(allowed, tuple) else allowed
            found.append(f"{name}={value} is ignored: it is {known}")
    return found


def _unknown(name: str) -> str:
    from difflib import get_close_matches

    ours = [known for known in VARIABLES if known.startswith(PREFIX)]
    near = get_close_matches(name[len(PREFIX):], [known[len(PREFIX):] for known in ours], 1)
    hint = f"do you mean {PREFIX}{near[0]}?" if near else f"there are {', '.join(ours)}"
    return f"there is no environment variable {name}; {hint}"


def check(isa_level) -> None:
    """Warn of what is wrong; called when the core is imported.

    Args:
        isa_level: Tells the instruction set level that was chosen; asked only where one is pinned.
    """
    found = problems()
    pinned = os.environ.get("FLAMBEAU_ISA")
    if pinned in VARIABLES["FLAMBEAU_ISA"] and isa_level() != pinned:
        found.append(f"FLAMBEAU_ISA={pinned} is ignored: this processor does not have it; "
                     f"{isa_level()} is used")
    if found:
        import warnings

        for text in found:
            warnings.warn(text, stacklevel=2)
