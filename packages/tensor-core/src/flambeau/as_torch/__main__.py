"""``python -m flambeau.as_torch [-m module | -c code | script.py | -] arguments``."""
from __future__ import annotations

import sys

import flambeau.as_torch  # noqa: F401  # installs it
from flambeau.as_torch import command

TYPE_CHECKING = False  # typing would cost milliseconds at every start
if TYPE_CHECKING:
    from typing import NoReturn

USAGE = """usage: python -m flambeau.as_torch [-m module | -c code | script.py | -] arguments
Runs a PyTorch program with Flambeau: `import torch` gives flambeau there. The arguments are those
of Python; - or none reads the program from standard input. Options of the interpreter stand before
-m: python -u -m flambeau.as_torch script.py"""


def refuse(why: str) -> NoReturn:
    """End as Python does where it cannot read its command line."""
    print(why, USAGE, sep="\n", file=sys.stderr)
    sys.exit(2)


def run_option(option: str, arguments: list[str]) -> None:
    """Run ``-c code``, ``-ccode``, ``-m module`` or ``-mmodule``."""
    kind, value = option[:2], option[2:]
    if not value:
        if not arguments:
            refuse(f"Argument expected for the {kind} option")
        value, arguments = arguments[0], arguments[1:]
    sys.argv = [kind, *arguments]
    if kind == "-c":
        command.run_code(value)
    else:
        command.run_module(value)


def main() -> None:
    """Read the command line as Python does."""
    sys.argv = sys.argv[1:] or [""]
    first = sys.argv[0]
    if first in ("-h", "--help"):
        print(USAGE)
    elif first in ("", "-"):
        command.run_input()
    elif first[:2] in ("-c", "-m"):
        run_option(first, sys.argv[1:])
    elif first.startswith("-"):
        refuse(f"unknown option {first}")
    else:
        command.run_file(first)


if __name__ == "__main__":
    main()
