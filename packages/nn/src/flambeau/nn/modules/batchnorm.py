"""Batch normalization: ``BatchNorm1d``, ``BatchNorm2d``, ``BatchNorm3d`` and ``SyncBatchNorm``."""

from __future__ import annotations

from typing import Any, ClassVar

import flambeau
from flambeau import Tensor

from .._siblings import functional as F
from .._siblings import init
from ..parameter import Parameter
from ._sizes import check_integer
from .module import Module


class _NormBase(Module):
    """What batch and instance norms share: an affine map and running statistics by channel."""

    _version = 2  # since batches are counted
    _shapes: ClassVar[dict[int, str]]  # what the input may look like, by number of dimensions

    weight: Parameter | None
    bias: Parameter | None
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        check_integer(self, num_features=num_features)
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        made: dict[str, Any] = {"device": device, "dtype": dtype}
        for name, learned in (("weight", affine), ("bias", affine and bias)):
            param = Parameter(flambeau.empty(num_features, **made)) if learned else None
            self.register_parameter(name, param)
        for name in ("running_mean", "running_var"):
            buffer = flambeau.empty(num_features, **made) if track_running_stats else None
            self.register_buffer(name, buffer)
        count = None
        if track_running_stats:
            count = flambeau.tensor(0, dtype=flambeau.int64, device=device)
        self.register_buffer("num_batches_tracked", count)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Go back to scale 1, shift 0 and no statistics."""
        self.reset_running_stats()
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def reset_running_stats(self) -> None:
        """Forget the running mean and variance."""
        if self.track_running_stats:
            self.running_mean.zero_()  # type: ignore[union-attr]
            self.running_var.fill_(1)  # type: ignore[union-attr]
            self.num_batches_tracked.zero_()  # type: ignore[union-attr]

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, "
            f"affine={self.affine}, bias={self.bias is not None}, "
            f"track_running_stats={self.track_running_stats}"
        )

    def _may_lack(self, name: str, version: int | None) -> bool:
        """Checkpoints from before batches were counted load; the count stays as it is."""
        return name == "num_batches_tracked" and (version is None or version < 2)

    def _channel_dim(self, input: Tensor) -> int:
        return 1

    def _check_input_dim(self, input: Tensor) -> None:
        if input.ndim in self._shapes:
            return
        own, given = type(self).__name__, tuple(input.shape)
        text = f"{own} takes an input of shape {' or '.join(self._shapes.values())}, not {given}"
        if input.ndim + 1 == min(self._shapes):
            text += "; add a batch dimension with input.unsqueeze(0)"
        raise ValueError(text)


class _BatchNorm(_NormBase):
    def forward(self, input: Tensor) -> Tensor:
        """Normalize each channel of ``input``."""
        self._check_input_dim(input)
        training = self.training
        mean, var, momentum = self.running_mean, self.running_var, self.momentum
        if training and not self.track_running_stats:
            mean = var = None
        elif training and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if momentum is None:
                momentum = 1.0 / float(self.num_batches_tracked)
        momentum = 0.0 if momentum is None else momentum
        return self._normalized(input, mean, var, training or mean is None, momentum)

    def _normalized(
        self,
        input: Tensor,
        mean: Tensor | None,
        var: Tensor | None,
        by_batch: bool,
        momentum: float,
    ) -> Tensor:
        return F.batch_norm(
            input, mean, var, self.weight, self.bias, by_batch, momentum, self.eps
        )


class BatchNorm1d(_BatchNorm):
    """Normalizes every channel over the batch (and the length).

    ``y = (x - mean) / sqrt(var + eps) * weight + bias`` with mean and biased variance of the
    batch when training, and the running ones, averages with weight ``momentum`` for the newest
    batch, when evaluating. The running variance is that of unbiased ones.

    Shapes: input and output ``(N, C)`` or ``(N, C, L)``.

    Args:
        num_features: The number of channels ``C``.
        eps: Keeps the division away from zero.
        momentum: Weight of the newest batch; ``None`` for a plain average of all batches.
        affine: Whether to learn ``weight`` and ``bias``.
        bias: Whether to learn ``bias``.
        track_running_stats: Whether to keep running statistics; without them the batch's are
            used when evaluating too.
        device: Where the parameters are made.
        dtype: Their dtype.

    Raises:
        ValueError: The input has another number of dimensions.

    Source: Ioffe and Szegedy, *Batch normalization* (2015).

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.BatchNorm1d(1)(flambeau.tensor([[1.0], [3.0]])).detach()
        tensor([[-1.0000],
                [ 1.0000]])
    """

    _shapes = {2: "(N, C)", 3: "(N, C, L)"}


class BatchNorm2d(_BatchNorm):
    """Normalizes every channel over the batch and the plane.

    The mathematics and the arguments are those of ``BatchNorm1d``.

    Shapes: input and output ``(N, C, H, W)``.

    Raises:
        ValueError: The input has another number of dimensions.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> tuple(nn.BatchNorm2d(3)(flambeau.zeros(2, 3, 4, 4)).shape)
        (2, 3, 4, 4)
    """

    _shapes = {4: "(N, C, H, W)"}


class BatchNorm3d(_BatchNorm):
    """Normalizes every channel over the batch and the volume.

    The mathematics and the arguments are those of ``BatchNorm1d``.

    Shapes: input and output ``(N, C, D, H, W)``.

    Raises:
        ValueError: The input has another number of dimensions.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> tuple(nn.BatchNorm3d(3)(flambeau.zeros(2, 3, 4, 4, 4)).shape)
        (2, 3, 4, 4, 4)
    """

    _shapes = {5: "(N, C, D, H, W)"}


class SyncBatchNorm(_BatchNorm):
    """``BatchNorm`` over the batches of several processes, for any number of dimensions.

    When training in a world of several processes (``flambeau.distributed``), mean and variance
    are those of the batches of all processes of the group, and so are the gradients. In one
    process it is ``BatchNorm``. The other arguments are those of ``BatchNorm1d``.

    Shapes: input and output ``(N, C, *)``.

    Args:
        process_group: The processes; all by default.

    Raises:
        ValueError: The input has fewer than two dimensions, or no channels.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> tuple(nn.SyncBatchNorm(3)(flambeau.zeros(2, 3, 4)).shape)
        (2, 3, 4)
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )
        self.process_group = process_group

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """Replace every batch norm in a network by one of this class, with the same tensors.

        Args:
            module: The network, which is changed; or one batch norm.
            process_group: Kept by the new modules.

        Returns:
            The network, or the new module where ``module`` is a batch norm itself.

        Example:
            >>> from flambeau import nn
            >>> net = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3))
            >>> type(nn.SyncBatchNorm.convert_sync_batchnorm(net)[1]).__name__
            'SyncBatchNorm'
        """
        if isinstance(module, _BatchNorm):
            return cls._from(module, process_group)
        for name, child in module.named_children():
            setattr(module, name, cls.convert_sync_batchnorm(child, process_group))
        return module

    @classmethod
    def _from(cls, norm: _BatchNorm, process_group: Any) -> SyncBatchNorm:
        made = cls(
            norm.num_features,
            norm.eps,
            norm.momentum,
            norm.affine,
            norm.track_running_stats,
            process_group,
            bias=norm.bias is not None,
        )
        made.weight, made.bias = norm.weight, norm.bias
        made.running_mean, made.running_var = norm.running_mean, norm.running_var
        made.num_batches_tracked = norm.num_batches_tracked
        made.training = norm.training
        if hasattr(norm, "qconfig"):
            made.qconfig = norm.qconfig
        return made

    def _normalized(
        self,
        input: Tensor,
        mean: Tensor | None,
        var: Tensor | None,
        by_batch: bool,
        momentum: float,
    ) -> Tensor:
        from flambeau import distributed

        group = self.process_group
        if not (self.training and by_batch and distributed.is_initialized()
                and distributed.get_world_size(group) > 1):
            return super()._normalized(input, mean, var, by_batch, momentum)
        from ..parallel.synchronized import batch_norm

        return batch_norm(input, mean, var, self.weight, self.bias, momentum, self.eps, group)

    def _check_input_dim(self, input: Tensor) -> None:
        if input.ndim < 2 or input.shape[1] == 0:
            raise ValueError(
                "SyncBatchNorm takes an input of shape (N, C, *) with at least one channel, not "
                f"{tuple(input.shape)}"
            )
