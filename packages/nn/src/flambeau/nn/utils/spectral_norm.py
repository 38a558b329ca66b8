"""Spectral norm as a hook before ``forward``, the older way; see ``parametrizations``."""

from __future__ import annotations

from typing import Any

import flambeau

from ..modules.module import Module
from ..parameter import Parameter
from ._hooked import find, install
from ._norms import as_matrix, power_step, random_unit, spectral_dim, tensor_of


class SpectralNorm:
    """Computes the weight, divided by its greatest singular value."""

    def __init__(self, name: str, n_power_iterations: int, dim: int, eps: float) -> None:
        if n_power_iterations <= 0:
            raise ValueError(
                f"spectral_norm(): n_power_iterations is positive, not {n_power_iterations}"
            )
        self.name = name
        self.n_power_iterations = n_power_iterations
        self.dim = dim
        self.eps = eps
        self.handle: Any = None

    def compute_weight(self, module: Module, do_power_iteration: bool) -> Any:
        """The weight, after steps of the power iteration if asked for."""
        weight, u, v = (getattr(module, f"{self.name}_{part}") for part in ("orig", "u", "v"))
        matrix = as_matrix(weight, self.dim)
        if do_power_iteration:
            with flambeau.no_grad():
                for _ in range(self.n_power_iterations):
                    power_step(matrix, u, v, self.eps, v_first=True)
        # Copies, so that a backward after the next forward finds the vectors of its own forward.
        u, v = u.clone(), v.clone()
        return weight / flambeau.dot(u, flambeau.mv(matrix, v))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, module.training))

    def remove(self, module: Module) -> None:
        """Leave the weight as a parameter."""
        with flambeau.no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        for name in ("", "_u", "_v", "_orig"):
            delattr(module, self.name + name)
        module.register_parameter(self.name, Parameter(weight))
        self.handle.remove()


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    r"""Divide a weight by its spectral norm, before each ``forward``.

    The weight that is trained is ``weight_orig``; ``weight_u`` and ``weight_v`` follow the first
    singular vectors by a power iteration. ``nn.utils.parametrizations.spectral_norm`` is the
    newer way (Miyato et al., Spectral Normalization for Generative Adversarial Networks, 2018).

    Args:
        module: The module that has the weight.
        name: The name of the weight.
        n_power_iterations: Steps of the power iteration per ``forward`` in training.
        eps: Keeps the divisions away from zero.
        dim: The dimension of the outputs, rows of the matrix; the second for transposed
            convolutions, else the first, when left out.

    Returns:
        The module.

    Raises:
        RuntimeError: The weight has it already.
        ValueError: There is no such weight, or there are no steps.

    Example:
        >>> from flambeau import nn
        >>> layer = nn.utils.spectral_norm(nn.Linear(20, 40))
        >>> sorted(layer.state_dict())
        ['bias', 'weight_orig', 'weight_u', 'weight_v']
    """
    hook = SpectralNorm(name, n_power_iterations, spectral_dim(module, dim), eps)
    weight = tensor_of(module, name)
    install(module, hook, "spectral_norm")
    delattr(module, name)
    module.register_parameter(f"{name}_orig", weight)
    setattr(module, name, weight.detach())
    with flambeau.no_grad():
        matrix = as_matrix(weight, hook.dim)
        module.register_buffer(f"{name}_u", random_unit(weight, matrix.shape[0], eps))
        module.register_buffer(f"{name}_v", random_unit(weight, matrix.shape[1], eps))
    return module


def remove_spectral_norm(module: Module, name: str = "weight") -> Module:
    """Make the weight a plain parameter again.

    Args:
        module: The module that has the weight.
        name: The name of the weight.

    Returns:
        The module.

    Raises:
        ValueError: The weight has no spectral norm.

    Example:
        >>> from flambeau import nn
        >>> layer = nn.utils.remove_spectral_norm(nn.utils.spectral_norm(nn.Linear(2, 3)))
        >>> sorted(layer.state_dict())
        ['bias', 'weight']
    """
    find(module, SpectralNorm, name, "spectral_norm").remove(module)
    return module
