"""Floating point operations of matrix products, convolutions and attention, as PyTorch counts them.

A multiplication and an addition count one each; all other operators count nothing. Counts are kept
for each module by its name, forward and backward. ``nn.summary`` counts all operators.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import flambeau
import flambeau.library  # whole before its modules: Note [first uses]
from flambeau import Tensor
from flambeau.core import _core
from flambeau.core.pytree import tree_leaves
from flambeau.library.calls import listeners
from flambeau.library.operators import OpOverloadPacket

__all__ = ["FlopCounterMode", "register_flop_formula"]

_Counted = tuple[str, int]  # the operator under PyTorch's name, and its count


def _linear(args: Sequence[Any], out: Tensor) -> _Counted:
    return "mm" if args[2] is None else "addmm", 2 * out.numel() * args[1].shape[-1]


def _matmul(args: Sequence[Any], out: Tensor) -> _Counted | None:
    a, b = args[:2]
    if a.ndim == 1 or b.ndim == 1:
        return None
    name = "bmm" if a.ndim > 2 and b.ndim > 2 else "mm"
    return name, 2 * out.numel() * a.shape[-1]


def _convolution(args: Sequence[Any], out: Tensor) -> _Counted:
    return "convolution", 2 * out.numel() * math.prod(args[1].shape[1:])


def _input_gradient(args: Sequence[Any], out: Tensor) -> _Counted:
    return "convolution", 2 * args[0].numel() * math.prod(args[1].shape[1:])


def _weight_gradient(args: Sequence[Any], out: Tensor) -> _Counted:
    kernel = math.prod(args[2][2:])
    return "convolution_backward", 2 * kernel * args[0].numel() * args[1].shape[1]


def _scores(query: Tensor, key: Tensor) -> int:
    return math.prod(query.shape[:-1]) * key.shape[-2]


def _attention(args: Sequence[Any], out: Tensor) -> _Counted:
    query, key, value = args[:3]
    count = 2 * _scores(query, key) * (query.shape[-1] + value.shape[-1])
    return "_scaled_dot_product_flash_attention", count


def _attention_gradient(args: Sequence[Any], out: Tensor) -> _Counted:
    """The scores are computed again; then two products for each of the two of the forward."""
    query, key, value = args[1:4]
    count = 2 * _scores(query, key) * (3 * query.shape[-1] + 2 * value.shape[-1])
    return "_scaled_dot_product_flash_attention_backward", count


_FORMULAS: dict[str, Callable[[Sequence[Any], Tensor], _Counted | None]] = {
    "linear": _linear,
    "matmul": _matmul,
    "attention": _attention,
    "attention_grad": _attention_gradient,
    **dict.fromkeys(("conv2d", "conv3d"), _convolution),
    **dict.fromkeys(("conv2d_input_grad", "conv3d_input_grad"), _input_gradient),
    **dict.fromkeys(("conv2d_weight_grad", "conv3d_weight_grad"), _weight_gradient),
}
_OWN: dict[Any, Callable[..., int]] = {}


def _packet(space: str, name: str) -> OpOverloadPacket:
    """``flambeau.ops.aten.mm``, and names of PyTorch's that only count here."""
    names = getattr(flambeau.ops, space)
    if name not in names.__dict__ and not names._has(name):
        names.__dict__[name] = OpOverloadPacket(space, name)
    found: OpOverloadPacket = getattr(names, name)
    return found


def register_flop_formula(targets: Any, get_raw: bool = False) -> Callable[..., Any]:
    """Say what a call of an operator of ``flambeau.library`` counts; a decorator.

    Args:
        targets: The operator or operators, such as ``flambeau.ops.mylib.scale``.
        get_raw: Give the formula tensors instead of their shapes.
    """

    def decorate(formula: Callable[..., int]) -> Callable[..., int]:
        for target in targets if isinstance(targets, (list, tuple)) else (targets,):
            _OWN[str(getattr(target, "overloadpacket", target))] = (
                formula if get_raw else _of_shapes(formula)
            )
        return formula

    return decorate


def _of_shapes(formula: Callable[..., int]) -> Callable[..., int]:
    def count(*args: Any, out_val: Any, **kwargs: Any) -> int:
        def shape(value: Any) -> Any:
            return value.shape if isinstance(value, Tensor) else value

        out = out_val if isinstance(out_val, Tensor) else tuple(map(shape, out_val or ()))
        return formula(*map(shape, args), out_shape=shape(out), **kwargs)

    return count


