"""``Parameter`` and ``Buffer``: tensors that a module registers when they are assigned to it.

Note [tensors without values]: an uninitialized parameter holds an empty tensor on the ``meta``
device, so that operators that are called on it by mistake find no values to compute with. Its
methods and operators refuse with a text that says what to do. Once its shape is known it takes
its values and becomes an ordinary parameter, the same object, so that optimizers keep it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau.core import _core, copying
from flambeau.core._core import no_override


class _Kind(type):
    """The class of ``Parameter`` and ``Buffer``.

    Tensors of a program's own classes keep their class, and count as parameters by an attribute.
    """

    def __instancecheck__(cls, instance: Any) -> bool:
        if type.__instancecheck__(cls, instance):
            return True
        if not isinstance(instance, Tensor) or cls not in (Parameter, Buffer):
            return False
        mark = "_is_param" if cls is Parameter else "_is_buffer"
        return getattr(instance, mark, False) is True


class Parameter(Tensor, metaclass=_Kind):
    """A tensor that a ``Module`` lists among its parameters once it is assigned as an attribute.

    Operators on parameters give plain tensors. The parameter shares the memory of ``data``.

    Args:
        data: The values; an empty tensor when left out.
        requires_grad: Whether ``backward`` fills ``grad``.

    Raises:
        TypeError: ``data`` is not a tensor.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> layer = nn.Module()
        >>> layer.scale = nn.Parameter(flambeau.ones(2))
        >>> [name for name, _ in layer.named_parameters()]
        ['scale']
        >>> layer.scale.requires_grad
        True
    """

    __torch_function__ = no_override

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Parameter:
        """Wrap ``data`` without copying it."""
        return _wrap(cls, data, requires_grad)

    def __repr__(self) -> str:
        shown = self.detach()
        shown.requires_grad = self.requires_grad
        return f"Parameter containing:\n{shown!r}"

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.detach().clone(), self.requires_grad)
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return _reduced(self, self.requires_grad)


class Buffer(Tensor, metaclass=_Kind):
    """A tensor that is part of a module's state but is not trained.

    Args:
        data: The values; an empty tensor when left out.
        persistent: Whether ``state_dict`` contains the buffer.

    Raises:
        TypeError: ``data`` is not a tensor.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> layer = nn.Module()
        >>> layer.count = nn.Buffer(flambeau.zeros(1))
        >>> list(layer.state_dict())
        ['count']
    """

    persistent: bool
    __torch_function__ = no_override

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Buffer:
        """Wrap ``data`` without copying it."""
        buffer = _wrap(cls, data, False)
        buffer.persistent = persistent
        return buffer

    def __deepcopy__(self, memo: dict[int, Any]) -> Buffer:
        if id(self) not in memo:
            copied = type(self)(self.detach().clone(), persistent=self.persistent)
            memo[id(self)] = copied
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return _reduced(self, False)


def _wrap(cls: Any, data: Tensor | None, requires_grad: bool) -> Any:
    if data is None:
        data = flambeau.empty(0)
    if not isinstance(data, Tensor):
        raise TypeError(
            f"nn.{cls.__name__}() takes a Tensor, not {type(data).__name__}; "
            f"write nn.{cls.__name__}(flambeau.tensor(...))"
        )
    plain = type(data) is Tensor or isinstance(data, UninitializedTensorMixin) \
        or any(type.__instancecheck__(kind, data) for kind in (Parameter, Buffer))
    if not plain or _core.is_dispatched(data):
        return _marked(cls, data, requires_grad)
    return Tensor._make_subclass(cls, data, requires_grad)


def _marked(cls: Any, data: Tensor, requires_grad: bool) -> Any:
    """A tensor of a program's class as a parameter or buffer, of its own class."""
    made = data.detach().requires_grad_(requires_grad)
    if type(made) is not type(data):
        raise RuntimeError(
            f"Creating a Parameter from an instance of type {type(data).__name__} requires that "
            "detach() returns an instance of the same type, but return type "
            f"{type(made).__name__} was found instead. Let __torch_function__ answer detach, or "
            "__torch_dispatch__ aten.detach.default, with the class")
    for kind, mark in ((Parameter, "_is_param"), (Buffer, "_is_buffer")):
        if issubclass(cls, kind):
            setattr(made, mark, True)
    return made


