"""Derivatives of pointwise operators that follow from their formulas.

The derivative of definition ``exp`` by ``self`` is again a pointwise operator, ``exp__d_self``. Its
parameters are, by name: ``grad`` first; then those operands and scalars of ``exp`` that the
derivative reads, in the definition's order; then ``result`` if it reads the output. The core's
table holds such definitions for its own operators; for definitions registered at run time, and for
derivatives of derivatives, they are derived and registered on first use.
"""
from __future__ import annotations

from flambeau.core import find_op
from flambeau.core.once import first_use

__all__ = ["derived_calls"]

#: An input, the key of the definition that computes its gradient, and which of that definition's
#: parameters a rule calls otherwise.
Call = tuple[tuple[str], tuple[str, dict[str, str]]]


def derived_calls(key: str, params: list[str], operands: list[str]) -> list[Call] | None:
    """Definitions for the derivatives of a pointwise operator by its operands.

    Args:
        key: the operator, ``name`` or ``name.overload``.
        params: names of its parameters.
        operands: those of them that are tensors.

    Returns:
        One call per operand that can be differentiated; None when there is none.
    """
    with first_use:             # or other threads see the first of several definitions alone
        if not any(_exists(_key(key, p)) for p in operands):
            _derive(key)
    names = {"result": "result0"} | {_apart(p): p for p in params}
    calls: list[Call] = [((p,), (_key(key, p), names)) for p in operands if _exists(_key(key, p))]
    return calls or None


def _key(key: str, param: str) -> str:
    """What the core calls the derivative (without importing its table)."""
    return f"{key.replace('.', '__')}__d_{param}"


def _exists(key: str) -> bool:
    try:
        find_op(key)
    except KeyError:
        return False
    return True


def _derive(key: str) -> None:
    """Derive the definitions and register them."""
    from dataclasses import replace

    from flambeau.core.opdefs.derived import derived_opdef
    from flambeau.core.register import register_opdef, row

    own = row(key)
    renamed = _renamed(own)
    for param in own.operands:
        if param.role != "Mask":
            derived = derived_opdef(renamed, _apart(param.name))
            if derived is not None:
                register_opdef(replace(derived, name=_key(key, param.name)))


# ---- names -------------------------------------------------------------------------------------
# A derived definition has operands called grad and result itself. Before it is differentiated again
# they step aside, for the new definition's own grad and result.
_TAKEN = ("grad", "result")


def _apart(name: str) -> str:
    return f"inner_{name}" if name.rpartition("inner_")[2] in _TAKEN else name


def _renamed(own):
    """The definition with its operands grad and result under other names."""
    from dataclasses import replace

    params = tuple([replace(p, name=_apart(p.name)) for p in own.params])
    formulas = {kind: _with_names_apart(text) for kind, text in own.formulas.items()}
    return replace(own, params=params, formulas=formulas)


def _with_names_apart(text: str) -> str:
    import re

    return re.sub(r"\b(?:inner_)*(?:grad|result)\b", lambda m: _apart(m.group()), text)
