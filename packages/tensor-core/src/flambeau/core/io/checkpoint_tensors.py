"""Tensors of PyTorch's checkpoints: views of storages, which the two formats keep differently."""
from __future__ import annotations

from typing import Any

import flambeau.core.io.builders as builders
import flambeau.core.io.quantized_parts as quantized
from flambeau import rooms
from flambeau.core import _core
from flambeau.core.io.errors import fail, shown
from flambeau.core.io.permission import Permission
from flambeau.core.io.pickles import Named, Setting
from flambeau.core.io.sparse_parts import rebuilt
from flambeau.core.io.storages import storage_over
from flambeau.core.io.unusual_tensors import (
    meta_tensor,
    set_attributes,
    with_attributes,
    with_class,
)

STORAGES = {"Double": "float64", "Float": "float32", "Half": "float16", "BFloat16": "bfloat16",
             "Long": "int64", "Int": "int32", "Short": "int16", "Char": "int8", "Byte": "uint8",
             "Bool": "bool", "ComplexFloat": "complex64", "ComplexDouble": "complex128"}
_UNTYPED = Named("uint8")
_PLAIN = "torch.Tensor"
_MOST_COMPUTED = 8      # numbers for each byte of the file


def texts(values: Any) -> Any:
    """A tuple or list with texts in place of bytes, which an encoding left as they are."""
    if type(values) not in (tuple, list):
        return values
    return type(values)(value.decode("latin-1") if type(value) is bytes else value
                        for value in values)


class Storage:
    """Memory of a checkpoint, and the dtype in which tensors see it."""

    def __init__(self, flat, key: str) -> None:
        self.flat = flat
        self.key = key
        self.shown: Any = None


class StoredTensors:
    """What a pickle may name, and its tensors.

    Args:
        permission: What the pickle may name beside data.
        size: Bytes of the file: what is computed of its numbers is limited by them.
    """

    def __init__(self, permission: Permission, size: int) -> None:
        self.permission = permission
        self.computed = _MOST_COMPUTED * size
        self.shown: dict[int, tuple[Any, Storage]] = {}   # by the identity of what is shown

    def setting(self) -> Setting:
        """For the interpreter of pickles."""
        return Setting(self._names(), self.permission, self._show, builders.attach)

    def _show(self, identity) -> Any:
        """The storage that a pickle names as programs know storages; other things as they are."""
        found = self.stored(identity)
        if not isinstance(found, Storage):
            return found
        if found.shown is None:
            name = None if identity[1] is _UNTYPED else found.flat.dtype.name
            found.shown = storage_over(found.flat, name)
            self.shown[id(found.shown)] = found.shown, found
        return found.shown

    def _memory(self, shown) -> Storage:
        """What ``_show`` showed."""
        if id(shown) not in self.shown:
            fail("a tensor of the checkpoint has no storage; the file is damaged")
        return self.shown[id(shown)][1]

    def stored(self, identity) -> Any:
        """The storage that a pickle names."""
        raise NotImplementedError

    def typed(self, storage: Storage, dtype_name: str) -> Storage:
        """A storage seen as elements of another dtype."""
        raise NotImplementedError

    def _names(self) -> dict[str, Any]:
        names = {f"torch.{name}Storage": dtype for name, dtype in STORAGES.items()}
        names |= {f"torch.{name}Storage": dtype for name, dtype in quantized.STORAGES.items()}
        table: dict[str, Any] = {name: Named(dtype) for name, dtype in names.items()}
        table["torch.storage.UntypedStorage"] = _UNTYPED
        table |= {f"torch.{d.name}": d for d in _core.all_dtypes() + _core.quantized_dtypes()}
        table |= {f"torch.{name}": name for name in quantized.SCHEMES}
        functions = {"torch._utils._rebuild_tensor": self._tensor,
                     "torch._utils._rebuild_tensor_v2": self._tensor_v2,
                     "torch._utils._rebuild_tensor_v3": self._tensor_v3,
                     "torch._utils._rebuild_sparse_tensor": self._sparse,
                     "torch._utils._rebuild_qtensor": self._quantized,
                     "torch._utils._rebuild_parameter": _parameter,
                     "torch._utils._rebuild_parameter_with_state": _parameter_with_state,
                     "torch._utils._rebuild_meta_tensor_no_storage": _meta,
                     "torch._utils._rebuild_wrapper_subclass": _without_memory,
                     "torch._tensor._rebuild_from_type_v2": _of_type}
        for name, dtype in STORAGES.items():
            table[f"torch.{name}Tensor"] = Named(dtype)
        table |= {name: Named(name, build) for name, build in functions.items()}
        table[_PLAIN] = Named(_PLAIN)
        return builders.NAMES | table

    def _tensor(self, shown, offset, size, stride):
        return self._view(self._memory(shown), offset, size, stride)

    def _view(self, storage: Storage, offset, size, stride):
        numbers = [offset, *_sizes(size), *_sizes(stride)]
        if any(type(n) is not int or not 0 <= n < 1 << 62 for n in numbers) or \
                len(size) != len(stride) or len(size) > 32:
            fail(f"a tensor of size {shown(size)} and stride {shown(stride)} at {shown(offset)} in "
                 f"storage {storage.key!r}; the file is damaged")
        first = storage.flat.storage_offset() + offset
        return storage.flat.as_strided(tuple(size), tuple(stride), first).detach()

    def _tensor_v2(self, shown, offset, size, stride, requires_grad, hooks, metadata=None):
        _refuse_hooks(hooks)
        storage = self._memory(shown)
        x = self._view(storage, offset, size, stride)
        return self._finished(x, storage, requires_grad, metadata)

    def _tensor_v3(self, shown, offset, size, stride, requires_grad, hooks, dtype,
                   metadata=None):
        _refuse_hooks(hooks)
        if not isinstance(dtype, _core.dtype):
            fail("a tensor of the checkpoint has no dtype; the file is damaged")
        typed = self.typed(self._memory(shown), dtype.name)
        x = self._view(typed, offset, size, stride)
        return self._finished(x, typed, requires_grad, metadata)

    def _compute(self, count: int) -> None:
        """Count numbers that are computed: a file may name the same memory again and again."""
        self.computed -= count
        if self.computed < 0:
            fail("tensors of the checkpoint that are sparse, conjugate or negative have the same "
                 "memory too often; the file is damaged")

    def _sparse(self, kind, parts):
        if type(parts) is tuple:
            for part in parts:
                self._compute(part.numel() if isinstance(part, _core.Tensor) else 0)
        return rebuilt(kind, parts)

    def _quantized(self, shown, offset, size, stride, parameters, requires_grad, hooks):
        _refuse_hooks(hooks)
        return quantized.rebuilt(self._view(self._memory(shown), offset, size, stride), parameters)

    def _finished(self, x, storage: Storage, requires_grad, metadata):
        """With the marks that PyTorch keeps beside a tensor."""
        marks = metadata or {}
        if not isinstance(marks, dict) or set(marks) - {"conj", "neg"}:
            fail(f"a tensor of the checkpoint has the marks {shown(marks)}; known are conj and neg")
        if any(marks.values()):
            self._compute(x.numel())
            if x.numel() > storage.flat.numel():
                fail("a tensor that is conjugate or negative repeats its elements; save a clone "
                     "of it")
        if marks.get("conj"):
            x = x.conj()
        if marks.get("neg"):
            x = -x
        return _core.requiring(x, True) if requires_grad is True else x


