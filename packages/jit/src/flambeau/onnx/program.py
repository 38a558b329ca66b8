"""What ``export`` gives with ``dynamo=True``: a model that runs."""

from __future__ import annotations

import os
from typing import Any


class ONNXProgram:
    """A model of ONNX with the conveniences of PyTorch's exporter; it also has the model's fields.

    Args:
        model: The ``onnx.ModelProto``.

    Example:
        >>> import flambeau
        >>> from flambeau import nn, onnx
        >>> program = onnx.export(nn.ReLU(), flambeau.ones(2), dynamo=True)
        >>> program.model_proto.graph.node[0].op_type
        'Relu'
        >>> program(flambeau.tensor([-1.0, 2.0]))
        (tensor([0., 2.]),)
    """

    def __init__(self, model: Any) -> None:
        self.model_proto = model
        self._module: Any = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.model_proto, name)

    def __repr__(self) -> str:
        graph = self.model_proto.graph
        return (f"ONNXProgram({len(graph.node)} nodes, inputs {[i.name for i in graph.input]}, "
                f"outputs {[o.name for o in graph.output]})")

    def __call__(self, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """The outputs for some inputs, computed by ``onnx.load`` of the model.

        Args:
            args: Tensors, in the order of the model's inputs.
            kwargs: Tensors by the names of inputs.

        Returns:
            The outputs, as a tuple.
        """
        if self._module is None:
            from flambeau.onnx import load

            self._module = load(self.model_proto)
        given = {key: each for key, each in kwargs.items() if each is not None}
        found = self._module(*(each for each in args if each is not None), **given)
        return found if isinstance(found, tuple) else (found,)

    def optimize(self) -> None:
        """Do nothing: what no output needs is not written."""

    def release(self) -> None:
        """Let go of what runs the model."""
        self._module = None

    def save(self, destination: str | os.PathLike[str], *, include_initializers: bool = True,
             keep_initializers_as_inputs: bool = False, external_data: bool | None = None) -> None:
        """Write the model to a file.

        Args:
            destination: The file.
            include_initializers: False leaves the weights out, which become inputs.
            keep_initializers_as_inputs: Whether weights are inputs, too, with defaults.
            external_data: Whether weights lie in a file beside it; None: if it has to be.
        """
        from flambeau.onnx.exporting.files import save, with_inputs

        save(with_inputs(self.model_proto, include_initializers, keep_initializers_as_inputs),
             destination, bool(external_data))
