"""PyTorch's package `functorch`: transforms of functions, and modules as functions of lists."""
from __future__ import annotations

from flambeau import rooms
from flambeau.version import __version__

TYPE_CHECKING = False  # typing would cost milliseconds at every start
if TYPE_CHECKING:
    from typing import Any

#: Name -> module that has it; all are imported when they are asked for.
_HOMES = {
    **dict.fromkeys(("grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "vjp",
                     "vmap", "functionalize"), "torch.func"),
    **dict.fromkeys(("FunctionalModule", "FunctionalModuleWithBuffers", "make_functional",
                     "combine_state_for_ensemble", "make_functional_with_buffers"),
                    "flambeau.as_torch.stands.functional_modules"),
    "make_fx": "torch.fx.experimental.proxy_tensor",
}
__all__ = ["__version__"]
__name__ = "functorch"          # by which imports look for the modules in it: placeholders
__path__: list[str] = []


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    return getattr(rooms.import_module(_HOMES[name]), name)