def _reduced(tensor: Tensor, requires_grad: bool) -> tuple[Any, ...]:
    """What pickle needs: the values, and the attributes, ``persistent`` of buffers among them."""
    copying.share_what_is_sent(tensor)
    state = (dict(tensor.__dict__),) if tensor.__dict__ else ()
    return _wrap, (type(tensor), tensor.detach(), requires_grad), *state


# What tensors without values can do: be asked what does not depend on values or shape, and change.
_ALLOWED = frozenset(
    "cls_to_become convert_ dtype device requires_grad requires_grad_ grad grad_fn is_leaf data "
    "materialize persistent detach is_floating_point is_complex is_meta retains_grad "
    "to cpu cuda half float double bfloat16".split()
)
_OPERATORS = (
    "abs add and bool complex contains eq float floordiv ge getitem gt iadd iand ifloordiv "
    "ilshift imod imul index int invert ior ipow irshift isub iter itruediv ixor le len lshift lt "
    "matmul mod mul ne neg or pos pow radd rand rfloordiv rlshift rmatmul rmod rmul ror rpow "
    "rrshift rshift rsub rtruediv rxor setitem sub truediv xor"
).split()


class UninitializedTensorMixin:
    """A parameter or buffer whose shape is not known yet."""

    cls_to_become: Any
    _home: Any  # the device that the values will be on

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Take memory of this shape, with arbitrary values, and become an ordinary tensor.

        Args:
            shape: The shape.
            device: The device, if not the one given to the constructor.
            dtype: The dtype, if not the one given to the constructor.
        """
        tensor: Any = self
        home = self._home if device is None else device
        dtype = tensor.dtype if dtype is None else dtype
        tensor.data = flambeau.empty(shape, device=home, dtype=dtype)
        del tensor.__dict__["_home"]
        tensor.__class__ = self.cls_to_become

    def convert_(self, fn: Callable[[Tensor], Tensor]) -> None:
        """Take the device and dtype that ``fn`` gives to tensors like this one."""
        tensor: Any = self
        probe = fn(flambeau.empty(0, device=self._home, dtype=tensor.dtype))
        tensor.data = flambeau.empty(0, device="meta", dtype=probe.dtype)
        tensor.__dict__["_home"] = probe.device

    @property
    def device(self) -> Any:
        """The device that the values will be on."""
        return self._home

    def detach(self) -> Any:
        """This tensor itself: it has no values that could be shared."""
        return self

    def __getattribute__(self, name: str) -> Any:
        if name[0] != "_" and name not in _ALLOWED and hasattr(Tensor, name):
            kind = RuntimeError if name in ("shape", "share_memory_") else ValueError
            raise kind(_no_values(type(self).__name__, name))
        return super().__getattribute__(name)

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            rebuild, arguments = self.__reduce_ex__(4)
            memo[id(self)] = rebuild(*arguments)
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        tensor: Any = self
        persistent = self.__dict__.get("persistent")
        return _rebuild_uninitialized, (
            type(self),
            tensor.requires_grad,
            self._home,
            tensor.dtype,
            persistent,
        )


def _no_values(kind: str, name: str) -> str:
    return (
        f"{name} of an {kind}, whose shape is not known yet: call the module on a batch first, "
        "which makes its parameters, or materialize(shape) on this one"
    )


def _refusing(operator: str) -> Callable[..., Any]:
    def refuse(self: Any, *_: Any) -> Any:
        raise ValueError(_no_values(type(self).__name__, operator))

    return refuse


def _converting(name: str) -> Callable[..., Any]:
    def convert(self: Any, *args: Any, **kwargs: Any) -> Any:
        twin = self.__deepcopy__({})
        twin.convert_(lambda tensor: getattr(tensor, name)(*args, **kwargs))
        return twin

    return convert


for _name in _OPERATORS:
    setattr(UninitializedTensorMixin, f"__{_name}__", _refusing(f"__{_name}__"))
for _name in ("to", "cpu", "cuda", "half", "float", "double", "bfloat16"):
    setattr(UninitializedTensorMixin, _name, _converting(_name))


def _without_values(cls: Any, requires_grad: bool, device: Any, dtype: Any) -> Any:
    home = flambeau.empty(0, device=device, dtype=dtype)
    data = flambeau.empty(0, device="meta", dtype=home.dtype)
    tensor = Tensor._make_subclass(cls, data, requires_grad)
    tensor.__dict__["_home"] = home.device
    return tensor


def _rebuild_uninitialized(
    cls: Any, requires_grad: bool, device: Any, dtype: Any, persistent: bool | None
) -> Any:
    tensor = _without_values(cls, requires_grad, device, dtype)
    if persistent is not None:
        tensor.persistent = persistent
    return tensor


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter whose shape is not known yet, as lazy modules have before their first call.

    It can be registered, converted, moved, given to an optimizer and saved by ``state_dict``;
    anything that needs its shape or values raises. See Note [tensors without values].

    Args:
        requires_grad: Whether ``backward`` will fill ``grad``.
        device: Where the values will be.
        dtype: Their dtype.

    Example:
        >>> from flambeau import nn
        >>> weight = nn.UninitializedParameter()
        >>> weight.materialize((2, 3))
        >>> type(weight).__name__, tuple(weight.shape)
        ('Parameter', (2, 3))
    """

    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
        """Make one without values."""
        return _without_values(cls, requires_grad, device, dtype)


