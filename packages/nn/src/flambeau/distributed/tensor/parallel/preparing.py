"""Inputs and outputs of modules, shared as the modules around them share theirs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flambeau import Tensor

from .._api import DTensor
from ..placement_types import Placement
from .style import ParallelStyle, shared_input

Layouts = Placement | Sequence[Placement | None] | None


def _listed(layouts: Layouts) -> tuple[Placement | None, ...]:
    if layouts is None or isinstance(layouts, Placement):
        return () if layouts is None else (layouts,)
    return tuple(layouts)


class PrepareModuleInput(ParallelStyle):
    """Let a module's inputs be shared tensors.

    Args:
        input_layouts: How each positional input is shared now; None for what is no tensor.
        desired_input_layouts: How it is to be shared.
        input_kwarg_layouts: The same of keyword arguments, by name.
        desired_input_kwarg_layouts: The same of keyword arguments, by name.
        use_local_output: Whether the module is given parts, instead of `DTensor`.

    Raises:
        ValueError: There are not as many layouts of both kinds.
    """

    def __init__(
        self, *, input_layouts: Layouts = None, desired_input_layouts: Layouts = None,
        input_kwarg_layouts: Mapping[str, Placement] | None = None,
        desired_input_kwarg_layouts: Mapping[str, Placement] | None = None,
        use_local_output: bool = False,
    ) -> None:
        self.input_layouts = _listed(input_layouts)
        self.desired_input_layouts = _listed(desired_input_layouts)
        self.input_kwarg_layouts = dict(input_kwarg_layouts or {})
        self.desired_input_kwarg_layouts = dict(desired_input_kwarg_layouts or {})
        self.use_local_output = use_local_output
        if len(self.input_layouts) != len(self.desired_input_layouts):
            raise ValueError("PrepareModuleInput: input_layouts and desired_input_layouts should "
                             "have same length!")
        if self.input_kwarg_layouts.keys() != self.desired_input_kwarg_layouts.keys():
            raise ValueError("PrepareModuleInput: input_kwarg_layouts and "
                             "desired_input_kwarg_layouts should name the same arguments!")

    def _prepared(self, x: Any, mesh: Any, now: Any, wanted: Any) -> Any:
        if now is None or not isinstance(x, Tensor):
            return x
        shared = shared_input(x, mesh, now, wanted)
        return shared.to_local() if self.use_local_output else shared

    def _apply(self, module: Any, device_mesh: Any) -> Any:
        def enter(mod: Any, args: Any, kwargs: Any) -> Any:
            if self.input_layouts and len(args) != len(self.input_layouts):
                raise ValueError(f"PrepareModuleInput: {len(args)} inputs for "
                                 f"{len(self.input_layouts)} input_layouts")
            if self.input_layouts:
                pairs = zip(args, self.input_layouts, self.desired_input_layouts, strict=True)
                args = tuple(self._prepared(x, device_mesh, a, b) for x, a, b in pairs)
            kwargs = {
                key: self._prepared(x, device_mesh, self.input_kwarg_layouts.get(key),
                                    self.desired_input_kwarg_layouts.get(key))
                for key, x in kwargs.items()
            }
            return args, kwargs

        module.register_forward_pre_hook(enter, with_kwargs=True)
        return module


class PrepareModuleOutput(ParallelStyle):
    """Let a module's outputs be shared in another way.

    Args:
        output_layouts: How each output is shared now; None for what is no tensor.
        desired_output_layouts: How it is to be shared.
        use_local_output: Whether results are parts, instead of `DTensor`.

    Raises:
        ValueError: There are not as many layouts of both kinds.
    """

    def __init__(
        self, *, output_layouts: Layouts, desired_output_layouts: Layouts,
        use_local_output: bool = True,
    ) -> None:
        self.output_layouts = _listed(output_layouts)
        self.desired_output_layouts = _listed(desired_output_layouts)
        self.use_local_output = use_local_output
        if len(self.output_layouts) != len(self.desired_output_layouts):
            raise ValueError("PrepareModuleOutput: output_layouts and desired_output_layouts "
                             "should have same length!")

    def _apply(self, module: Any, device_mesh: Any) -> Any:
        def leave(mod: Any, inputs: Any, outputs: Any) -> Any:
            several = isinstance(outputs, tuple | list)
            given = outputs if several else (outputs,)
            if len(given) != len(self.output_layouts):
                raise ValueError(f"PrepareModuleOutput: {len(given)} outputs for "
                                 f"{len(self.output_layouts)} output_layouts")
            made = []
            for x, now, wanted in zip(
                given, self.output_layouts, self.desired_output_layouts, strict=True
            ):
                if now is not None and wanted is not None:
                    x = shared_input(x, device_mesh, now, wanted)
                    if self.use_local_output and isinstance(x, DTensor):
                        x = x.to_local()
                made.append(x)
            return tuple(made) if several else made[0]

        module.register_forward_hook(leave)
        return module


class PrepareModuleInputOutput(ParallelStyle):
    """Both `PrepareModuleInput` and `PrepareModuleOutput`.

    Args:
        input_layouts: As there.
        desired_input_layouts: As there.
        input_kwarg_layouts: As there.
        desired_input_kwarg_layouts: As there.
        use_local_input: Whether the module is given parts, instead of `DTensor`.
        output_layouts: As there.
        desired_output_layouts: As there.
        use_local_output: Whether results are parts, instead of `DTensor`.
    """

    def __init__(
        self, *, input_layouts: Layouts = None, desired_input_layouts: Layouts = None,
        input_kwarg_layouts: Mapping[str, Placement] | None = None,
        desired_input_kwarg_layouts: Mapping[str, Placement] | None = None,
        use_local_input: bool = False, output_layouts: Layouts,
        desired_output_layouts: Layouts, use_local_output: bool = True,
    ) -> None:
        self.prepare_module_input = PrepareModuleInput(
            input_layouts=input_layouts, desired_input_layouts=desired_input_layouts,
            input_kwarg_layouts=input_kwarg_layouts,
            desired_input_kwarg_layouts=desired_input_kwarg_layouts,
            use_local_output=use_local_input)
        self.prepare_module_output = PrepareModuleOutput(
            output_layouts=output_layouts, desired_output_layouts=desired_output_layouts,
            use_local_output=use_local_output)

    def _apply(self, module: Any, device_mesh: Any) -> Any:
        self.prepare_module_input._apply(module, device_mesh)
        return self.prepare_module_output._apply(module, device_mesh)
