"""What ``export`` is given, as ``jit.trace`` takes it: arguments, names, sizes that vary."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from typing import Any

from flambeau.jit import bridge
from flambeau.onnx.errors import ExportError


class Call:
    """The arguments of an example, with a name for each of their tensors.

    Args:
        model: A module or a function.
        args: A tensor, or the positional arguments; a mapping at their end has the others.
        kwargs: Keyword arguments.
        input_names: Names for the first tensors; others are called as their parameters are.
    """

    def __init__(self, model: Any, args: Any, kwargs: Mapping[str, Any] | None,
                 input_names: Sequence[str]) -> None:
        self.args = list(args) if isinstance(args, tuple | list) else [args]
        parameters = _parameters(model)
        if not kwargs and self.args and isinstance(self.args[-1], Mapping) and _are_keywords(
                self.args[-1], parameters):
            kwargs = self.args.pop()
        self.kwargs = dict(kwargs or {})
        positional = [p.name for p in parameters if p.kind in (
            p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        self.arguments = [(positional[i] if i < len(positional) else f"input_{i}", arg)
                          for i, arg in enumerate(self.args)] + list(self.kwargs.items())
        self.tensors = [pair for name, arg in self.arguments for pair in _tensors(name, arg)]
        own = [name for name, _ in self.tensors]
        self.names = (*input_names, *own[len(input_names):])
        #: The numbers of the tensors as a trace has them: keyword arguments sorted by name.
        self.traced = self._traced()

    def _traced(self) -> list[int]:
        first, parts = 0, []
        for name, arg in self.arguments:
            count = sum(1 for _ in _tensors(name, arg))
            parts.append((name, list(range(first, first + count))))
            first += count
        fixed, named = parts[:len(self.args)], parts[len(self.args):]
        return [k for _, numbers in (*fixed, *sorted(named)) for k in numbers]

    def dynamic(self, axes: Any, shapes: Any, shared: bool = False
                ) -> dict[int, dict[int, str]] | None:
        """The sizes that vary, by the tensor's number in a trace; None where nothing is said.

        Args:
            axes: ``{input name: {dim: size's name}}`` or ``{input name: [dim, ...]}``.
            shapes: By argument, in order or by name: ``{dim: size}`` or a size for every dim,
                where a size is a name, a ``Dim``, or None; nested as the argument is.
            shared: Whether sizes without a name are the same where they are equal here.
        """
        if axes is None and shapes is None:
            return None
        if isinstance(shapes, Mapping) and shapes and all(isinstance(key, int) for key in shapes):
            return {k: {d: str(n) for d, n in sizes.items()} for k, sizes in shapes.items()}
        found: dict[int, dict[int, str]] = {}
        known: dict[str, int] = {}
        named = [(k, dim, name) for k, spec in self._specs(axes, shapes)
                 for dim, name in _sizes(spec)]
        plain = {name for _, _, name in named}
        sizes = [(k, dim, _label(name, plain)) for k, dim, name in named]
        for k, dim, name in sorted(sizes, key=lambda each: not each[2]):
            size = int(self.tensors[k][1].shape[dim])
            dim = dim % self.tensors[k][1].dim()
            if not name:
                same = [other for other, n in known.items() if n == size] if shared else []
                name = same[0] if same else f"{self.names[k]}_dim{dim}"
            if known.setdefault(name, size) != size:    # one label, as PyTorch lets it be
                name = f"{name}_{k}_{dim}"
            found.setdefault(self.traced.index(k), {})[dim] = _label(name, plain)
        return found

    def _specs(self, axes: Any, shapes: Any) -> Iterator[tuple[int, Any]]:
        if axes is not None:
            yield from ((k, axes[name]) for k, name in enumerate(self.names) if name in axes)
            return
        if not isinstance(shapes, Mapping):
            if len(shapes) != len(self.arguments):
                raise ValueError(f"onnx.export(): dynamic_shapes has {len(shapes)} entries for "
                                 f"{len(self.arguments)} arguments")
            shapes = {name: spec for (name, _), spec in zip(self.arguments, shapes, strict=True)}
        known = {name for name, _ in self.arguments}
        if unknown := [name for name in shapes if name not in known]:
            raise ValueError(f"onnx.export(): dynamic_shapes names {', '.join(unknown)}; the "
                             f"arguments are {', '.join(sorted(known))}")
        k = 0
        for name, arg in self.arguments:
            for spec in _spread(arg, shapes.get(name)):
                yield k, spec
                k += 1


def _label(name: str, names: set[str]) -> str:
    """A size's name as an identifier; ``"past + 1"`` is a size and a number where it is there."""
    parts = re.fullmatch(r"(\w+)\s*\+\s*(\d+)", name)
    if parts and parts[1] in names:
        return f"{parts[1]}+{parts[2]}"
    return re.sub(r"\W", "_", name)


def _parameters(model: Any) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(getattr(model, "forward", model)).parameters.values())
    except (TypeError, ValueError):
        return []


def _are_keywords(given: Mapping[Any, Any], parameters: list[inspect.Parameter]) -> bool:
    """Whether a last argument is the mapping of keyword arguments, as PyTorch takes it."""
    names = {p.name for p in parameters}
    return not given or all(key in names for key in given) or any(
        p.kind is p.VAR_KEYWORD for p in parameters)


def _tensors(name: str, arg: Any) -> Iterator[tuple[str, Any]]:
    if bridge.is_tensor(arg):
        yield name, arg
    elif isinstance(arg, Mapping):
        for key, each in arg.items():
            yield from _tensors(f"{name}_{key}", each)
    elif isinstance(arg, list | tuple):
        for k, each in enumerate(arg):
            yield from _tensors(f"{name}_{k}", each)


def _spread(arg: Any, spec: Any) -> Iterator[Any]:
    """The part of a specification for each tensor of an argument."""
    if bridge.is_tensor(arg):
        yield spec
    elif isinstance(arg, Mapping):
        for key, each in arg.items():
            yield from _spread(each, None if spec is None else spec.get(key))
    elif isinstance(arg, list | tuple):
        for k, each in enumerate(arg):
            yield from _spread(each, None if spec is None else spec[k])


def _sizes(spec: Any) -> Iterator[tuple[int, str]]:
    """Dimensions that vary, with the names of their sizes; empty where they have none."""
    if spec is None:
        return
    if isinstance(spec, list | tuple | set) and all(type(dim) is int for dim in spec):
        spec = dict.fromkeys(spec, True)
    pairs = spec.items() if isinstance(spec, Mapping) else enumerate(spec)
    for dim, size in pairs:
        hint = getattr(size, "name", None)
        if size is None or hint == "STATIC" or type(size) is int:
            continue
        yield dim, size if isinstance(size, str) else "" if size is True or hint else size.__name__


@contextmanager
def plain_results(model: Any) -> Iterator[tuple[Any, list[Any]]]:
    """A module or function in evaluation mode that gives plain tuples and dicts.

    With it, tensors that attributes of modules held before each call replaced them. They are put
    back: what a call leaves there for itself is no part of a model.
    """
    replaced: list[Any] = []
    if not hasattr(model, "register_forward_hook"):
        yield lambda *args, **kwargs: plain(model(*args, **kwargs)), replaced
        return
    changed = [each for each in model.modules() if each.training]
    before = [(each, dict(each.__dict__)) for each in model.modules()]

    def leave(module: Any, args: Any, result: Any) -> Any:
        for each, attributes in before:
            replaced.extend(_put_back(each.__dict__, attributes))
        return plain(result)

    hook = model.register_forward_hook(leave)
    try:
        for each in changed:
            each.training = False
        yield model, replaced
    finally:
        hook.remove()
        for each in changed:
            each.training = True


#: What branches and loops replace while they are recorded, and put back themselves.
_MEMBERS = ("_parameters", "_buffers", "_modules")


def _put_back(attributes: dict[str, Any], before: dict[str, Any]) -> list[Any]:
    """Undo new values of attributes that hold tensors; the tensors that they replaced."""
    replaced = []
    for name, value in list(attributes.items()):
        old = before.get(name)
        if value is old or name in _MEMBERS or not _tensors_in(value):
            continue
        if name in before:
            attributes[name] = old
            replaced += _tensors_in(old)
        else:
            del attributes[name]
    return replaced


def _tensors_in(value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return [tensor for each in value for tensor in _tensors_in(each)]
    return [value] if bridge.is_tensor(value) else []


def refuse_state(program: Any, replaced: Sequence[Any]) -> None:
    """Refuse a network that reads what its last call left in an attribute."""
    for capture in program.graph.captures:
        if any(capture.tensor is each for each in replaced):
            raise ExportError(
                "onnx.export(): the network reads a tensor that its last call left in an attribute "
                "of a module, which a model does not keep: make it an argument, and return it")


def plain(result: Any) -> Any:
    """A result with mappings and data classes as plain dicts, without what is None in them."""
    if bridge.is_tensor(result) or isinstance(result, bool | int | float | str) or result is None:
        return result
    if is_dataclass(result) and not isinstance(result, Mapping):
        result = {each.name: getattr(result, each.name) for each in fields(result)}
    if isinstance(result, Mapping):
        return {str(key): plain(each) for key, each in result.items() if each is not None}
    if isinstance(result, list | tuple):
        return tuple(plain(each) for each in result)
    return result
