"""Check an install in which some rooms are absent: what is there works, what is not explains.

Runs inside the environment under test, outside the source tree, with the standard library only:
`python subset.py flambeau-tensor-core flambeau-nn ...` names what is installed.
"""

from __future__ import annotations

import importlib
import sys
import tempfile
from pathlib import Path
from typing import Any


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
    statements = [f"import flambeau.{room}", f"import flambeau.utils; flambeau.{room}"]
    if room == "cuda":  # programs ask it whether there is a GPU
        statements[1] = "assert not flambeau.cuda.is_available(); flambeau.cuda.synchronize()"
    for statement in statements:
        try:
            exec(statement, {"flambeau": importlib.import_module("flambeau")})
        except ModuleNotFoundError as error:
            assert str(error) == expected, f"`{statement}` said: {error}"
        else:
            raise AssertionError(f"`{statement}` worked without {distribution}")


def check_incomplete(room: str, also: str) -> None:
    """Expect the line that names the package of another room, which this one needs."""
    from flambeau import rooms

    try:
        importlib.import_module(f"flambeau.{room}")
    except ModuleNotFoundError as error:
        assert str(error).startswith(f"flambeau.{also} is in {rooms.ROOMS[also]}"), str(error)
    else:
        raise AssertionError(f"flambeau.{room} was imported without flambeau.{also}")


def main() -> int:
    """Check every room of the namespace table."""
    from flambeau import rooms

    present = set(sys.argv[1:])
    for room, distribution in rooms.ROOMS.items():
        also = rooms.ALSO_NEEDED.get(room)
        if distribution in present and also and rooms.ROOMS[also] not in present:
            check_incomplete(room, also)
        elif distribution in present:
            check_present(room)
        else:
            check_absent(room, distribution)
    flambeau = importlib.import_module("flambeau")
    text = repr((flambeau.tensor([1.0, 2.0]) + 1).sum())
    assert text == "tensor(5.)", text
    check_training_state(flambeau, present)
    return 0


def check_training_state(flambeau: Any, present: set[str]) -> None:
    """Save and load what there is: it takes no package but the core."""
    parts: dict[str, Any] = {}
    if "flambeau-nn" in present:
        parts["model"] = flambeau.nn.Linear(2, 1)
        parts["loader"] = flambeau.utils.data.DataLoader(range(3))
    if "flambeau-optim" in present:
        weights = parts["model"].parameters() if "model" in parts else [flambeau.zeros(2)]
        parts["optimizer"] = flambeau.optim.Adam(weights)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "training.safetensors"
        flambeau.save_training_state(path, step=3, extra=flambeau.ones(2), **parts)
        state = flambeau.load_training_state(path, **parts)
    assert (state.step, state.extra.tolist()) == (3, [1.0, 1.0]), state


if __name__ == "__main__":
    sys.exit(main())
