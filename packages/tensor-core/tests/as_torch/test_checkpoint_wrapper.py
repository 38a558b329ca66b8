"""`torch.distributed.algorithms._checkpoint.checkpoint_wrapper`."""
from __future__ import annotations

import pytest
from test_alias import lines


def test_wrapped_modules():
    pytest.importorskip("flambeau.nn", reason="needs flambeau-nn")
    assert lines("""
        import functools
        import torch
        from torch import nn
        from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import (
            CheckpointImpl, CheckpointWrapper, apply_activation_checkpointing, checkpoint_wrapper,
            offload_wrapper)
        runs = []
        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = nn.Linear(3, 3)
                self.depth = 7
            def forward(self, x, *, scale=1.0):
                runs.append(scale)
                return (self.inner(x) * scale).tanh()
        for impl in CheckpointImpl:
            net = nn.Sequential(Block(), Block(), nn.Linear(3, 1))
            x = torch.ones(2, 3, requires_grad=True)
            names = [name for name, _ in net.named_parameters()]
            (net(x).sum() + net[0](x, scale=2.0).sum()).backward()
            want = [each.grad.clone() for each in (x, *net.parameters())]
            x.grad = None
            net.zero_grad()
            apply_activation_checkpointing(
                net, functools.partial(checkpoint_wrapper, checkpoint_impl=impl),
                lambda module: isinstance(module, Block))
            runs.clear()
            (net(x).sum() + net[0](x, scale=2.0).sum()).backward()
            print(all(map(torch.equal, want, [each.grad for each in (x, *net.parameters())])), runs)
            print(list(net.state_dict()) == names, net[0].depth, type(net[2]).__name__,
                  [name for name, _ in net[0].named_parameters()])
            print(net.load_state_dict({name: torch.zeros_like(value)
                                       for name, value in net.state_dict().items()}))
            print(net[0].inner.weight.abs().sum().item(), isinstance(net[1], CheckpointWrapper))
        kept = offload_wrapper(nn.Linear(2, 2))
        print(kept(torch.ones(1, 2)).requires_grad, list(kept.state_dict()))
    """) == 2 * ["True [1.0, 1.0, 2.0, 2.0, 1.0, 1.0]",
                 "True 7 Linear ['inner.weight', 'inner.bias']", "<All keys matched successfully>",
                 "0.0 True"] + ["True ['weight', 'bias']"]
