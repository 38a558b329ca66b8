"""Check an install in which some rooms are absent: what is there works, what is not explains.

Runs inside the environment under test, outside the source tree, with the standard library only:
`python subset.py flambeau-tensor-core flambeau-nn ...` names what is installed.
"""

from __future__ import annotations

import importlib
import sys


def check_present(room: str) -> None:
    """Import a room, and find it again as an attribute."""
    flambeau = importlib.import_module("flambeau")
    module = importlib.import_module(f"flambeau.{room}")
    value = flambeau
    for name in room.split("."):
        value = getattr(value, name)
    assert value is module, f"flambeau.{room} is {value!r}"


def check_absent(room: str, distribution: str) -> None:
    """Expect the one line that names the package, by import and by attribute."""
    expected = f"flambeau.{room} is in {distribution}: pip install {distribution}"
    for statement in (f"import flambeau.{room}", f"import flambeau.utils; flambeau.{room}"):
        try:
            exec(statement, {"flambeau": importlib.import_module("flambeau")})
        except ModuleNotFoundError as error:
            assert str(error) == expected, f"`{statement}` said: {error}"
        else:
            raise AssertionError(f"`{statement}` worked without {distribution}")


def main() -> int:
    """Check every room of the namespace table."""
    from flambeau import rooms

    present = set(sys.argv[1:])
    for room, distribution in rooms.ROOMS.items():
        if distribution in present:
            check_present(room)
        else:
            check_absent(room, distribution)
    flambeau = importlib.import_module("flambeau")
    text = repr((flambeau.tensor([1.0, 2.0]) + 1).sum())
    assert text == "tensor(5.)", text
    return 0


if __name__ == "__main__":
    sys.exit(main())
