"""Networks recorded: the same bits as eager, gradients and rewriting."""

import pytest

import flambeau
from flambeau import fx
from flambeau.core.pytree import tree_leaves

nn = pytest.importorskip("flambeau.nn", reason="needs flambeau-nn")
pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
F = nn.functional


class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(channels)

    def forward(self, x):
        return F.relu(self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x))))) + x)


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 4, 3)
        self.blocks = nn.ModuleList([Block(4), Block(4)])
        self.head = nn.Linear(4, 5)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(F.adaptive_avg_pool2d(x, 1).flatten(1))


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.norm = nn.LayerNorm(width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        b, t, c = x.shape[0], x.shape[1], x.shape[2]
        q, k, v = self.heads(x, b, t, c)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return x + self.out(y.transpose(1, 2).reshape(b, t, c))

    def heads(self, x, b, t, c):
        q, k, v = self.qkv(self.norm(x)).split(c, dim=-1)
        return (q.view(b, t, 2, c // 2).transpose(1, 2), k.view(b, t, 2, c // 2).transpose(1, 2),
                v.view(b, t, 2, c // 2).transpose(1, 2))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(11, 8)
        self.places = nn.Embedding(6, 8)
        self.layers = nn.Sequential(Attention(8), Attention(8))

    def forward(self, x):
        x = self.tokens(x) + self.places(flambeau.arange(x.size(1)))
        return F.linear(self.layers(x), self.tokens.weight)


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.GroupNorm(2, 4), nn.SiLU())
        self.middle = nn.Conv2d(4, 4, 3, padding=1)
        self.up = nn.Conv2d(8, 1, 3, padding=1)

    def forward(self, x):
        a = self.down(x)
        b = self.middle(F.max_pool2d(a, 2))
        b = F.interpolate(b, scale_factor=2, mode="nearest")
        return self.up(flambeau.cat([a, b], 1))


def sample(net):
    flambeau.manual_seed(0)
    if net is Gpt:
        return flambeau.randint(0, 11, (2, 6))
    return flambeau.randn(2, 1 if net is UNet else 3, 8, 8)


@pytest.mark.parametrize("kind", [ResNet, Gpt, UNet])
def test_networks_give_the_bits_of_eager_and_its_gradients(kind):
    net, x = kind(), sample(kind)
    module = fx.symbolic_trace(net)
    module.graph.lint()
    wanted = net(x)
    assert module(x).tolist() == wanted.tolist()
    wanted.square().sum().backward()
    grads = [p.grad.tolist() for p in net.parameters()]
    net.zero_grad()
    module(x).square().sum().backward()
    assert [p.grad.tolist() for p in net.parameters()] == grads


def test_batch_norms_fold_into_convolutions():
    from flambeau.fx.experimental.optimization import fuse

    net, x = ResNet(), sample(ResNet)
    net(x)
    net.eval()
    fused = fuse(net)
    assert not any(isinstance(each, nn.BatchNorm2d) for each in fused.modules())
    assert flambeau.allclose(fused(x), net(x), atol=1e-5)
    assert any(isinstance(each, nn.BatchNorm2d) for each in net.modules())


def test_a_step_of_training_is_recorded_with_its_gradients():
    from flambeau.fx.experimental.proxy_tensor import make_fx

    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 5))
    x, y = sample(ResNet), flambeau.tensor([1, 2])

    def step(x, y):
        return flambeau.autograd.grad(F.cross_entropy(net(x), y), list(net.parameters()))

    recorded = make_fx(step)(x, y)
    other = flambeau.randn(2, 3, 8, 8)
    for given in (x, other):
        assert [g.tolist() for g in recorded(given, y)] == [g.tolist() for g in step(given, y)]


def test_writes_through_views_are_recorded():
    from flambeau.fx.experimental.proxy_tensor import make_fx

    def program(x):
        x = x.clone()
        x[0] = 1
        y = x.view(-1)
        y.mul_(2)
        flambeau.sin(y, out=y)
        return x, y.split(3)

    recorded = make_fx(program)(flambeau.randn(4, 3))
    other = flambeau.randn(4, 3)
    for found, wanted in zip(tree_leaves(recorded(other)), tree_leaves(program(other)),
                             strict=True):
        assert found.tolist() == wanted.tolist()


def test_tensors_that_a_program_makes_are_new_in_each_run():
    from flambeau.fx.experimental.proxy_tensor import make_fx

    outside = flambeau.zeros(2)

    def program(x):
        inside = flambeau.tensor([1., 2.])
        inside.add_(x)
        outside.add_(x)
        return inside * 2

    x = flambeau.ones(2)
    recorded = make_fx(program)(x)
    assert recorded(x).tolist() == recorded(x).tolist() == [4., 6.]
    assert outside.tolist() == [3., 3.]
