"""Attributes of Tensor that the autograd package fills in on first use."""
from __future__ import annotations

_NAMES = ("backward", "grad", "grad_fn", "requires_grad_", "retain_grad", "retains_grad",
          "register_hook", "register_post_accumulate_grad_hook", "detach_")


def _load() -> None:
    """Import flambeau.autograd, which replaces the attributes below by its own."""
    from flambeau import rooms

    rooms.enter("autograd")


class _Missing:
    """Stands in for one attribute until autograd is imported."""

    def __init__(self, name: str, absent: object = None, has_absent: bool = False) -> None:
        self.__name__ = name
        self.absent = absent
        self.has_absent = has_absent

    def __get__(self, tensor, owner=None):
        if tensor is None:      # asked for on the class: programs wrap what they find there
            try:
                _load()
            except ImportError:
                return self
            homes = (vars(each) for each in owner.__mro__)
            found = next(home[self.__name__] for home in homes if self.__name__ in home)
            return self if isinstance(found, _Missing) else found
        if self.has_absent:
            return self.absent
        _load()
        return getattr(tensor, self.__name__)

    def __set__(self, tensor, value) -> None:
        _load()
        setattr(tensor, self.__name__, value)


#: Without autograd nothing requires grad: these read as they would on a plain tensor.
ATTRIBUTES = {name: _Missing(name) for name in _NAMES}
ATTRIBUTES["requires_grad"] = _Missing("requires_grad", False, True)
ATTRIBUTES["is_leaf"] = _Missing("is_leaf", True, True)
ATTRIBUTES["grad"] = _Missing("grad", None, True)
ATTRIBUTES["output_nr"] = _Missing("output_nr", 0, True)
ATTRIBUTES["grad_fn"] = _Missing("grad_fn", None, True)
