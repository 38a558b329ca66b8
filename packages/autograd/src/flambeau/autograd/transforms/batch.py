"""Levels of vmap. A tensor of such a level stands for a batch: its first dimension is hidden."""
from __future__ import annotations

from contextlib import suppress

from flambeau.autograd.transforms.batching import find_batch_rule
from flambeau.autograd.transforms.batching.basics import align
from flambeau.autograd.transforms.batching.random import RANDOM, random_rule, refuse_same
from flambeau.autograd.transforms.level import Level, as_tuple, tensors_of
from flambeau.autograd.transforms.stack import level_of
from flambeau.core import Tensor, _core, ops

__all__ = ["BatchLevel"]

_CANNOT_READ = (
    "vmap: {what} was called inside a function that is vectorized. Its tensors stand for a whole "
    "batch, so that there is not one value to give to Python, and data-dependent control flow "
    "(if x > 0: ...) cannot follow all samples at once: choose per element with flambeau.where("
    "condition, a, b), keep the number a tensor, or loop over the samples without vmap")


class BatchLevel(Level):
    """One vmap at work.

    Args:
        size: samples of the batch.
        randomness: ``"error"``, ``"different"`` or ``"same"``.
    """

    is_closed = False
    always = RANDOM

    def __init__(self, size: int, randomness: str) -> None:
        self.size = size
        self.randomness = randomness

    def __enter__(self):
        super().__enter__()
        if self.randomness == "different":
            self.began = _core.enter_births()
        return self

    def __exit__(self, *error) -> None:
        if self.randomness == "different":
            _core.exit_births()
        super().__exit__(*error)
        self.is_closed = True
        _core.watch_escaped(_refuse_escaped)

    # ---- tensors -------------------------------------------------------------------------------
    def wrap(self, inner: Tensor, batched: bool, base: Tensor | None = None) -> Tensor:
        """A tensor of this level; ``batched`` says whether the first dimension is the batch."""
        facts = {"_level": self, "_inner": inner, "_batched": batched}
        return _core.make_level(inner, self.number, batched, facts, base)

    def placed(self, inner: Tensor, index: int) -> Tensor:
        """A batch that was given to vmap with its samples along this dimension."""
        tensor = self.wrap(inner, True)
        if index:
            tensor.__dict__["_batch_dim"] = index
        return tensor

    def unwrap(self, value):
        """What a value stands for, and whether that is a batch."""
        if not self.is_mine(value):
            return value, False
        return value.__dict__["_inner"], value.__dict__["_batched"]

    def lift(self, tensor: Tensor) -> Tensor:
        return tensor if self.is_mine(tensor) else self.wrap(tensor, False)

    def own(self, inner: Tensor) -> Tensor:
        """Memory that was made for this level."""
        return self.wrap(inner, True)

    def blank(self, inner: Tensor, batched: bool) -> Tensor:
        """The same, for one sample or for each."""
        return self.wrap(inner, batched)

    def alias(self, tensor: Tensor) -> Tensor:
        return self.wrap(tensor.__dict__["_inner"], tensor.__dict__["_batched"])

    def detached(self, tensor: Tensor) -> Tensor:
        return self.wrap(tensor.__dict__["_inner"].detach(), tensor.__dict__["_batched"])

    def copied(self, tensor: Tensor) -> Tensor:
        inner, batched = self.unwrap(tensor)
        return self.wrap(inner.clone(), batched)

    def check_parameter(self, what: str, tensor: Tensor) -> None:
        if self.randomness == "same" and self.unwrap(tensor)[1]:
            refuse_same(what)

    def on_read(self, tensor: Tensor, what: str) -> None:
        if self.is_mine(tensor) and tensor.__dict__["_batched"]:
            raise RuntimeError(_CANNOT_READ.format(what=what))

    # ---- calls ---------------------------------------------------------------------------------
    def _split(self, args):
        """Arguments below this level, and which of them are batches."""
        inner, flags = [], []
        for value in args:
            if isinstance(value, Tensor):
                value, flag = self.unwrap(value)
            elif isinstance(value, (list, tuple)) and any(isinstance(v, Tensor) for v in value):
                pairs = [self.unwrap(v) for v in value]
                value, flag = [v for v, _ in pairs], [f for _, f in pairs]
                flag = flag if any(flag) else False
            else:
                flag = False
            inner.append(value)
            flags.append(flag)
        return inner, flags

    def _results(self, op, args):
        """Results below this level, and whether they are batches."""
        inner, flags = self._split(args)
        if op.key in RANDOM:
            return random_rule(self, op, inner, flags)
        if not any(flags):
            return as_tuple(_core.call(op, inner)), False
        _check_sample(op, args)
        return as_tuple(find_batch_rule(op)(self, op, inner, flags, args)), True

    def compute(self, op, args):
        results, batched = self._results(op, args)
        base = args[0] if op.category == "view" else None
        if base is not None and not self.is_mine(base):
            base = None
        return tuple([self.wrap(r, batched, base) for r in results])

    def write(self, op, args, outs):
        if op.key == "copy":
            inner, batched = self.unwrap(args[1])
            results = (inner,)
        else:
            results, batched = self._results(op, args)
        for target, result in zip(outs, results, strict=True):
            self._store(op, target, result, batched)

    def check_targets(self, op, args, outs) -> None:
        if op.key in RANDOM or not any(self.unwrap(t)[1] for t in tensors_of(args)):
            return
        for target in outs:
            if not self.unwrap(target)[1]:
                self._refuse_target(op, target)

    def _refuse_target(self, op, target):
        raise RuntimeError(
            f"vmap: inplace arithmetic is not possible here: {op.name}() would write a "
            f"different value for each of the {self.size} samples into one tensor of shape "
            f"{list(target.shape)} that all of them share. Use the operator that returns a "
            f"new tensor (x = x.{op.name}(...)), or make the target from a batched tensor "
            "(flambeau.zeros_like(batched), batched.new_zeros(...))")

    def _refuse_shared(self, op, target):
        raise RuntimeError(
            f"vmap: different inplace randomness on an unbatched tensor: {op.name}_() would write "
            f"other numbers for each of the {self.size} samples into one tensor of shape "
            f"{list(target.shape)} that all of them share. Make it inside of the function, or from "
            "a batched tensor (flambeau.rand_like(batched)), or use randomness='same'")

    def _is_fresh(self, tensor: Tensor) -> bool:
        """Whether nobody else can have seen the memory, such as that of ``empty`` in ``rand``."""
        return (not level_of(tensor) and _core.is_born_since(tensor, self.began)
                and _core.storage_refcount(tensor) == 1 and not tensor._is_view()
                and not tensor.requires_grad)

    def _store(self, op, target, result, batched) -> None:
        inner, target_batched = self.unwrap(target)
        if batched and op.key in RANDOM and self._is_fresh(target):
            facts = {"_level": self, "_inner": result, "_batched": True}
            _core.retarget_level(target, result, self.number, True, facts)
            return
        if batched and not target_batched:
            if op.key in RANDOM:
                self._refuse_shared(op, target)
            self._refuse_target(op, target)
        ops.copy_(inner, align(result, inner.ndim - 1) if batched else result)


def _check_sample(op, args) -> None:
    """Raise what the operator would for one sample: with the batch in front a vector is a matrix,
    and shapes broadcast that should not."""
    with suppress(NotImplementedError):         # the shape of the result depends on values
        _core.infer(op, args)


def _refuse_escaped(tensor: Tensor, name: str) -> None:
    """Called for a tensor of a level outside of it."""
    level = tensor.__dict__["_level"]
    if getattr(level, "is_closed", False):
        raise RuntimeError(
            f"{name}(): a tensor of a vmap that has ended is used. It stands for a batch that only "
            "that vmap knows of: return it from the function instead of keeping it")