class UninitializedBuffer(UninitializedTensorMixin, Buffer):
    """A buffer whose shape is not known yet, as lazy modules have before their first call.

    Args:
        requires_grad: Whether ``backward`` will fill ``grad``.
        device: Where the values will be.
        dtype: Their dtype.
        persistent: Whether ``state_dict`` contains the buffer.

    Example:
        >>> from flambeau import nn
        >>> mean = nn.UninitializedBuffer()
        >>> mean.materialize((3,))
        >>> tuple(mean.shape)
        (3,)
    """

    cls_to_become = Buffer

    def __new__(
        cls,
        requires_grad: bool = False,
        device: Any = None,
        dtype: Any = None,
        persistent: bool = True,
    ) -> Any:
        """Make one without values."""
        buffer = _without_values(cls, requires_grad, device, dtype)
        buffer.persistent = persistent
        return buffer


def is_lazy(param: Any) -> bool:
    """Whether this is a parameter or buffer whose shape is not known yet."""
    return isinstance(param, UninitializedTensorMixin)


def factory_kwargs(kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """What a module's ``**kwargs`` say to the functions that make its tensors.

    Args:
        kwargs: ``device``, ``dtype``, ``memory_format``, and a dict ``factory_kwargs`` of the
            same for modules that have arguments of these names themselves.

    Returns:
        One dict of them.

    Raises:
        TypeError: Another name is given, or one twice.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.factory_kwargs({"factory_kwargs": {"dtype": flambeau.float64}})
        {'dtype': flambeau.float64}
    """
    given = dict(kwargs or {})
    made = dict(given.pop("factory_kwargs", {}))
    unknown = sorted(given.keys() - {"device", "dtype", "memory_format"})
    if unknown:
        raise TypeError(
            f"unexpected keyword argument {unknown[0]!r}; tensors are made with device, dtype and "
            "memory_format"
        )
    twice = sorted(given.keys() & made.keys())
    if twice:
        raise TypeError(f"{twice[0]} is given twice, by itself and in factory_kwargs")
    return made | given
