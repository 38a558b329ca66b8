"""Levels that rise fast at first and slowly in the end."""
from __future__ import annotations

from typing import Any

from flambeau.ao.pruning.scheduler.base_scheduler import BaseScheduler

__all__ = ["CubicSL"]


class CubicSL(BaseScheduler):
    r"""Levels between a first one and that of each group, by the cube of the time left.

    :math:`s_t = s_f + (s_0 - s_f) (1 - (t - t_0) / (n \Delta t))^3`, as in
    `To prune, or not to prune <https://arxiv.org/abs/1710.01878>`_. Each argument is one value, or
    one for each group.

    Args:
        sparsifier: The sparsifier.
        init_sl: :math:`s_0`, the level before and at ``init_t``.
        init_t: :math:`t_0`, the step at which it begins to rise.
        delta_t: :math:`\Delta t`.
        total_t: :math:`n`.
        initially_zero: Whether the level before ``init_t`` is 0.
        last_epoch: The number of the last step.
        verbose: Whether each level is printed.
    """

    def __init__(self, sparsifier: Any, init_sl: Any = 0.0, init_t: Any = 0, delta_t: Any = 10,
                 total_t: Any = 100, initially_zero: Any = False, last_epoch: int = -1,
                 verbose: bool = False) -> None:
        self.sparsifier = sparsifier
        self.init_sl, self.init_t, self.delta_t, self.total_t, self.initially_zero = map(
            self._make_sure_a_list, (init_sl, init_t, delta_t, total_t, initially_zero))
        super().__init__(sparsifier, last_epoch, verbose)

    @staticmethod
    def sparsity_compute_fn(s_0: float, s_f: float, t: int, t_0: int, dt: int, n: int,
                            initially_zero: bool = False) -> float:
        """The level at step ``t``."""
        if initially_zero and t < t_0:
            return 0
        level = s_f + (s_0 - s_f) * (1.0 - (t - t_0) / (dt * n)) ** 3
        return max(s_0, min(s_f, level))

    def get_sl(self) -> list[float]:
        """The levels of step ``last_epoch``."""
        self._expect_in_step()
        each = zip(self.init_sl, self.base_sl, self.init_t, self.delta_t, self.total_t,
                   self.initially_zero, strict=True)
        return [self.sparsity_compute_fn(s_0, s_f, self.last_epoch, t_0, dt, n, zero)
                for s_0, s_f, t_0, dt, n, zero in each]
