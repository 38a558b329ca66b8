"""``custom_op``: an operator from a Python function with annotations."""
from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import flambeau.library.registering as registering
from flambeau.library.operators import Definition, OpOverload, ops
from flambeau.library.registering import add, put_kernel, qualified
from flambeau.library.schemas import infer_schema


class CustomOpDef:
    """An operator that ``custom_op`` made; callable."""

    def __init__(self, definition: Definition, function: Callable[..., Any]) -> None:
        self._definition = definition
        self._init_fn = function
        self._namespace, self._name, _ = qualified(definition.name)
        self._qualname = definition.name
        self.__name__ = getattr(function, "__name__", self._name)
        self.__doc__ = function.__doc__
        self.__module__ = function.__module__

    @property
    def _opoverload(self) -> OpOverload:
        packet = getattr(getattr(ops, self._namespace), self._name)
        found: OpOverload = packet.default
        return found

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._opoverload(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def register_kernel(self, device_types: Any, fn: Any = None, /) -> Any:
        """Register a kernel for devices; a decorator where ``fn`` is left out."""
        return registering.register_kernel(self, device_types, fn)

    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        """Say what results are like, for tensors without values."""
        self._definition.fake = fn
        return fn

    def register_autograd(self, backward: Callable[..., Any], /, *,
                          setup_context: Any = None) -> None:
        """Say how the operator is differentiated."""
        registering.register_autograd(self, backward, setup_context=setup_context)

    def register_vmap(self, func: Any = None) -> Any:
        """Say how the operator works on batches."""
        return registering.register_vmap(self, func)

    def register_torch_dispatch(self, torch_dispatch_class: Any, fn: Any = None, /) -> Any:
        """Say what a class of tensors, or a mode, does with the operator."""
        return registering.register_torch_dispatch(self, torch_dispatch_class, fn)

    @contextlib.contextmanager
    def set_kernel_enabled(self, device_type: str, enabled: bool = True) -> Iterator[None]:
        """Switch a device's kernel on or off inside a ``with`` block."""
        before = set(self._definition.disabled)
        change = self._definition.disabled.discard if enabled else self._definition.disabled.add
        change(device_type)
        try:
            yield
        finally:
            self._definition.disabled = before


def custom_op(name: str, fn: Any = None, /, *, mutates_args: str | Iterable[str],
              device_types: Any = None, schema: str | None = None, tags: Any = ()) -> Any:
    """Make an operator of a Python function; a decorator where ``fn`` is left out.

    Args:
        name: ``"namespace::name"``.
        fn: What computes: its parameters and result are annotated, unless ``schema`` is given. It
            returns new tensors, none of its arguments or views of them.
        mutates_args: Names of the tensors that it writes to; ``"unknown"`` for all.
        device_types: The devices that it is for; all when left out.
        schema: ``"(Tensor x) -> Tensor"``, instead of annotations.
        tags: Kept with the operator.

    Returns:
        The operator, a ``CustomOpDef``.

    Raises:
        ValueError: the name has no namespace, or an annotation is missing.

    Example:
        >>> import flambeau
        >>> @flambeau.library.custom_op("docop::sine", mutates_args=())
        ... def sine(x: flambeau.Tensor) -> flambeau.Tensor:
        ...     return x.sin()
        >>> sine(flambeau.zeros(2))
        tensor([0., 0.])
    """
    def decorate(function: Callable[..., Any]) -> CustomOpDef:
        given = schema or infer_schema(function, mutates_args=mutates_args)
        definition = add(name, given, tags, again=True)
        definition.makes_new = True
        _check_mutated(definition, mutates_args)
        for kind in registering._each(device_types):
            put_kernel(definition, kind or "CompositeExplicitAutograd", function)
        registering.fresh(definition)
        return CustomOpDef(definition, function)

    return decorate if fn is None else decorate(fn)


def triton_op(name: str, fn: Any = None, /, *, mutates_args: str | Iterable[str] = (),
              schema: str | None = None) -> Any:
    """Make an operator of a Python function that may call kernels of Triton where there are some.

    Here it is ``custom_op``: a call runs the function, or what is registered for the device.
    Kernels themselves are refused by ``wrap_triton``.

    Args:
        name: ``"namespace::name"``.
        fn: What computes; a decorator is returned where it is left out.
        mutates_args: Names of the tensors that it writes to.
        schema: ``"(Tensor x) -> Tensor"``, instead of annotations.

    Returns:
        The operator, a ``CustomOpDef``.

    Example:
        >>> import flambeau
        >>> @flambeau.library.triton_op("docop::twice", mutates_args=())
        ... def twice(x: flambeau.Tensor) -> flambeau.Tensor:
        ...     return x * 2
        >>> twice(flambeau.ones(2))
        tensor([2., 2.])
    """
    return custom_op(name, fn, mutates_args=mutates_args, schema=schema)


def _check_mutated(definition: Definition, mutates_args: Any) -> None:
    written = {a.name for a in definition.schema.arguments if a.is_write}
    if mutates_args != "unknown" and set(mutates_args) != written:
        raise ValueError(f"Attempted to create a custom op with `mutates_args={mutates_args}` and "
                         f"`schema={definition.schema}`. The schema suggests that the op mutates "
                         f"{written} which is different from what was provided to us in "
                         "`mutates_args`. Please make these consistent.")