def _sizes(value) -> tuple:
    if not isinstance(value, tuple):
        fail(f"a tensor of the checkpoint has the sizes {shown(value)}; the file is damaged")
    return value


def _refuse_hooks(hooks) -> None:
    if hooks:
        fail("a tensor of the checkpoint has backward hooks, which are code; save it detached")


def _parameter(data, requires_grad, hooks):
    _refuse_hooks(hooks)
    if not isinstance(data, _core.Tensor):
        fail("a parameter of the checkpoint is not a tensor; the file is damaged")
    if rooms.installed("nn"):
        return rooms.enter("nn").Parameter(data.detach(), requires_grad is True)
    return _core.requiring(data.detach(), requires_grad is True)


def _parameter_with_state(data, requires_grad, hooks, state):
    return with_attributes(_parameter(data, requires_grad, hooks), state)


def _meta(dtype, size, stride, requires_grad):
    if not isinstance(dtype, _core.dtype):
        fail("a tensor of the checkpoint on the meta device has no dtype; the file is damaged")
    return meta_tensor(dtype, _sizes(size), _sizes(stride), requires_grad)


def _without_memory(kind, dtype, size, stride, offset, layout, device, requires_grad):
    if layout != "strided":
        fail(f"a tensor of the checkpoint has the layout {shown(layout)}")
    data = [dtype, list(_sizes(size)), list(_sizes(stride)), offset, device]
    return with_class(kind, data, requires_grad)


def _of_type(function, kind, arguments, state):
    """A tensor with attributes, or one of a class that the program permits."""
    if not isinstance(function, Named) or function.build is None or type(arguments) is not tuple:
        fail("a tensor of the checkpoint is made by nothing known; the file is damaged")
    made = function.build(*arguments)
    if isinstance(kind, Named) and kind.name == _PLAIN:
        return with_attributes(made, state)
    if not isinstance(made, _core.Tensor):
        fail("a tensor of the checkpoint is none; the file is damaged")
    same = type(made) is kind
    return set_attributes(made if same else with_class(kind, made, made.requires_grad), state)
