"""What PyTorch's programs rely on and Flambeau's do not: said and done under the alias alone."""
from __future__ import annotations

from types import ModuleType

from flambeau import rooms
from flambeau.as_torch import stands

TYPE_CHECKING = False  # typing would cost milliseconds at every start
if TYPE_CHECKING:
    from typing import Any


def prepare() -> None:
    """Make Flambeau what programs expect of PyTorch, when `torch` is first imported."""
    from flambeau.as_torch import brought, naming
    from flambeau.core import _core, default_save_format, set_algorithm

    set_algorithm("mt19937")                # seeds give PyTorch's numbers
    default_save_format["name"] = "torch"   # PyTorch reads what torch.save writes
    _core.shown_package[0] = "torch"        # programs parse str(torch.float32)
    _core.open_tensor_class()               # programs set methods of torch.Tensor
    naming.start()                          # programs ask for type(x).__module__
    brought.widen_loaded()                  # programs use what importing PyTorch imports


def answer(module: str, name: str) -> Any:
    """What a name of Flambeau's is for programs of PyTorch's; None where it is the same.

    Args:
        module: A dotted name without ``torch``, empty for ``torch`` itself.
        name: The name in it.
    """
    if name == "torch":                     # PyTorch's own modules import it
        import flambeau

        return flambeau
    if module in ("jit", "jit.scripting") and (stand := stands.OTHERS.get(f"jit.{name}")):
        return getattr(rooms.import_module(f"{stands.__name__}.{stand}"), name)
    if (module, name) == ("", "__version__"):
        import flambeau.version

        loaded(flambeau.version, "version")
        return flambeau.version.__version__
    return None


def loaded(module: ModuleType, below: str) -> None:
    """Change a module of Flambeau's that was just loaded."""
    if below == "jit":                      # what was asked for before there was an alias
        for name in stands.OTHERS:
            vars(module).pop(name.removeprefix("jit."), None)
    if below == "version":
        from flambeau.as_torch.versions import VERSION

        vars(module)["__version__"] = VERSION
