"""Models that a folder offers, and files from the network.

A folder with a file ``hubconf.py`` offers the functions in it that do not begin with an
underscore. Nothing is fetched from GitHub: clone a repository and name its folder.
"""
from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import sys
import tempfile
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from flambeau.core import _core
from flambeau.core import load as load_file

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url",
           "set_dir"]

_CONFIG = "hubconf.py"
_CHUNK = 1 << 20
_HASH = re.compile(r"-([a-f0-9]{8,64})\.")
_chosen: dict[str, str] = {}


def get_dir() -> str:
    """The folder for files from the network.

    What ``set_dir`` chose, else ``$FLAMBEAU_HOME/hub``, else ``hub`` in the user's cache. Under
    the alias of ``torch`` it is the folder of PyTorch, ``$TORCH_HOME/hub``.
    """
    if "folder" in _chosen:
        return _chosen["folder"]
    cache = os.environ.get("XDG_CACHE_HOME", os.path.join("~", ".cache"))
    package = _core.shown_package[0]
    home = os.environ.get(f"{package.upper()}_HOME", os.path.join(cache, package))
    return os.path.join(os.path.expanduser(home), "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    """Choose the folder for files from the network."""
    _chosen["folder"] = os.path.expanduser(os.fspath(d))


@contextmanager
def _importing_from(folder: str) -> Iterator[None]:
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)


def _config(what: str, repo_or_dir: Any, source: str) -> ModuleType:
    """The module ``hubconf`` of a folder."""
    if source not in ("github", "local"):
        raise ValueError(f'hub.{what}(): source={source!r} is not known; write source="local"')
    folder = os.path.abspath(os.path.expanduser(os.fspath(repo_or_dir)))
    if source == "github":
        raise NotImplementedError(
            f"hub.{what}(): nothing is fetched from GitHub. Write git clone "
            f"https://github.com/{str(repo_or_dir).partition(':')[0]}, and then "
            f'hub.{what}("the folder", ..., source="local")')
    path = os.path.join(folder, _CONFIG)
    if not os.path.isfile(path):
        raise FileNotFoundError(f"hub.{what}(): there is no file {_CONFIG} in {folder}")
    spec = importlib.util.spec_from_file_location("hubconf", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with _importing_from(folder):
        spec.loader.exec_module(module)
    _check_dependencies(what, module)
    return module


def _check_dependencies(what: str, module: ModuleType) -> None:
    wanted = getattr(module, "dependencies", [])
    absent = [name for name in wanted if importlib.util.find_spec(name) is None]
    if absent:
        raise RuntimeError(f"hub.{what}(): the models need these packages, which are not "
                           f"installed: {', '.join(absent)}")


def _entry(what: str, module: ModuleType, name: str) -> Callable[..., Any]:
    found = getattr(module, name, None)
    if name.startswith("_") or not callable(found):
        offered = ", ".join(_names(module)) or "nothing"
        raise RuntimeError(f"hub.{what}(): {_CONFIG} does not offer {name!r}; it offers {offered}")
    return found


def _names(module: ModuleType) -> Any:
    return [name for name, value in vars(module).items()
            if callable(value) and not name.startswith("_")]


def list(github: Any, force_reload: bool = False, skip_validation: bool = False,
         trust_repo: Any = None, verbose: bool = True, *, source: str = "github") -> Any:
    """The names of the functions that a folder offers.

    Args:
        github: The folder.
        force_reload: Accepted for compatibility, like the next three.
        skip_validation: See above.
        trust_repo: See above.
        verbose: See above.
        source: ``"local"``.

    Raises:
        NotImplementedError: ``source`` is ``"github"``.
    """
    return _names(_config("list", github, source))


def help(github: Any, model: str, force_reload: bool = False, skip_validation: bool = False,
         trust_repo: Any = None, *, source: str = "github") -> str | None:
    """The docstring of a function that a folder offers; arguments as in ``list``."""
    return _entry("help", _config("help", github, source), model).__doc__


def load(repo_or_dir: Any, model: str, *args: Any, source: str = "github", trust_repo: Any = None,
         force_reload: bool = False, verbose: bool = True, skip_validation: bool = False,
         **kwargs: Any) -> Any:
    """Call a function that a folder offers.

    Args:
        repo_or_dir: The folder, whose ``hubconf.py`` is run.
        model: The name of the function.
        args: What it is given.
        source: ``"local"``.
        trust_repo: Accepted for compatibility, like the next three.
        force_reload: See above.
        verbose: See above.
        skip_validation: See above.
        kwargs: What it is given by name.

    Returns:
        What the function returns.

    Raises:
        NotImplementedError: ``source`` is ``"github"``.
        RuntimeError: There is no such function, or a package that it needs is not installed.
    """
    module = _config("load", repo_or_dir, source)
    with _importing_from(os.path.abspath(os.path.expanduser(os.fspath(repo_or_dir)))):
        return _entry("load", module, model)(*args, **kwargs)


def download_url_to_file(url: str, dst: str | os.PathLike[str], hash_prefix: str | None = None,
                         progress: bool = True) -> None:
    """Fetch a file, and write it once it is complete.

    Args:
        url: Where it is.
        dst: The path to write.
        hash_prefix: How the SHA-256 of its content must begin, in hexadecimal.
        progress: Accepted for compatibility; nothing is shown.

    Raises:
        RuntimeError: The content is another one.
    """
    target = os.path.expanduser(os.fspath(dst))
    checksum = hashlib.sha256()
    folder = os.path.dirname(os.path.abspath(target))
    request = urllib.request.Request(url, headers={"User-Agent": "flambeau.hub"})
    with urllib.request.urlopen(request) as source, \
            tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
        try:
            while chunk := source.read(_CHUNK):
                checksum.update(chunk)
                file.write(chunk)
            if hash_prefix and not checksum.hexdigest().startswith(hash_prefix):
                raise RuntimeError(f"download_url_to_file(): the content of {url} has the SHA-256 "
                                   f"{checksum.hexdigest()}, which does not begin with "
                                   f"{hash_prefix!r}; nothing was written")
        except BaseException:
            os.unlink(file.name)
            raise
    os.replace(file.name, target)


def load_state_dict_from_url(url: str, model_dir: str | None = None, map_location: Any = None,
                             progress: bool = True, check_hash: bool = False,
                             file_name: str | None = None, weights_only: bool = True) -> Any:
    """``flambeau.load`` of a file from the network, which is kept.

    Args:
        url: Where it is.
        model_dir: Where it is kept; ``checkpoints`` in ``get_dir()`` when left out.
        map_location: As in ``flambeau.load``.
        progress: Accepted for compatibility; nothing is shown.
        check_hash: Whether the file's name ends in the beginning of its SHA-256
            (``name-0123abcd.pt``), which is then compared.
        file_name: The name under which it is kept; that of the address when left out.
        weights_only: As in ``flambeau.load``.

    Raises:
        RuntimeError: The content is not that of the checksum.
    """
    folder = os.fspath(model_dir) if model_dir else os.path.join(get_dir(), "checkpoints")
    os.makedirs(folder, exist_ok=True)
    name = file_name or os.path.basename(urllib.parse.urlparse(url).path)
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        found = _HASH.search(name) if check_hash else None
        download_url_to_file(url, path, found.group(1) if found else None, progress)
    return load_file(path, map_location, weights_only=weights_only)
