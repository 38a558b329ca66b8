"""What is said of an operator: its schema, kernels, gradients, batches, fake results."""
from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, NoReturn

from flambeau.library.operators import Definition, OpOverload, OpOverloadPacket, definitions
from flambeau.library.schemas import parse_schema

_RESERVED = ("aten", "prim", "prims")
#: Key of PyTorch's dispatcher -> where its kernel is kept here.
_KEYS = {"CPU": "cpu", "CUDA": "cuda", "Meta": "meta", "CompositeExplicitAutograd": "",
         "CompositeImplicitAutograd": "composite", "": "composite", "BackendSelect": "",
         "CompositeExplicitAutogradNonFunctional": ""}


def qualified(name: str) -> tuple[str, str, str]:
    """Namespace, name and overload of ``"mylib::name.overload"``."""
    space, colons, rest = name.partition("::")
    if not colons or not space or not rest:
        raise ValueError(f"expected a qualified name 'namespace::name' for the operator, got "
                         f"{name!r}")
    short, _, overload = rest.partition(".")
    return space, short, overload or "default"


def find(op: Any) -> Definition:
    """The definition of an operator given by name or as an object."""
    if hasattr(op, "_definition"):
        found: Definition = op._definition
        return found
    if isinstance(op, OpOverloadPacket):
        op = f"{op._qualified_op_name}.default"
    if isinstance(op, OpOverload):
        op = op._key
    if not isinstance(op, str):
        raise ValueError(f"expected an operator or its name, got {type(op).__name__}")
    space, short, overload = qualified(op)
    key = f"{space}::{short}.{overload}"
    if key not in definitions:
        raise RuntimeError(f"operator {space}::{short} does not exist: define it first with "
                           "flambeau.library.custom_op or flambeau.library.define")
    return definitions[key]


def add(name: str, schema: str, tags: Any = (), again: bool = False) -> Definition:
    """Define ``namespace::name`` with a schema that has no name."""
    space, short, overload = qualified(name)
    key = f"{space}::{short}.{overload}"
    if key in definitions and not again:
        raise RuntimeError(f"Tried to register an operator ({name}) with the same name and "
                           "overload name multiple times; choose another name")
    read = parse_schema(schema)
    read.name, read.overload_name = f"{space}::{short}", overload.replace("default", "")
    made = definitions[key] = Definition(read, tags)
    for kernel in _early.pop(key, ()):
        put_kernel(made, *kernel)
    return made


def forget(key: str) -> None:
    """Remove a definition."""
    definition = definitions.pop(key, None)
    if definition is not None:
        fresh(definition)


def _each(types: Any) -> list[str]:
    """Device types as keys of kernels; None and "default" are all."""
    if types is None or types == "default":
        return [""]
    return [types] if isinstance(types, str) else list(types)


def _key(name: str) -> str:
    if name in ("cpu", "cuda", "meta"):
        return name
    if name not in _KEYS and name not in ("xpu", "mps"):
        raise RuntimeError(f"could not parse dispatch key '{name}'; known here are "
                           f"{sorted(k for k in _KEYS if k)}, Autograd, and device types")
    return _KEYS.get(name, name)


def put_kernel(op: Definition, key: str, function: Callable[..., Any]) -> None:
    """Keep a kernel for a key of PyTorch's dispatcher, or a device type."""
    if key.startswith("Autograd"):
        op.autograd = function
    elif key == "Meta":
        op.fake = function
    elif key.startswith("Autocast"):
        op.autocast[key.removeprefix("Autocast").lower()] = function
    elif key in ("FuncTorchBatched", "Functionalize", "Python"):
        raise NotImplementedError(f"kernels for the key {key!r} are not called here; use "
                                  "flambeau.library.register_vmap or register_fake")
    else:
        op.kernels[_key(key)] = function


#: Kernels of operators that are yet to be defined: a package may register them first.
_early: dict[str, list[tuple[str, Callable[..., Any]]]] = {}


def _put_by_name(op: Any, key: str, function: Callable[..., Any]) -> None:
    """Keep a kernel of an operator that is, or will be, defined."""
    full = "{}::{}.{}".format(*qualified(op)) if isinstance(op, str) else ""
    if not full or full in definitions:
        put_kernel(find(op), key, function)
    else:
        _early.setdefault(full, []).append((key, function))


def _end(keys: list[str]) -> None:
    for key in keys:
        forget(key)
    keys.clear()


