"""The functions of which calls are shown to ``__torch_function__``, with their names."""
from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import MethodDescriptorType, ModuleType
from typing import Any

from flambeau import rooms
from flambeau.core import _core

#: Functions without tensors among their arguments: modes alone see them.
_IGNORED = frozenset(
    "arange as_tensor asarray bartlett_window blackman_window broadcast_shapes can_cast compile "
    "device dtype empty empty_permuted empty_strided enable_grad eye finfo from_file from_numpy "
    "frombuffer full get_default_device get_default_dtype get_num_threads get_rng_state "
    "hamming_window hann_window iinfo inference_mode initial_seed is_grad_enabled "
    "is_inference_mode_enabled is_storage is_tensor kaiser_window layout linspace load logspace "
    "manual_seed memory_format no_grad normal ones promote_types rand rand_like randint "
    "randint_like randn randn_like randperm range result_type save scalar_tensor seed "
    "set_default_device set_default_dtype set_grad_enabled set_num_threads set_printoptions "
    "set_rng_state tensor tril_indices triu_indices typename use_deterministic_algorithms vander "
    "vmap zeros fftfreq rfftfreq calculate_gain assert_int_or_pair sigmoid tanh upsample "
    "upsample_bilinear upsample_nearest as_strided fill "
    "get_promotion set_promotion load_training_state save_training_state from_dlpack "
    "clear_autocast_cache".split())
_IGNORED_METHODS = frozenset(
    "__delitem__ __dir__ __hash__ __init_subclass__ __iter__ __new__ __torch_function__ "
    "__torch_dispatch__ __array_namespace__ __class__ __init__ __getattribute__ __setattr__ "
    "__delattr__ __subclasshook__ _make_subclass _make_wrapper_subclass as_subclass new new_empty "
    "new_empty_strided new_full new_ones new_tensor new_zeros stride unflatten".split())
_SPACES = ("", "nn.functional", "nn.init", "linalg", "fft", "special")


@dataclass
class Catalogue:
    """What is shown, by namespace; names of all of it; what is not."""

    functions: dict[Any, list[Any]] = field(default_factory=dict)
    names: dict[Any, str] = field(default_factory=dict)
    ignored: set[Any] = field(default_factory=set)
    methods: set[Any] = field(default_factory=set)

    def add(self, space: Any, name: str, found: Any, ignored: bool) -> None:
        """Add a function under its name; of several the one that it calls itself, or the first."""
        if name.endswith(f".{getattr(found, '__name__', '')}"):
            self.names[found] = name
        self.names.setdefault(found, name)
        if ignored:
            self.ignored.add(found)
        else:
            self.functions.setdefault(space, []).append(found)

    def testing(self) -> Iterator[tuple[Any, Any]]:
        """Each function, and one with its parameters that returns -1."""
        for functions in self.functions.values():
            for function in functions:
                yield function, _stand_in(function)


def _parameters(function: Any) -> inspect.Signature:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        kinds = inspect.Parameter
        if isinstance(function, MethodDescriptorType) and function.__name__.startswith("__"):
            return inspect.Signature([kinds("self", kinds.POSITIONAL_ONLY),
                                      kinds("other", kinds.POSITIONAL_ONLY)])
        return inspect.Signature([kinds("self", kinds.POSITIONAL_ONLY),
                                  kinds("args", kinds.VAR_POSITIONAL),
                                  kinds("kwargs", kinds.VAR_KEYWORD)])


def _stand_in(function: Any) -> Any:
    def answer(*args: Any, **kwargs: Any) -> int:
        return -1

    answer.__signature__ = _parameters(function)    # type: ignore[attr-defined]
    answer.__name__ = getattr(function, "__name__", "answer")
    return answer


def catalogue() -> Catalogue:
    """Look at all namespaces."""
    _core.start_overriding()        # the covers are what a class is shown
    made = Catalogue()
    for space in _SPACES:
        if not space or rooms.installed(space.partition(".")[0]):
            _add_module(made, importlib.import_module("flambeau." + space if space
                                                      else "flambeau"))
    _add_methods(made)
    return made


def _add_module(made: Catalogue, module: ModuleType) -> None:
    for name in getattr(module, "__all__", None) or dir(module):
        found = getattr(module, name)
        if not callable(found) or isinstance(found, (type, ModuleType)):
            continue
        special = name.startswith("_") or name.endswith("_") or not name[0].islower()
        special = special or name in _IGNORED or module.__name__ == "flambeau.nn.init"
        made.add(module, f"{module.__name__}.{name}", found, special)


def _add_methods(made: Catalogue) -> None:
    Tensor, package = _core.Tensor, _core.shown_package[0]
    for name in dir(Tensor):
        found = getattr(Tensor, name)
        if getattr(object, name, None) == found or name == "__weakref__":
            continue
        if not callable(found) and hasattr(found, "__get__"):
            made.names[found.__set__] = f"{package}.Tensor.{name}.__set__"
            made.add(Tensor, f"{package}.Tensor.{name}.__get__", found.__get__,
                     name in _IGNORED_METHODS)
        elif callable(found):
            made.add(Tensor, f"{package}.Tensor.{name}", found, name in _IGNORED_METHODS)
            made.methods.add(found)
