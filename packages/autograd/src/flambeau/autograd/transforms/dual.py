"""Levels of forward mode. A tensor of such a level stands for a value and its tangent."""
from __future__ import annotations

from typing import Any

from flambeau.autograd._engine import NodeFunction, attach_function, enable_grad, needs_grad
from flambeau.autograd.transforms.forward import can_move, tangents_of
from flambeau.autograd.transforms.level import Level, as_tuple, tensors_of
from flambeau.autograd.transforms.stack import STATE, empty_strided_at_levels, level_of
from flambeau.core import Tensor, _core, is_grad_enabled, ops

__all__ = ["DualLevel", "LinearLevel"]


class Passed(NodeFunction):
    """The gradient of a dual, tangent and all, is that of its value."""

    def run(self, node, grads, needs):
        return grads


class DualLevel(Level):
    """One jvp at work."""

    # ---- tensors -------------------------------------------------------------------------------
    def wrap(self, primal: Tensor, tangent: Tensor | None, base: Tensor | None = None) -> Tensor:
        """A tensor of this level; without a tangent it is a constant."""
        facts = {"_level": self, "_inner": primal, "_tangent": tangent, "_seen": None}
        if base is not None:
            facts["_seen"] = _tangent(base if base._base is None else base._base)
        return _core.make_level(primal, self.number, False, facts, base)

    def is_mine(self, value) -> bool:
        """Also adopts a view of what became a tensor of this level after it was taken."""
        if not isinstance(value, Tensor):
            return False
        if self._has(value):
            return True
        if value._base is None or not self._has(value._base):
            return False
        self._adopt(value)
        return True

    def _has(self, tensor: Tensor) -> bool:
        return not _is_of_the_past(tensor) and super().is_mine(tensor)

    def _adopt(self, tensor: Tensor) -> None:
        """Let a tensor be one of this level from now on, a constant or a view of its base."""
        base = tensor._base
        STATE.depth, before = self.number - 1, STATE.depth
        try:
            if base is not None and self._has(base):    # levels below know it as a view, too
                inner = _seen_through(tensor, base, base.__dict__["_inner"])
            else:
                inner = _without_past(tensor)
                inner = ops.alias(inner) if inner.requires_grad else inner.detach()
        finally:
            STATE.depth = before
        facts = {"_level": self, "_inner": inner, "_tangent": None, "_seen": None,
                 "_has_room": False}
        _core.retarget_level(tensor, inner, self.number, False, facts)

    def unwrap(self, value):
        """The value and its tangent, None for constants."""
        if not self.is_mine(value):
            return _without_past(value) if isinstance(value, Tensor) else value, None
        return value.__dict__["_inner"], _tangent(value)

    def lift(self, tensor: Tensor) -> Tensor:
        if self.is_mine(tensor):
            return tensor
        if self.is_block:
            return self.with_history(tensor, None, shares=False)
        return self.wrap(tensor, None)

    def own(self, inner: Tensor) -> Tensor:
        """Memory that was made for this level: what is written to it brings its tangent."""
        return self.wrap(inner, ops.mul(inner, 0) if inner.is_floating_point()
                         or inner.is_complex() else None)

    def blank(self, inner: Tensor, batched: bool) -> Tensor:
        """The same, constant until something is written to it."""
        return self.wrap(inner, None)

    def with_history(self, primal: Tensor, tangent: Tensor | None, shares: bool) -> Tensor:
        """A tensor of this level that is differentiated by where its value is. If it ``shares``
        its tangent, writes to it change that tensor too."""
        dual = self.wrap(primal, tangent)
        dual.__dict__["_has_room"] = shares and level_of(tangent) == self._below()
        if is_grad_enabled() and needs_grad(primal):
            attach_function("MakeDualBackward", Passed(), None, [primal], [dual])
        return dual

    def _below(self) -> int:
        """The level that tangents are of which have room for each sample."""
        return max([level.number for level in STATE.levels[:self.number - 1]
                    if level.size is not None], default=0)

    def alias(self, tensor: Tensor) -> Tensor:
        return self.wrap(tensor.__dict__["_inner"], _tangent(tensor))

    def copied(self, tensor: Tensor) -> Tensor:
        inner, tangent = self.unwrap(tensor)
        return self.wrap(inner.clone(), None if tangent is None else tangent.clone())

    def detached(self, tensor: Tensor) -> Tensor:
        return self.wrap(tensor.__dict__["_inner"].detach(), None)

    def detach_(self, tensor: Tensor) -> None:
        """Cut a tensor from its history, and drop its tangent."""
        inner = tensor.__dict__["_inner"].detach()
        facts = {"_inner": inner, "_tangent": None, "_seen": None, "_has_room": False}
        _core.retarget_level(tensor, inner, self.number, False, facts)

    def text(self, tensor: Tensor) -> str:
        """How a tensor is shown, with its tangent."""
        inner, tangent = self.unwrap(tensor)
        return repr(inner) if tangent is None else f"{repr(inner)[:-1]}, tangent={tangent!r})"

    # ---- calls ---------------------------------------------------------------------------------
    def _differentiates(self, tensor) -> bool:
        """In a block of forward_ad, tensors without a tangent are differentiated by, too."""
        return self.is_block or super()._differentiates(tensor)

    def _split(self, args):
        """Values one level below, and their tangents (lists where the arguments are)."""
        primals, tangents = [], []
        for value in args:
            tangent = None
            if isinstance(value, Tensor):
                value, tangent = self.unwrap(value)
            elif isinstance(value, (list, tuple)) and any(isinstance(v, Tensor) for v in value):
                pairs = [self.unwrap(v) for v in value]
                value, tangent = [v for v, _ in pairs], [t for _, t in pairs]
                tangent = tangent if any(t is not None for t in tangent) else None
            primals.append(value)
            tangents.append(tangent)
        return primals, tangents

    def _results(self, op, args):
        """Results one level below, and their tangents."""
        primals, tangents = self._split(args)
        results = as_tuple(_core.call(op, primals))
        if all(t is None for t in tangents):
            return results, (None,) * len(results)
        return results, tangents_of(op, primals, tangents, results)

    def compute(self, op, args):
        results, tangents = self._results(op, args)
        base = args[0] if op.category == "view" else None
        if base is not None and not self.is_mine(base):
            base = None
        return tuple([self.wrap(r, t, base) for r, t in zip(results, tangents, strict=True)])

    def check_targets(self, op, args, outs) -> None:
        """Refuse ``out=``: what is written to in place is among the arguments."""
        if op.key == "copy" or not any(self._moves(t) for t in tensors_of((*args, *outs))):
            return
        own = args if op.key == "where" else args[:1]       # masked_fill_() is where()
        if not any(target is value for target in outs for value in own):
            raise RuntimeError(
                f"{op.name}(): out= function that does not support automatic differentiation, but "
                "one of the arguments has a tangent: write y = "
                f"{op.name}(...) instead")

    def _moves(self, tensor: Tensor) -> bool:
        return self.unwrap(tensor)[1] is not None

    def write(self, op, args, outs):
        if op.key == "copy":
            value, tangent = self.unwrap(args[1])
            results, tangents = (value,), (tangent,)
        else:
            results, tangents = self._results(op, args)
        for target, result, tangent in zip(outs, results, tangents, strict=True):
            self._store(target, result, tangent if can_move(target) else None)

    def _store(self, target, result, tangent) -> None:
        if tangent is not None:
            self.make_room(target)
        inner, present = self.unwrap(target)
        ops.copy_(inner, result)
        if tangent is not None:
            ops.copy_(present, tangent)
        elif present is not None:
            self.make_room(target)
            ops.fill_(self.unwrap(target)[1], 0)

    def make_room(self, target: Tensor) -> None:
        """Give a tensor, and what it is a view of, a tangent of its own to write to: the one it
        has may be shared, or be the same for all samples of a vmap around this level."""
        base = target._base
        if base is not None:
            self.make_room(base)
        if not self.is_mine(target):
            self._adopt(target)
        facts = target.__dict__
        if base is None and not facts.get("_has_room"):
            inner, before = facts["_inner"], facts["_tangent"]
            room = empty_strided_at_levels(inner.shape, inner.stride(), inner)
            if before is None:
                ops.fill_(room, 0)
            else:
                ops.copy_(room, before)
            facts["_tangent"], facts["_has_room"] = room, True


