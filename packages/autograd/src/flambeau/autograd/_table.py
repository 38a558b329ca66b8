"""The registry of derivative rules: what ``rule`` and ``no_derivative`` fill, what the tape reads.

A rule is a function from the gradient of an operator's output to the gradient of one input.
Its parameter names say what it needs; the tape saves nothing else:

========================  ===================================================================
``g``                     the gradient of the (first) output
``grads``                 a tuple with the gradient of each output, None where there is none
``self``, ``dim``, ...    an argument of the operator, by its name in the operator table
``self_shape``            the shape of an argument (a tuple), without keeping its memory
``self_dtype``            its dtype
``self_geometry``         its shape, strides and storage offset
``result``, ``result1``   an output
``needs``                 a tuple of booleans: which inputs want a gradient
========================  ===================================================================
"""
from __future__ import annotations

from collections.abc import Callable, Iterable

from flambeau.autograd._names import backward_name
from flambeau.core._core import OpHandle

__all__ = ["CHEAP", "NAMES_BY_RANKS", "NO_DERIVATIVE", "PARTS", "RULES", "backward_name",
           "find_rule", "name_by_ranks", "no_derivative", "rule"]

Rule = Callable[..., object]
RULES: dict[str, list[tuple[tuple[str, ...], Rule]]] = {}
NO_DERIVATIVE: set[str] = set()
#: Views of some of the elements: their gradients are added into one whole.
PARTS: set[str] = set()
#: Operators, besides pointwise ones, that cost little beside products and convolutions: under a
#: budget their results are computed again instead of kept (engine/recompute.pxi).
CHEAP = {"cast", "clone", "contiguous_copy", "log_softmax", "native_batch_norm",
         "native_group_norm", "native_layer_norm", "native_rms_norm", "softmax"}
#: Operators that are several in PyTorch, which the ranks of the rule's inputs tell apart: ranks
#: (None: no tensor, ...: any rank) -> the node's name. Where nothing fits, the operator's own.
NAMES_BY_RANKS: dict[str, dict[tuple[object, ...], str]] = {}
_loaded = False


def rule(key: str, inputs: str | Iterable[str] = (), function: Rule | None = None, /,
         **by_input: Rule) -> None:
    """State the derivative of an operator.

    Args:
        key: the operator, ``name`` or ``name.overload``.
        inputs: names of inputs whose gradients ``function`` returns together, as a tuple.
        function: the rule for ``inputs``.
        by_input: one rule per input, by the input's name.

    Raises:
        ValueError: the operator has a rule already, or none was given.

    Example:
        >>> from flambeau.autograd._table import RULES, rule
        >>> rule("example.twice", self=lambda g: g + g)
        >>> RULES.pop("example.twice")[0][0]
        ('self',)
    """
    calls: list[tuple[tuple[str, ...], Rule]] = [((name,), f) for name, f in by_input.items()]
    if function is not None:
        calls.append(((inputs,) if isinstance(inputs, str) else tuple(inputs), function))
    if not calls:
        raise ValueError(f"rule({key!r}) without a function: write rule({key!r}, "
                         "self=lambda g, ...: ...)")
    if key in RULES or key in NO_DERIVATIVE:
        raise ValueError(f"rule({key!r}): the derivative of this operator is already stated")
    RULES[key] = calls


def no_derivative(*keys: str) -> None:
    """State that operators have no derivative: their results never require grad.

    Args:
        keys: operators, ``name`` or ``name.overload``.

    Raises:
        ValueError: one of them has a rule.

    Example:
        >>> from flambeau.autograd._table import NO_DERIVATIVE, no_derivative
        >>> no_derivative("example.rank")
        >>> NO_DERIVATIVE.discard("example.rank")
    """
    for key in keys:
        if key in RULES:
            raise ValueError(f"no_derivative({key!r}): this operator has a rule")
        NO_DERIVATIVE.add(key)


def name_by_ranks(key: str, ranks: tuple[int | None, ...]) -> str | None:
    """What ``NAMES_BY_RANKS`` calls the node of a call, or None.

    Args:
        key: the operator, ``name`` or ``name.overload``.
        ranks: the number of dimensions of each input of the rule; None for what is no tensor.

    Returns:
        The name, or None where the operator's own holds.

    Example:
        >>> from flambeau.autograd._table import load_rules, name_by_ranks
        >>> load_rules()
        >>> name_by_ranks("matmul", (2, 1))
        'MvBackward0'
    """
    for pattern, name in NAMES_BY_RANKS[key].items():
        if all(p is ... or p == rank for p, rank in zip(pattern, ranks, strict=True)):
            return name
    return None


def load_rules() -> None:
    """Import the rules that come with the package; they fill the table.

    What is not differentiable by its definition has no derivative.
    """
    global _loaded
    if not _loaded:
        import flambeau.autograd.rules  # noqa: F401  (late: rules import the engine)
        from flambeau.core._core import find_op, op_keys

        NO_DERIVATIVE.update(key for key in op_keys() if _is_constant(find_op(key)))
        _loaded = True          # not before: another thread waits at the import


def _is_constant(op: OpHandle) -> bool:
    return not op.differentiable and op.category != "composite"


def find_rule(key: str) -> list[tuple[tuple[str, ...], Rule]] | None:
    """The rule of an operator: pairs of inputs and function; [] for "no derivative"."""
    load_rules()
    return [] if key in NO_DERIVATIVE else RULES.get(key)