class Library:
    """Operators of a namespace, which end when nobody holds the library any more.

    Args:
        ns: The namespace.
        kind: ``"DEF"``, ``"FRAGMENT"`` or ``"IMPL"``; ``define`` needs one of the first two.
        dispatch_key: The key that ``impl`` takes when none is given.

    Raises:
        ValueError: another ``kind``, or a namespace that is PyTorch's own.

    Example:
        >>> from flambeau.library import Library
        >>> lib = Library("doclib", "FRAGMENT")
        >>> _ = lib.define("half(Tensor x) -> Tensor")
        >>> lib.impl("half", lambda x: x / 2, "CompositeImplicitAutograd")
        >>> import flambeau
        >>> flambeau.ops.doclib.half(flambeau.ones(1))
        tensor([0.5000])
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError(f"Unsupported kind: {kind!r}; write 'DEF', 'FRAGMENT' or 'IMPL'")
        if ns in _RESERVED and kind != "IMPL":
            raise ValueError(f"{ns} is a reserved namespace. Please try creating a library with "
                             "another name.")
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self._defined: list[str] = []
        weakref.finalize(self, _end, self._defined)

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Add an operator.

        Args:
            schema: With its name: ``"half(Tensor x) -> Tensor"``.
            alias_analysis: Accepted for compatibility.
            tags: Kept with the operator.

        Returns:
            Its name.
        """
        if self.kind == "IMPL":
            raise RuntimeError("define() on a Library of kind 'IMPL': use 'DEF' or 'FRAGMENT'")
        name = schema.partition("(")[0].strip().rpartition("::")[2]
        add(f"{self.ns}::{name}", schema, tags)
        space, short, overload = qualified(f"{self.ns}::{name}")
        self._defined.append(f"{space}::{short}.{overload}")
        return name

    def impl(self, op_name: Any, fn: Any, dispatch_key: str = "", *, with_keyset: bool = False,
             allow_override: bool = False) -> None:
        """Register a kernel.

        Args:
            op_name: The operator, or its name without the namespace.
            fn: The kernel.
            dispatch_key: ``"CPU"``, ``"CUDA"``, ``"Meta"``, ``"Autograd"``,
                ``"CompositeImplicitAutograd"`` (differentiated through, the default) or
                ``"CompositeExplicitAutograd"`` (for all devices).
            with_keyset: Not available: there are no sets of keys.
            allow_override: Replace a kernel that is there.
        """
        if with_keyset:
            raise NotImplementedError("impl(): with_keyset is not available: there are no sets of "
                                      "dispatch keys here")
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type "
                            f"{type(fn)}")
        if self.ns in _RESERVED:
            raise NotImplementedError(
                f"impl({op_name!r}): kernels of {self.ns} are not replaced here; see calls in a "
                "flambeau.overrides.TorchFunctionMode instead")
        name = op_name if isinstance(op_name, str) else op_name.name()
        full = name if "::" in name else f"{self.ns}::{name}"
        _put_by_name(full, dispatch_key or self.dispatch_key, fn)

    def _destroy(self) -> None:
        _end(self._defined)


def _decorates(take: Callable[[Callable[..., Any]], None], function: Any) -> Any:
    """Hand ``function`` to ``take``, now or as a decorator."""
    def decorate(given: Callable[..., Any]) -> Callable[..., Any]:
        take(given)
        return given

    return decorate if function is None else decorate(function)


def define(qualname: Any, schema: str, alias_analysis: str = "", *, lib: Any = None,
           tags: Any = ()) -> Any:
    """Add an operator.

    Args:
        qualname: ``"namespace::name"``; a library in the older form, a decorator for the kernel.
        schema: ``"(Tensor x) -> Tensor"``, in the older form with a name in front.
        alias_analysis: Accepted for compatibility.
        lib: The library that it ends with.
        tags: Kept with the operator.

    Example:
        >>> import flambeau
        >>> flambeau.library.define("docdef::sine", "(Tensor x) -> Tensor")
        >>> @flambeau.library.impl("docdef::sine", "cpu")
        ... def sine(x):
        ...     return x.sin()
        >>> flambeau.ops.docdef.sine(flambeau.zeros(1))
        tensor([0.])
    """
    if isinstance(qualname, Library):
        library, name = qualname, qualname.define(schema, alias_analysis, tags=tags)
        return _decorates(lambda function: library.impl(name, function), None)
    if not isinstance(qualname, str):
        raise ValueError(f"define(qualname, schema): expected qualname to be instance of str, got "
                         f"{type(qualname)}")
    add(qualname, schema, tags)
    if lib is not None:
        lib._defined.append("{}::{}.{}".format(*qualified(qualname)))
    return None


