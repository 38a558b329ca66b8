"""Types of several outputs with names, as ``max(x, 0)`` has them: see ``flambeau.return_types``."""
from __future__ import annotations

from operator import itemgetter

from flambeau.core import _core


class NamedOutputs(tuple):
    """Outputs of one operator by index and by name, made from a sequence or one by one.

    This is what ``collections.namedtuple`` does, without compiling code for every type, which
    would take milliseconds at every import.
    """

    __slots__ = ()
    _fields: tuple[str, ...] = ()

    def __new__(cls, *values):
        """Take the outputs, or a sequence of them."""
        return cls._make(values[0] if len(values) == 1 else values)

    @classmethod
    def _make(cls, values):
        made = tuple.__new__(cls, values)
        if len(made) != len(cls._fields):
            raise TypeError(f"{cls.__name__}() takes {len(cls._fields)} values "
                            f"({', '.join(cls._fields)}), got {len(made)}")
        return made

    def _asdict(self):
        return dict(zip(self._fields, self, strict=True))

    def _replace(self, **changes):
        made = self._asdict()
        if unknown := changes.keys() - made.keys():
            raise ValueError(f"{type(self).__name__} has no field {min(unknown)!r}; its fields "
                             f"are {', '.join(self._fields)}")
        return type(self)({**made, **changes}.values())

    def __repr__(self) -> str:
        """As PyTorch prints them, one below the other."""
        named = zip(self._fields, self, strict=True)
        shown = ",\n".join(f"{name}={x!r}" for name, x in named)
        return f"{_core.shown_package[0]}.return_types.{type(self).__name__}(\n{shown})"


def named_outputs(name: str, fields: tuple[str, ...]) -> type[NamedOutputs]:
    """Make the type of an operator's outputs."""
    body = {field: property(itemgetter(i)) for i, field in enumerate(fields)}
    return type(name, (NamedOutputs,), {
        **body, "__slots__": (), "_fields": fields, "__match_args__": fields,
        "n_fields": len(fields), "n_sequence_fields": len(fields), "n_unnamed_fields": 0,
        "__module__": f"{_core.shown_package[0]}.return_types",
        "__doc__": f"The outputs of {name}: {', '.join(fields)}."})