class LinearLevel(DualLevel):
    """One whose tangents are recorded, also where the function that runs records nothing."""

    def _results(self, op, args):
        primals, tangents = self._split(args)
        results = as_tuple(_core.call(op, primals))
        if all(t is None for t in tangents):
            return results, (None,) * len(results)
        with enable_grad():
            return results, tangents_of(op, primals, tangents, results)

    def _apart(self, op, args, outs):
        with enable_grad():
            return super()._apart(op, args, outs)

    def _store(self, target, result, tangent) -> None:
        with enable_grad():
            super()._store(target, result, tangent)


def _tangent(value: Tensor) -> Any:
    """The tangent. A view of a tensor that was given another one looks into that."""
    facts = value.__dict__
    base = value._base
    if base is None or level_of(base) != level_of(value):
        return facts["_tangent"]
    tangent = _tangent(base)
    if tangent is not facts["_seen"]:
        facts["_tangent"] = tangent if _looks_like(value, base) \
            else _seen_through(value, base, tangent)
        facts["_seen"] = tangent
    return facts["_tangent"]


def _seen_through(view: Tensor, base: Tensor, tangent: Tensor) -> Tensor:
    """The base's tangent as the view shows the base, which may be of another dtype."""
    offset, start, first = (t.storage_offset() for t in (view, base, tangent))
    if view.is_complex() and not base.is_complex():
        pairs = ops.as_strided(tangent, (*view.shape, 2), (*[2 * s for s in view.stride()], 1),
                               2 * offset - start + first)
        return ops.view_as_complex(pairs)
    if base.is_complex() and not view.is_complex():
        start, first, tangent = 2 * start, 2 * first, ops.view_as_real(tangent)
    return ops.as_strided(tangent, view.shape, view.stride(), offset - start + first)


def _looks_like(view: Tensor, base: Tensor) -> bool:
    """Whether a view shows all of its base, as it is."""
    return view.shape == base.shape and view.stride() == base.stride() \
        and view.storage_offset() == base.storage_offset() and view.dtype is base.dtype


def _without_past(value: Tensor) -> Tensor:
    """What a tensor of forward modes that have ended stands for."""
    while _is_of_the_past(value):
        value = value.__dict__["_inner"]
    return value


def _is_of_the_past(value: Tensor) -> bool:
    """Whether a tensor belongs to a forward mode that has ended: it is a constant now."""
    if not level_of(value):
        return False
    level = value.__dict__["_level"]
    return isinstance(level, DualLevel) and level not in STATE.levels