def impl(qualname: Any, types: Any, func: Any = None, *, lib: Any = None) -> Any:
    """Register a kernel for devices; a decorator where ``func`` is left out.

    Args:
        qualname: The operator's name; a library in the older form ``impl(lib, name, key)``.
        types: Device types, or ``"default"`` for all; keys of PyTorch's dispatcher are known.
        func: The kernel.
        lib: Accepted for compatibility.
    """
    if isinstance(qualname, Library):
        library, key = qualname, func or ""
        return _decorates(lambda f: library.impl(types, f, key), None)
    def take(function: Callable[..., Any]) -> None:
        for kind in _each(types):
            _put_by_name(qualname, kind or "CompositeExplicitAutograd", function)

    return _decorates(take, func)


def register_kernel(op: Any, device_types: Any, func: Any = None, /, *, lib: Any = None) -> Any:
    """Register a kernel for devices; a decorator where ``func`` is left out.

    Args:
        op: The operator, or its name.
        device_types: One or several; None for all.
        func: The kernel.
        lib: Accepted for compatibility.
    """
    return impl(op if isinstance(op, str) else find(op).name, device_types, func)


def register_fake(op: Any, func: Any = None, /, *, lib: Any = None, _stacklevel: int = 1,
                  allow_override: bool = False) -> Any:
    """Say what results are like, for tensors without values; a decorator without ``func``.

    Args:
        op: The operator, or its name.
        func: Takes the arguments and returns tensors of the right shapes and dtypes, such as
            ``flambeau.empty_like(x)``.
        lib: Accepted for compatibility.
        allow_override: Accepted for compatibility.
    """
    found = find(op)
    return _decorates(lambda function: setattr(found, "fake", function), func)


impl_abstract = register_fake


def register_autograd(op: Any, backward: Callable[..., Any], /, *, setup_context: Any = None,
                      lib: Any = None) -> None:
    """Say how an operator is differentiated.

    Args:
        op: The operator, or its name.
        backward: ``backward(ctx, *grads)`` returns a gradient, or None, for each argument.
        setup_context: ``setup_context(ctx, inputs, output)`` keeps what ``backward`` needs.
        lib: Accepted for compatibility.

    Raises:
        RuntimeError: the operator writes to its arguments.
    """
    found = find(op)
    if found.schema.is_mutable:
        raise RuntimeError(f"Cannot register autograd formula for non-functional operator "
                           f"{found.name} with schema {found.schema}. Please create a functional "
                           "operator and register an autograd formula for that.")
    found.backward, found.setup_context = backward, setup_context


def register_vmap(op: Any, func: Any = None, /, *, lib: Any = None) -> Any:
    """Say how an operator works on batches; a decorator where ``func`` is left out.

    Without it ``vmap`` calls the operator once for each sample.

    Args:
        op: The operator, or its name.
        func: ``func(info, in_dims, *args)`` returns the results and where their batches are.
        lib: Accepted for compatibility.
    """
    found = find(op)
    return _decorates(lambda function: setattr(found, "vmap", function), func)


def register_torch_dispatch(op: Any, torch_dispatch_class: Any, func: Any = None, /, *,
                            lib: Any = None) -> Any:
    """Say what a class of tensors, or a mode, does with an operator.

    Args:
        op: The operator, or its name.
        torch_dispatch_class: The class.
        func: ``func(cls_or_mode, op, types, args, kwargs)``.
        lib: Accepted for compatibility.
    """
    found = find(op)
    return _decorates(
        lambda function: found.torch_function.__setitem__(torch_dispatch_class, function), func)


class _FakeContext:
    """What a fake kernel may ask for sizes that depend on values."""

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> NoReturn:
        """Refuse: a size without a value is not represented here."""
        raise NotImplementedError("new_dynamic_size(): a size that depends on values is not "
                                  "represented in tensors without values")

    create_unbacked_symint = new_dynamic_size


def get_ctx() -> _FakeContext:
    """The context of the fake kernel that runs."""
    return _FakeContext()


def fallthrough_kernel() -> NoReturn:
    """Stands for no kernel; it is not called."""
    raise NotImplementedError("fallthrough_kernel() should never be called.")


def wrap_triton(triton_kernel: Any, /) -> NoReturn:
    """Refuse: there is no Triton here."""
    raise NotImplementedError("wrap_triton(): kernels of Triton are not run here; write the kernel "
                              "with CuPy and register it with flambeau.library.custom_op")


def fresh(op: Definition) -> None:
    """Let objects that were made for an earlier operator of the name be looked up again."""
    from flambeau.library.operators import ops

    space, short, _ = qualified(op.name)
    getattr(ops, space).__dict__.pop(short, None)
