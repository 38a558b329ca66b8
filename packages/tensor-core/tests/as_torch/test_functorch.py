"""The package `functorch` under the alias: transforms, and modules as functions of lists."""
from __future__ import annotations

import pytest
from test_alias import PROGRAM, lines, run


@pytest.fixture(autouse=True)
def rooms():
    pytest.importorskip("flambeau.func", reason="needs flambeau-autograd")
    pytest.importorskip("flambeau.nn", reason="needs flambeau-nn")


def test_gradients_of_each_sample_are_those_of_loops():
    assert lines("""
        import functorch                    # before `torch`, whose seeds are PyTorch's all the same
        import torch
        from functorch import FunctionalModule, grad, make_functional, vmap
        torch.manual_seed(0)
        net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
        function, params = make_functional(net)
        x = torch.randn(5, 3)
        loss = lambda params, x: function(params, x).square().sum()
        found = vmap(grad(loss), (None, 0))(params, x)
        for i in range(5):
            net.zero_grad()
            net(x[i]).square().sum().backward()
            assert all(torch.allclose(a[i], p.grad) for a, p in zip(found, net.parameters()))
        print(isinstance(function, FunctionalModule), params[0] is net[0].weight)
        torch.manual_seed(0)
        print(f"{torch.rand(1).item():.7f}")
    """) == ["True False", "0.4962566"]


def test_ensembles_and_buffers():
    assert lines("""
        import torch
        from functorch import (combine_state_for_ensemble, make_functional,
                               make_functional_with_buffers, vmap)
        def made(i):
            net = torch.nn.BatchNorm1d(3).eval()
            net.running_mean.fill_(i)
            return net
        nets, x = [made(i) for i in range(4)], torch.ones(2, 3)
        function, params, buffers = combine_state_for_ensemble(nets)
        together = vmap(function, (0, 0, None))(params, buffers, x)
        print(torch.equal(together, torch.stack([net(x) for net in nets])))
        function, params, buffers = make_functional_with_buffers(nets[2])
        print(torch.equal(function(params, buffers, x), nets[2](x)), len(buffers))
        _, params, _ = make_functional_with_buffers(nets[2], disable_autograd_tracking=True)
        print(params[0].requires_grad, nets[2].weight.requires_grad)
        try:
            make_functional(nets[0])
        except RuntimeError as error:
            print("make_functional_with_buffers" in str(error))
    """) == ["True", "True 3", "False True", "True"]


def test_the_rest_is_importable_and_says_so_at_use():
    assert lines("""
        import functorch.compile, functorch.experimental.control_flow, functorch.dim
        from functorch import dim, hessian, jacfwd, jacrev, jvp, vjp
        from torch._functorch.eager_transforms import hessian as older
        from torch._functorch.apis import vmap
        import torch._functorch.config
        print(older is hessian, vmap is functorch.vmap)
        for use in (lambda: functorch.compile.aot_function(1), lambda: functorch.nothing):
            try:
                use()
            except (NotImplementedError, AttributeError) as error:
                print(error)
    """) == ["True True", "functorch.compile.aot_function is not part of Flambeau, which this "
             "program runs with", "module 'functorch' has no attribute 'nothing'"]
    with pytest.raises(Exception, match="functorch.nothing"):
        run([*PROGRAM, "-c", "import functorch.nothing"])


def test_functions_of_its_smaller_modules():
    pytest.importorskip("flambeau.jit", reason="needs flambeau-jit")
    assert lines("""
        import torch
        from functorch.einops import rearrange
        from functorch.experimental.control_flow import cond, map
        x = torch.arange(6.0).reshape(2, 3)
        print(rearrange(x, "a b -> b a").shape)
        print(cond(x.sum() > 0, torch.sin, torch.cos, (x,)).equal(x.sin()))
        y = torch.tensor(2.0, requires_grad=True)
        found = map(lambda xs, y: {"a": xs[0] + xs[1] * y, "none": None}, (x, x[:, 0]), y)
        print(found["a"].equal(x + x[:, :1] * y), found["none"])
        found["a"].sum().backward()
        print(y.grad.item())
        for f, xs in ((torch.Tensor.sum, (torch.ones(2), 3)), (torch.sin, torch.ones(0, 2)),
                      (torch.add, (torch.ones(2), torch.ones(3))),
                      (torch.Tensor.tolist, torch.ones(2, 2))):
            try:
                map(f, xs)
            except RuntimeError as error:
                print(str(error)[:30])
    """) == ["torch.Size([3, 2])", "True", "True None", "9.0", "map(): Mapped xs can only cons",
             "map(): Leading dimensions of m", "map(): Leading dimensions of m",
             "map(): Expect outputs of map o"]


def test_results_as_tuples():
    assert lines("""
        from torch._functorch.eager_transforms import _as_tuple
        print(_as_tuple(3), _as_tuple((1, 2)), _as_tuple([1]))
    """) == ["(3,) (1, 2) ([1],)"]


def test_settings_of_compilers_leave_functions_as_they_are():
    assert lines("""
        import torch
        @torch._dynamo.config.patch(suppress_errors=True)
        def double(x):
            with torch._inductor.config.patch("max_autotune", True):
                return 2 * x
        torch._logging.set_logs(graph_breaks=True, dynamo=10)
        print(double(3), torch._dynamo.is_dynamo_supported())
    """) == ["6 True"]
