"""The module of an ONNX model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import flambeau as fl
from flambeau import nn
from flambeau.onnx.errors import ImportedError
from flambeau.onnx.importing.inference import Types
from flambeau.onnx.importing.plan import Plan, Planner, fixed_names
from flambeau.onnx.importing.reading import constant, dtype_of, skeleton
from flambeau.onnx.importing.values import Host, as_tensor


class OnnxModule(nn.Module):
    """An ONNX model that computes with this library's operators.

    Tensors of floating numbers in the file are parameters; single numbers, integers, statistics of
    batch normalization and what operators need as plain numbers are buffers. Names are the
    file's: ``conv1.weight`` is ``module.conv1.weight``. So it can be fine-tuned, moved to another
    device, recorded by ``jit.trace`` and compiled like any module.

    Args:
        model: the checked ``ModelProto``.
        folder: where its external data lies.

    Attributes:
        input_names: what it takes, in order; by keyword too.
        output_names: what it returns, in order.
    """

    input_names: tuple[str, ...]
    output_names: tuple[str, ...]

    def __init__(self, model: Any, folder: str) -> None:
        super().__init__()
        self._held: dict[str, Any] = {}
        self._places: dict[str, tuple[nn.Module, str]] = {}
        fixed = fixed_names(model.graph)
        for each in model.graph.initializer:
            self._hold(each.name, constant(each, folder), each.name not in fixed)
        self._skeleton: bytes = skeleton(model).SerializeToString()
        self._plan: Plan = self._planned(folder)
        held = self._plan.constants
        self._held.update((name, held[name]) for name in held if held[name] is not None)

    def _planned(self, folder: str = "") -> Plan:
        """The plan of the model without its tensors."""
        from onnx import load_model_from_string

        model = load_model_from_string(self._skeleton)
        opsets = {"" if each.domain == "ai.onnx" else each.domain: each.version
                  for each in model.opset_import}
        names = [*self._held, *self._places]
        given = [each for each in model.graph.input if each.name not in names]
        self.input_names = tuple(each.name for each in given)
        self.output_names = tuple(each.name for each in model.graph.output)
        self._dtypes = {each.name: each.type.tensor_type.elem_type for each in given}
        planner = Planner(opsets, model.functions, folder, Types(model))
        return planner.graph(model.graph, constants=dict.fromkeys(names))

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the plan, which is made of the model again."""
        return {name: value for name, value in self.__dict__.items() if name != "_plan"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Make the plan again."""
        super().__setstate__(state)
        self._plan = self._planned()

    def _hold(self, name: str, value: Any, is_parameter: bool) -> None:
        if isinstance(value, Host):
            self._held[name] = value
            return
        *path, leaf = name.split(".") if all(name.split(".")) else [name.replace(".", "_")]
        owner: nn.Module = self
        for part in path:
            if part not in owner._modules:
                if hasattr(owner, part):
                    owner, leaf = self, name.replace(".", "_")
                    break
                owner.add_module(part, nn.Module())
            owner = owner.get_submodule(part)
        while hasattr(owner, leaf):
            leaf += "_"
        if is_parameter and value.is_floating_point() and value.dtype.itemsize > 1:
            owner.register_parameter(leaf, nn.Parameter(value))
        else:
            owner.register_buffer(leaf, value)
        self._places[name] = owner, leaf

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the outputs: one value, or a tuple."""
        env = self._inputs(args, kwargs)
        env.update(self._held)
        for name, (owner, leaf) in self._places.items():
            env[name] = getattr(owner, leaf)
        env[""] = next((each.device for each in env.values() if isinstance(each, fl.Tensor)),
                       fl.device("cpu"))
        found = tuple(as_tensor(each, env[""]) for each in self._plan.run(env))
        return found if len(self.output_names) != 1 else found[0]

    def _inputs(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        first = args[0] if len(args) == 1 and not kwargs else None
        if isinstance(first, Mapping):
            return self._inputs((), first)
        names = self.input_names
        if len(args) > len(names):
            raise TypeError(f"this model takes {len(names)} inputs ({', '.join(names)}), not "
                            f"{len(args)}")
        env = {**dict(zip(names, args, strict=False)), **kwargs}
        if unknown := [name for name in env if name not in names]:
            raise TypeError(f"this model has no input {unknown[0]!r}; it takes {', '.join(names)}")
        if missing := [name for name in names if name not in env]:
            raise TypeError(f"this model's input {missing[0]!r} is missing; it takes "
                            f"{', '.join(names)}")
        for name, value in env.items():
            number = self._dtypes[name]
            if number and isinstance(value, fl.Tensor) and value.dtype != dtype_of(number):
                raise ImportedError(f"this model's input {name!r} is of {dtype_of(number)}, and "
                                    f"{value.dtype} was given: use .to({dtype_of(number)})")
        return env

    def extra_repr(self) -> str:
        """Inputs, outputs and the number of operators."""
        return (f"({', '.join(self.input_names)}) -> ({', '.join(self.output_names)}), "
                f"{len(self._plan.steps)} operators")
