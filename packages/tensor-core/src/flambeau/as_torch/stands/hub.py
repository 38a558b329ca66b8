"""`torch.hub`: files of weights, from its folder or from the address that a library gives."""
from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import sys
import urllib.request
from typing import TYPE_CHECKING, Any
from urllib.parse import urlparse

import flambeau

if TYPE_CHECKING:
    from types import ModuleType

#: The hash in a file's name: ``resnet18-f37072fd.pth``.
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
READ_BYTES = 1 << 20
_chosen: list[str] = []


class _Steps:
    """A bar that shows nothing, where tqdm is not installed."""

    def __init__(self, iterable: Any = (), *args: Any, **kwargs: Any) -> None:
        self.iterable = iterable

    def __iter__(self) -> Any:
        return iter(self.iterable)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing was shown."""

    def update(self, n: float = 1) -> None:
        """Show nothing."""

    set_postfix = set_description = close = update


def __getattr__(name: str) -> Any:
    if name != "tqdm":
        raise AttributeError(f"module 'torch.hub' has no attribute {name!r}")
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _Steps
    return tqdm


def _get_torch_home() -> str:
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    return os.path.expanduser(os.environ.get("TORCH_HOME", os.path.join(cache, "torch")))


def get_dir() -> str:
    """The folder of downloaded files: ``$TORCH_HOME/hub``, ``~/.cache/torch/hub`` by itself."""
    return _chosen[-1] if _chosen else os.path.join(_get_torch_home(), "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    """Choose the folder of downloaded files."""
    _chosen[:] = [os.path.expanduser(os.fspath(d))]


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None,
                         progress: bool = True) -> None:
    """Fetch a file, which appears when it is whole.

    Args:
        url: Where from.
        dst: Where to.
        hash_prefix: How the SHA-256 of its bytes begins, which is checked.
        progress: Accepted and without effect.

    Raises:
        RuntimeError: The bytes are others.
    """
    digest, partial = hashlib.sha256(), f"{dst}.{os.getpid()}.partial"
    request = urllib.request.Request(url, headers={"User-Agent": "torch.hub"})
    try:
        with urllib.request.urlopen(request) as source, open(partial, "wb") as file:
            while block := source.read(READ_BYTES):
                digest.update(block)
                file.write(block)
        if hash_prefix and not digest.hexdigest().startswith(hash_prefix):
            raise RuntimeError(f"download_url_to_file(): {url} should have a SHA-256 that begins "
                               f"with {hash_prefix}, and has {digest.hexdigest()}: fetch it again")
        os.replace(partial, dst)
    finally:
        if os.path.exists(partial):
            os.remove(partial)


def load_state_dict_from_url(url: str, model_dir: str | None = None, map_location: Any = None,
                             progress: bool = True, check_hash: bool = False,
                             file_name: str | None = None, weights_only: bool = False) -> Any:
    """What `load` reads from a file, which is fetched unless it is in the folder.

    Args:
        url: Where from.
        model_dir: The folder, by itself `get_dir()/checkpoints`.
        map_location: See `load`.
        progress: Accepted and without effect.
        check_hash: Check that the file has the SHA-256 in its name.
        file_name: Of the file in the folder; the last word of the address when left out.
        weights_only: Accepted: files hold nothing but weights and containers here.
    """
    folder = model_dir or os.path.join(get_dir(), "checkpoints")
    os.makedirs(folder, exist_ok=True)
    name = file_name or os.path.basename(urlparse(url).path)
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        found = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, path, found.group(1) if found else None, progress)
    return flambeau.load(path, map_location=map_location)


load_url = load_state_dict_from_url     # its name in torch.utils.model_zoo


def _repository(folder: str, source: str) -> ModuleType:
    """The `hubconf.py` of a folder."""
    if source != "local":
        raise NotImplementedError(
            f"torch.hub: code is not fetched, here from {folder!r}; clone it and write "
            "torch.hub.load(FOLDER, ..., source='local')")
    spec = importlib.util.spec_from_file_location("hubconf", os.path.join(folder, "hubconf.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, folder)
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(folder)
    return module


def load(repo_or_dir: str, model: str, *args: Any, source: str = "github", trust_repo: Any = None,
         force_reload: bool = False, verbose: bool = True, skip_validation: bool = False,
         **kwargs: Any) -> Any:
    """What a function of a folder's `hubconf.py` gives (``source='local'``).

    Raises:
        NotImplementedError: The folder would have to be fetched.
    """
    return getattr(_repository(repo_or_dir, source), model)(*args, **kwargs)


def list(github: str, force_reload: bool = False, skip_validation: bool = False,
         trust_repo: Any = None, verbose: bool = True, source: str = "github") -> Any:
    """The functions of a folder's `hubconf.py` (``source='local'``)."""
    functions = vars(_repository(github, source)).items()
    return [name for name, value in functions if callable(value) and not name.startswith("_")]


def help(github: str, model: str, force_reload: bool = False, skip_validation: bool = False,
         trust_repo: Any = None, source: str = "github") -> str | None:
    """The docstring of a function of a folder's `hubconf.py` (``source='local'``)."""
    text: str | None = getattr(_repository(github, source), model).__doc__
    return text
