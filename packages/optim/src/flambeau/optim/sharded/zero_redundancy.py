"""``ZeroRedundancyOptimizer``: each process keeps the state of a part of the parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau import Tensor, distributed
from flambeau.distributed.algorithms import Join, Joinable, JoinHook
from flambeau.distributed.collectives import broadcast_coalesced

from ..optimizer import Optimizer


class _StepHook(JoinHook):
    """Steps in a process that has no batches left.

    Gradients are those that ``DistributedDataParallel`` left, which is to be before the optimizer
    in the `Join`.
    """

    def __init__(self, optimizer: ZeroRedundancyOptimizer) -> None:
        self._optimizer = optimizer

    def main_hook(self) -> None:
        """Step on this process's part."""
        self._optimizer.step()


class ZeroRedundancyOptimizer(Optimizer, Joinable):
    """An optimizer whose state is divided among the processes (Rajbhandari et al., ZeRO, 2020).

    Each process steps on a part of the parameters, about as many elements as any other, and sends
    them to all. Gradients are to be the same everywhere, as ``DistributedDataParallel`` leaves
    them; parameters are then what the optimizer alone makes of them.

    Args:
        params: Parameters, or dicts of parameters with options of their own.
        optimizer_class: The optimizer of each part, e.g. ``optim.Adam``.
        process_group: The processes; all by default.
        parameters_as_bucket_view: Accepted for compatibility.
        overlap_with_ddp: Not made.
        defaults: Options of the optimizer.

    Raises:
        NotImplementedError: ``overlap_with_ddp`` is asked for.
        ValueError: ``flambeau.distributed.init_process_group`` was not called.

    Example:
        >>> import flambeau
        >>> from flambeau import distributed, optim
        >>> from flambeau.distributed.optim import ZeroRedundancyOptimizer
        >>> distributed.init_process_group("gloo", world_size=1, rank=0)
        >>> x = flambeau.tensor([1.0], requires_grad=True)
        >>> optimizer = ZeroRedundancyOptimizer([x], optim.SGD, lr=0.5)
        >>> x.sum().backward()
        >>> optimizer.step()
        >>> x.detach()
        tensor([0.5000])
        >>> distributed.destroy_process_group()
    """

    def __init__(
        self,
        params: Any,
        optimizer_class: type[Optimizer],
        process_group: Any = None,
        parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False,
        **defaults: Any,
    ) -> None:
        if overlap_with_ddp:
            raise NotImplementedError(
                "ZeroRedundancyOptimizer: overlap_with_ddp is not made: leave it out, and call "
                "step() after backward()"
            )
        self.process_group = process_group
        self._size = distributed.get_world_size(process_group)
        self._rank = distributed.get_rank(process_group)
        self._load = [0] * self._size  # elements that each process has
        self._owner: dict[int, int] = {}  # parameter, by identity -> its process
        self._consolidated: dict[str, Any] | None = None
        self._ready = False
        Joinable.__init__(self)
        Optimizer.__init__(self, params, defaults)
        self.optim = optimizer_class([self._mine(g) for g in self.param_groups], **defaults)
        self._ready = True
        self._copy_options(self.optim, self)

    def _mine(self, group: dict[str, Any]) -> dict[str, Any]:
        """The part of a group that this process steps on."""
        own = [p for p in group["params"] if self._owner[id(p)] == self._rank]
        return {**group, "params": own}

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters with options of their own, and divide them among the processes.

        Args:
            param_group: A dict with ``"params"`` and any options; defaults fill the rest.
        """
        super().add_param_group(param_group)
        for param in sorted(self.param_groups[-1]["params"], key=Tensor.numel, reverse=True):
            owner = self._load.index(min(self._load))
            self._owner[id(param)] = owner
            self._load[owner] += param.numel()
        if self._ready:
            self.optim.add_param_group(self._mine(self.param_groups[-1]))
            self._copy_options(self.optim, self)

    @staticmethod
    def _copy_options(source: Optimizer, target: Optimizer) -> None:
        """Options of groups, which schedules change: those of the one in those of the other."""
        for given, group in zip(source.param_groups, target.param_groups, strict=True):
            group.update({key: value for key, value in given.items() if key != "params"})

    def step(self, closure: Callable[[], Any] | None = None, **kwargs: Any) -> Any:
        """Step on this process's part, and send and receive the parameters.

        Args:
            closure: Computes the loss again, for optimizers that ask for it.
            kwargs: Further arguments of the optimizer's ``step``.

        Returns:
            What the closure gives.
        """
        Join.notify_join_context(self)
        self._copy_options(self, self.optim)
        loss = self.optim.step(closure, **kwargs)
        self._consolidated = None
        self._share()
        return loss

    def _share(self) -> None:
        """Send each process's parameters to all."""
        for owner in range(self._size):
            owned = [param for param in self._all() if self._owner[id(param)] == owner]
            broadcast_coalesced(owned, self.process_group, owner)

    # ---- processes with fewer batches --------------------------------------------------------
    def join_hook(self, **kwargs: Any) -> JoinHook:
        """What a process without batches does: it steps.

        Args:
            kwargs: Accepted for compatibility.
        """
        return _StepHook(self)

    @property
    def join_device(self) -> Any:
        """The device of the first parameter."""
        return self._all()[0].device

    @property
    def join_process_group(self) -> Any:
        """The processes."""
        return self.process_group

    # ---- files ---------------------------------------------------------------------------------
    def consolidate_state_dict(self, to: int = 0) -> None:
        """Gather the state of all processes in one; all call it.

        Args:
            to: The process, by its number in the group, that `state_dict` is called in then.
        """
        own = self.optim.state_dict()["state"]
        local = [id(p) for group in self.optim.param_groups for p in group["params"]]
        numbers = {id(p): i for i, p in enumerate(self._all())}
        mine = {numbers[local[i]]: state for i, state in own.items()}
        every: list[Any] = [None] * self._size
        distributed.all_gather_object(every, mine, self.process_group)
        if self._rank == to:
            merged = {i: state for part in every for i, state in part.items()}
            self._consolidated = dict(sorted(merged.items()))

    def _all(self) -> list[Tensor]:
        return [p for group in self.param_groups for p in group["params"]]

    def state_dict(self) -> dict[str, Any]:
        """The state of all parameters, as the optimizer alone has it.

        Raises:
            RuntimeError: `consolidate_state_dict` was not called since the last step.
        """
        if self._consolidated is None:
            raise RuntimeError(
                "Optimizer state has not been consolidated on this rank. Please call "
                f"`consolidate_state_dict(to={self._rank})` on all ranks beforehand if you meant "
                "to save the global state."
            )
        self._copy_options(self, self.optim)
        packed = self.optim.state_dict()["param_groups"]
        return {"state": self._consolidated, "param_groups": _numbered(packed, self)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take this process's part of a state; all processes load the same.

        Args:
            state_dict: What `state_dict`, or the optimizer alone, gave.
        """
        numbers = {id(p): i for i, p in enumerate(self._all())}
        local = [numbers[id(p)] for group in self.optim.param_groups for p in group["params"]]
        groups = _numbered(state_dict["param_groups"], self.optim)
        states = state_dict["state"]
        own = {i: states[number] for i, number in enumerate(local) if number in states}
        self.optim.load_state_dict({"state": own, "param_groups": groups})
        self._copy_options(self.optim, self)
        self._consolidated = None


def _numbered(packed: list[dict[str, Any]], optimizer: Optimizer) -> list[dict[str, Any]]:
    """Groups of a state with the numbers of an optimizer's own parameters."""
    groups, at = [], 0
    for saved, group in zip(packed, optimizer.param_groups, strict=True):
        count = len(group["params"])
        groups.append({**saved, "params": list(range(at, at + count))})
        at += count
    return groups
