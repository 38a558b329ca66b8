"""A program started as Python starts it: the module `__main__`, `sys.argv`, `sys.path`, errors."""
from __future__ import annotations

import importlib.util
import os
import sys
from importlib.machinery import BuiltinImporter, ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType, TracebackType

TYPE_CHECKING = False  # typing would cost milliseconds at every start
if TYPE_CHECKING:
    from typing import Any, NoReturn


def run_code(text: str) -> None:
    """Run what ``python -c text`` does; from 3.13 on its lines are shown in errors."""
    _search_first("")
    if sys.version_info >= (3, 13):
        import linecache

        linecache.cache["<string>"] = (len(text), None, text.splitlines(True), "<string>")
    _start(_main(__loader__=BuiltinImporter), text, "<string>")


def run_input() -> None:
    """Run what ``python -`` does: a program from standard input, or a dialogue in a terminal."""
    _search_first("")
    main = _main(__loader__=BuiltinImporter)
    if sys.stdin.isatty():
        import code

        code.interact(local=vars(main), exitmsg="")
        return
    vars(main).update(__file__="<stdin>", __cached__=None)
    _start(main, sys.stdin.buffer.read(), "<stdin>")


def run_file(path: str) -> None:
    """Run what ``python path`` does: a file, or a folder or archive that has a `__main__`."""
    from pkgutil import get_importer

    if get_importer(path) is not None:
        _run_container(path)
        return
    full = os.path.join(os.getcwd(), path)      # not normalized
    try:
        with open(path, "rb") as file:
            text = file.read()
    except OSError as error:
        _refuse(f"can't open file {full!r}: [Errno {error.errno}] {error.strerror}", 2)
    _search_first(os.path.dirname(os.path.realpath(path)))
    _start(_main(__loader__=SourceFileLoader("__main__", full), __file__=full, __cached__=None),
           text, full)


def run_module(name: str) -> None:
    """Run what ``python -m name`` does."""
    spec = _found(name)
    if spec is not None and spec.submodule_search_locations is not None:
        inside = _found(f"{name}.__main__")
        if inside is None:
            _refuse(f"No module named {name}.__main__; {name!r} is a package and cannot be "
                    "directly executed")
        spec = inside
    if spec is None:
        _refuse(f"No module named {name}")
    _start_spec(spec)


def _found(name: str) -> ModuleSpec | None:
    try:
        return importlib.util.find_spec(name)   # imports the packages above
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise       # a package was found, and misses something itself
        _refuse(f"Error while finding module specification for {name!r} "
                f"({type(error).__name__}: {error})")


def _run_container(path: str) -> None:
    spec = PathFinder.find_spec("__main__", [os.path.abspath(path)])
    if spec is None:
        _refuse(f"can't find '__main__' module in {os.path.abspath(path)!r}")
    sys.path.insert(0, os.path.abspath(path))
    if not sys.flags.safe_path:
        del sys.path[1]     # what the option -m put there
    _start_spec(spec, path)


def _start_spec(spec: ModuleSpec, argument: str | None = None) -> None:
    loader: Any = spec.loader
    code = loader.get_code(spec.name) if hasattr(loader, "get_code") else None
    if code is None:
        _refuse(f"No code object available for {spec.name}")
    sys.argv[0] = argument or spec.origin or spec.name
    _start(_main(__spec__=spec, __package__=spec.parent, __loader__=loader, __file__=spec.origin,
                 __cached__=spec.cached), code, "")


def _refuse(why: str, status: int = 1) -> NoReturn:
    print(f"{sys.executable}: {why}", file=sys.stderr)
    sys.exit(status)


def _search_first(folder: str) -> None:
    if not sys.flags.safe_path:
        sys.path[0] = folder


def _main(**names: Any) -> ModuleType:
    """A new `__main__`, which stays: threads and children may outlive its last line."""
    main = ModuleType("__main__")
    vars(main).update({"__builtins__": sys.modules["builtins"], "__annotations__": {}, **names})
    sys.modules["__main__"] = main
    return main


def _start(main: ModuleType, program: str | bytes | CodeType, file: str) -> None:
    try:
        if not isinstance(program, CodeType):
            program = compile(program, file, "exec", dont_inherit=True)
        exec(program, vars(main))
    except SystemExit:
        raise
    except BaseException as error:
        _show_from(error, error.__traceback__.tb_next if error.__traceback__ else None)
        raise


def _show_from(error: BaseException, first: TracebackType | None) -> None:
    """Let Python report an error without the frames that started the program."""
    hook = sys.excepthook       # the program's own, if it has set one

    def report(kind: type[BaseException], value: BaseException,
               traceback: TracebackType | None) -> None:
        if value is error:
            traceback = sys.last_traceback = first
            value.__traceback__ = first
        hook(kind, value, traceback)

    sys.excepthook = report
