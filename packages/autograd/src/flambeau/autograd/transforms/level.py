"""What levels of all kinds have in common: which calls they see, writes, their tape.

A tensor of a level keeps its own history, apart from that of what it stands for. So a gradient
that is taken inside a transform is that of the function as it was written, for one sample or one
tangent; and one that is taken outside sees the operators on the whole.
"""
from __future__ import annotations

from flambeau.autograd.transforms.stack import STATE, has_history, has_history_below, level_of
from flambeau.core import Tensor, _core, interpose, is_grad_enabled

__all__ = ["Level", "as_tuple", "tensors_of"]


def as_tuple(result) -> tuple:
    """The results of a call as a tuple."""
    return (result,) if isinstance(result, Tensor) else tuple(result)


def tensors_of(values):
    """The tensors among arguments, also those in lists."""
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from tensors_of(value)


class Level:
    """One transform at work, a context manager."""

    size: int | None = None             # of the batch, for levels that have one
    is_block = False                    # of forward_ad: its tensors may come from a graph outside
    always: tuple[str, ...] = ()        # operators it sees whatever their tensors are

    def __enter__(self):
        if STATE.depth != len(STATE.levels):
            raise RuntimeError("a transform cannot begin inside the rule of an operator")
        self.number = len(STATE.levels) + 1
        self._watch = interpose("transform", self._call, self.on_read, level=self.number,
                                always=self.always)
        self._watch.__enter__()
        STATE.levels.append(self)
        STATE.depth += 1
        return self

    def __exit__(self, *error) -> None:
        self._watch.__exit__(*error)
        STATE.levels.pop()
        STATE.depth -= 1

    # ---- tensors -------------------------------------------------------------------------------
    def is_mine(self, value) -> bool:
        """Whether a value is a tensor of this level."""
        if level_of(value) != self.number:
            return False
        if value.__dict__["_level"] is not self:
            raise RuntimeError(
                "a tensor of an earlier transform is used in another one: it must not leave the "
                "function that was transformed except as a result; return it instead")
        return True

    def lift(self, tensor: Tensor) -> Tensor:
        """The tensor as one of this level."""
        raise NotImplementedError

    def _lifted(self, value):
        if isinstance(value, Tensor):
            return self.lift(value)
        if isinstance(value, (list, tuple)) and any(isinstance(v, Tensor) for v in value):
            return [self.lift(v) if isinstance(v, Tensor) else v for v in value]
        return value

    def check_parameter(self, what: str, tensor: Tensor) -> None:
        """Called for tensors that hold parameters of random distributions."""

    def on_read(self, tensor: Tensor, what: str) -> None:
        """Called before values leave for Python."""

    # ---- calls ---------------------------------------------------------------------------------
    def _call(self, op, args, outs):
        """What the dispatcher calls for operators on tensors of this level."""
        if STATE.depth < self.number:           # seen from inside this level's own work
            return _core.call(op, args, outs)
        STATE.depth, before = self.number - 1, STATE.depth
        try:
            if outs is not None:
                return self._write(op, args, outs)
            results = self.compute(op, args)
            if is_grad_enabled() and self._any_requires(args):
                self._on_tape(_core.tape_record, op, [self._lifted(a) for a in args], results)
            return results
        finally:
            STATE.depth = before

    def _any_requires(self, values) -> bool:
        for value in values:
            if isinstance(value, Tensor):
                if value.requires_grad and self._differentiates(value):
                    return True
            elif isinstance(value, (list, tuple)) and self._any_requires(value):
                return True
        return False

    def _differentiates(self, tensor) -> bool:
        """Whether calls with a tensor that requires grad are recorded at this level."""
        return level_of(tensor) == self.number

    def _write(self, op, args, outs):
        """A call that writes to tensors."""
        _core.check_write(op, args, outs)
        self.check_targets(op, args, outs)
        if not is_grad_enabled() or not self._any_requires([*args, *outs]):
            self.write(op, self._apart(op, args, outs), outs)
            return outs
        targets = {id(t) for t in outs}         # the tape knows calls in place by them
        lifted = [a if id(a) in targets else self._lifted(a) for a in args]
        token = self._on_tape(_core.tape_prepare, op, lifted, outs)
        self.write(op, self._apart(op, args, outs), outs)
        self._on_tape(_core.tape_commit, token, op, lifted, outs)
        return outs

    def _apart(self, op, args, outs):
        """The arguments with copies of those that are targets, where the call below is recorded:
        what it saves must not be written to."""
        if op.key == "copy" or not is_grad_enabled() or not any(
                has_history_below(t) if level_of(t) == self.number else has_history(t)
                for t in tensors_of((*args, *outs))):
            return args
        targets = {id(t) for t in outs}
        return [self.copied(a) if id(a) in targets and level_of(a) == self.number else a
                for a in args]

    def _on_tape(self, step, *args):
        """The tape works on tensors of this level, as code inside the transform does."""
        STATE.depth = self.number
        try:
            return step(*args)
        finally:
            STATE.depth = self.number - 1

    def detach_(self, tensor: Tensor) -> None:
        """What ``Tensor.detach_`` does besides cutting the tensor from its history."""

    def check_targets(self, op, args, outs) -> None:
        """Refuse a write that the targets have no room for."""

    def copied(self, tensor: Tensor) -> Tensor:
        """A tensor of this level with memory of its own."""
        raise NotImplementedError

    def compute(self, op, args) -> tuple[Tensor, ...]:
        """Results of an operator, tensors of this level."""
        raise NotImplementedError

    def write(self, op, args, outs) -> None:
        """The same, written to tensors."""
        raise NotImplementedError