class FlopCounterMode:
    """Counts floating point operations inside a ``with`` block, forward and backward.

    Args:
        mods: Accepted for compatibility: modules are found when they are called.
        depth: How many levels of modules ``get_table`` shows.
        display: Print the table at the end.
        custom_mapping: Formulas by operator, as for ``register_flop_formula``.

    Example:
        >>> import flambeau
        >>> from flambeau.utils.flop_counter import FlopCounterMode
        >>> with FlopCounterMode(display=False) as counter:
        ...     _ = flambeau.ones(2, 3) @ flambeau.ones(3, 4)
        >>> counter.get_total_flops()
        48
    """

    def __init__(
        self,
        mods: Any = None,
        depth: int = 2,
        display: bool = True,
        custom_mapping: dict[Any, Any] | None = None,
    ) -> None:
        self.flop_counts: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
        self.depth, self.display = depth, display
        given = custom_mapping or {}
        self._own = {str(key): _of_shapes(formula) for key, formula in given.items()}

    def get_total_flops(self) -> int:
        """The sum of all counts."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """Counts by name of module, and by operator; ``"Global"`` is everything."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """The counts as lines of text.

        Args:
            depth: How many levels of modules; that of the constructor when left out.
        """
        limit = self.depth if depth is None else depth
        total = self.get_total_flops()
        lines = [f"{'module':<32}{'FLOP':>16}{'% total':>10}"]
        for name in sorted(self.flop_counts, key=lambda n: (n != "Global", n)):
            if name != "Global" and name.count(".") >= limit:
                continue
            counts = self.flop_counts[name]
            shown = [(name, sum(counts.values())), *((f" - {op}", n) for op, n in counts.items())]
            lines += [f"{text:<32}{n:>16}{n / max(total, 1):>10.2%}" for text, n in shown]
        return "\n".join(lines)

    def __enter__(self) -> FlopCounterMode:
        self.flop_counts.clear()
        self._modules = _Modules()
        self._block = _core.interpose("trace", self._run)
        self._modules.start()
        self._block.__enter__()
        listeners.append(self._called)
        return self

    def __exit__(self, *exc: Any) -> None:
        listeners.remove(self._called)
        self._block.__exit__(*exc)
        self._modules.end()
        if self.display:
            print(self.get_table(self.depth))

    def _run(self, op: Any, args: list[Any], outs: Any) -> Any:
        results = _core.call(op, args, outs)
        formula = _FORMULAS.get(op.key)
        if formula is not None:
            counted = formula(args, results if isinstance(results, Tensor) else results[0])
            if counted is not None:
                self._add(_packet("aten", counted[0]), counted[1])
        return results

    def _add(self, op: Any, count: int) -> None:
        for name in self._modules.open:
            self.flop_counts[name][op] += count

    def _called(self, packet: str, args: Any, kwargs: Any, result: Any) -> None:
        """Count a call of an operator of ``flambeau.library``."""
        formula = self._own.get(packet) or _OWN.get(packet)
        if formula is not None:
            space, _, name = packet.partition(".")
            self._add(_packet(space, name), formula(*args, **kwargs, out_val=result))


class _Modules:
    """The names of the modules that run, in forward and in backward."""

    def __init__(self) -> None:
        self.open: set[str] = {"Global"}
        self._names: dict[int, str] = {}
        self._kept: list[Any] = []
        self._hooks: list[Any] = []
        self._stack: list[str] = []

    def start(self) -> None:
        """Watch the modules."""
        from flambeau.nn.modules import module

        self._hooks = [module.register_module_forward_pre_hook(self._before),
                       module.register_module_forward_hook(self._after, always_call=True)]

    def end(self) -> None:
        """Watch them no longer."""
        for hook in self._hooks:
            hook.remove()

    def _name(self, module: Any) -> str:
        if id(module) not in self._names:
            root = type(module).__name__
            for path, inner in module.named_modules():
                self._names.setdefault(id(inner), f"{root}.{path}" if path else root)
            self._kept.append(module)   # an id is of one module while that lives
        return self._names[id(module)]

    def _before(self, module: Any, inputs: Any) -> None:
        name = self._name(module)
        if not self._stack:
            self.open = {"Global"}      # what an earlier backward pass left
        self._stack.append(name)
        self.open.add(name)
        self._when_known(inputs, lambda: self.open.discard(name))

    def _after(self, module: Any, inputs: Any, output: Any) -> None:
        name = self._stack.pop()
        self.open.discard(name)
        self._when_known(output, lambda: self.open.add(name))

    @staticmethod
    def _when_known(values: Any, action: Callable[[], None]) -> None:
        """Act when a backward pass has the gradients of the tensors among some values."""
        tensors = [t for t in tree_leaves(values) if isinstance(t, Tensor) and t.requires_grad]
        if tensors:
            from flambeau.autograd.graph import register_multi_grad_hook

            register_multi_grad_hook(tensors, lambda grads: action())
