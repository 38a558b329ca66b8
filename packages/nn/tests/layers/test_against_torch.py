"""Layers and losses against PyTorch: same weights, same outputs, same gradients, same names."""

import numpy as np
import pytest

import flambeau
from flambeau import nn
from flambeau.nn import functional as F

pytestmark = pytest.mark.oracle

RTOL, ATOL = 2e-5, 2e-6


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch")


def ours(tensor):
    """A tensor of PyTorch's as one of Flambeau's."""
    return flambeau.tensor(tensor.detach().numpy())


def close(mine, theirs, scale=1.0):
    np.testing.assert_allclose(
        mine.detach().numpy(), theirs.detach().numpy(), rtol=RTOL * scale, atol=ATOL * scale
    )


def copy_state(mine, theirs):
    assert list(mine.state_dict()) == list(theirs.state_dict())
    mine.load_state_dict({key: ours(value) for key, value in theirs.state_dict().items()})


LAYERS = {
    "linear": ("Linear", (5, 3), {}, (4, 2, 5)),
    "linear_no_bias": ("Linear", (5, 3, False), {}, (4, 5)),
    "conv2d": ("Conv2d", (4, 6, 3), {"padding": 1}, (2, 4, 7, 6)),
    "conv2d_all": (
        "Conv2d",
        (4, 6, (3, 2)),
        {"stride": (2, 1), "padding": (2, 1), "dilation": (1, 2), "groups": 2, "bias": False},
        (2, 4, 9, 8),
    ),
    "conv2d_same": ("Conv2d", (2, 3, 3), {"padding": "same", "dilation": 2}, (1, 2, 6, 6)),
    "conv2d_reflect": (
        "Conv2d",
        (2, 3, 3),
        {"padding": (2, 1), "stride": 2, "padding_mode": "reflect"},
        (1, 2, 6, 6),
    ),
    "conv2d_circular": (
        "Conv2d",
        (2, 3, (2, 3)),
        {"padding": "same", "padding_mode": "circular"},
        (1, 2, 6, 6),
    ),
    "max_pool": ("MaxPool2d", (3, 2, 1), {}, (2, 3, 7, 8)),
    "max_pool_ceil": ("MaxPool2d", (2,), {"ceil_mode": True}, (2, 3, 7, 9)),
    "max_pool_dilated": ("MaxPool2d", (2, 1), {"dilation": 2}, (2, 3, 7, 9)),
    "avg_pool": ("AvgPool2d", (3, 2, 1), {}, (2, 3, 7, 8)),
    "avg_pool_options": (
        "AvgPool2d",
        (3, 2, 1),
        {"count_include_pad": False, "ceil_mode": True},
        (2, 3, 8, 8),
    ),
    "avg_pool_divisor": ("AvgPool2d", (2,), {"divisor_override": 3}, (2, 3, 6, 6)),
    "adaptive": ("AdaptiveAvgPool2d", ((3, 5),), {}, (2, 3, 7, 8)),
    "batch_norm_1d": ("BatchNorm1d", (4,), {}, (6, 4)),
    "batch_norm_1d_length": ("BatchNorm1d", (4,), {"momentum": None}, (3, 4, 5)),
    "batch_norm_2d": ("BatchNorm2d", (4,), {"eps": 1e-3, "momentum": 0.3}, (3, 4, 5, 2)),
    "batch_norm_plain": (
        "BatchNorm2d",
        (4,),
        {"affine": False, "track_running_stats": False},
        (3, 4, 5, 2),
    ),
    "layer_norm": ("LayerNorm", ((4, 5),), {}, (3, 4, 5)),
    "layer_norm_no_bias": ("LayerNorm", (5,), {"bias": False, "eps": 1e-3}, (3, 4, 5)),
    "relu": ("ReLU", (), {}, (4, 5)),
    "gelu": ("GELU", (), {}, (4, 5)),
    "gelu_tanh": ("GELU", ("tanh",), {}, (4, 5)),
    "silu": ("SiLU", (), {}, (4, 5)),
    "tanh": ("Tanh", (), {}, (4, 5)),
    "sigmoid": ("Sigmoid", (), {}, (4, 5)),
    "softmax": ("Softmax", (1,), {}, (4, 5, 2)),
    "log_softmax": ("LogSoftmax", (-1,), {}, (4, 5, 2)),
    "leaky_relu": ("LeakyReLU", (0.2,), {}, (4, 5)),
    "elu": ("ELU", (1.5,), {}, (4, 5)),
    "softplus": ("Softplus", (2.0, 1.0), {}, (4, 5)),
    "flatten": ("Flatten", (0, 1), {}, (4, 5, 2)),
    "unflatten": ("Unflatten", (1, (2, 3)), {}, (4, 6, 2)),
    "identity": ("Identity", (), {}, (4, 5)),
    "dropout_eval": ("Dropout", (0.5,), {}, (4, 5)),
}


@pytest.mark.parametrize(("name", "args", "options", "shape"), LAYERS.values(), ids=LAYERS)
def test_layer(torch, name, args, options, shape):
    torch.manual_seed(0)
    theirs = getattr(torch.nn, name)(*args, **options)
    mine = getattr(nn, name)(*args, **options)
    copy_state(mine, theirs)
    assert repr(mine) == repr(theirs)
    if name == "Dropout":
        mine.eval()
        theirs.eval()
    for _ in range(2):
        compare(torch, mine, theirs, torch.randn(shape))
    for (key, a), b in zip(mine.state_dict().items(), theirs.state_dict().values(), strict=True):
        assert str(a.dtype).split(".")[-1] == str(b.dtype).split(".")[-1], key
        close(a, b)
    if name.startswith("BatchNorm"):
        compare(torch, mine.eval(), theirs.eval(), torch.randn(shape))


def compare(torch, mine, theirs, x):
    """Outputs and all gradients for one input and a random cotangent."""
    x = x.requires_grad_()
    x_mine = ours(x).requires_grad_()
    mine.zero_grad()
    theirs.zero_grad()
    out, expected = mine(x_mine), theirs(x)
    close(out, expected)
    cotangent = torch.randn(expected.shape)
    (out * ours(cotangent)).sum().backward()
    (expected * cotangent).sum().backward()
    close(x_mine.grad, x.grad, 5)
    for a, b in zip(mine.parameters(), theirs.parameters(), strict=True):
        close(a.grad, b.grad, 5)


@pytest.mark.parametrize("padding", [None, 2, -1])
def test_embedding(torch, padding):
    theirs = torch.nn.Embedding(6, 3, padding_idx=padding)
    mine = nn.Embedding(6, 3, padding_idx=padding)
    copy_state(mine, theirs)
    assert repr(mine) == repr(theirs)
    assert repr(nn.Embedding(2, 3, max_norm=1.0)) == repr(torch.nn.Embedding(2, 3, max_norm=1.0))
    assert repr(nn.Embedding(2, 3, sparse=True)) == "Embedding(2, 3, sparse=True)"
    index = torch.tensor([[0, 2, 2], [5, 5, 1]])
    out, expected = mine(ours(index)), theirs(index)
    close(out, expected)
    out.pow(2).sum().backward()
    expected.pow(2).sum().backward()
    close(mine.weight.grad, theirs.weight.grad)


@pytest.mark.parametrize("options", [
    {"max_norm": 1.0}, {"max_norm": 2.0, "norm_type": 1.0}, {"scale_grad_by_freq": True},
    {"scale_grad_by_freq": True, "padding_idx": 2}, {"max_norm": 0.5, "scale_grad_by_freq": True},
], ids=str)
def test_embedding_options(torch, options):
    table = torch.randn(6, 3)
    theirs = torch.nn.Embedding(6, 3, _weight=table.clone(), **options)
    mine = nn.Embedding(6, 3, _weight=ours(table), **options)
    index = torch.tensor([[0, 2, 2], [5, 5, 5]])
    out, expected = mine(ours(index)), theirs(index)
    close(out, expected)
    close(mine.weight, theirs.weight)
    out.pow(2).sum().backward()
    expected.pow(2).sum().backward()
    close(mine.weight.grad, theirs.weight.grad)


def positive(torch, *shape):
    return torch.rand(*shape) * 0.98 + 0.01


LOSSES = {
    "mse": ("MSELoss", {}, "real"),
    "l1": ("L1Loss", {}, "real"),
    "smooth_l1": ("SmoothL1Loss", {"beta": 0.4}, "real"),
    "huber": ("HuberLoss", {"delta": 0.4}, "real"),
    "bce": ("BCELoss", {}, "probability"),
    "bce_logits": ("BCEWithLogitsLoss", {}, "score"),
    "nll": ("NLLLoss", {"ignore_index": 1}, "class"),
    "cross_entropy": ("CrossEntropyLoss", {"ignore_index": 1}, "class"),
    "cross_entropy_smooth": ("CrossEntropyLoss", {"label_smoothing": 0.1}, "class"),
    "cross_entropy_planes": ("CrossEntropyLoss", {}, "planes"),
    "cross_entropy_probabilities": ("CrossEntropyLoss", {}, "soft"),
    "nll_planes": ("NLLLoss", {}, "planes"),
    "cross_entropy_one": ("CrossEntropyLoss", {}, "one"),
}


def sample(torch, kind):
    torch.manual_seed(1)
    return {
        "real": lambda: (torch.randn(5, 4), torch.randn(5, 4)),
        "probability": lambda: (positive(torch, 5, 4), positive(torch, 5, 4)),
        "score": lambda: (torch.randn(5, 4), positive(torch, 5, 4)),
        "class": lambda: (torch.randn(5, 4), torch.tensor([0, 3, 1, 2, 2])),
        "planes": lambda: (torch.randn(2, 4, 3, 5), torch.randint(0, 4, (2, 3, 5))),
        "soft": lambda: (torch.randn(5, 4), torch.randn(5, 4).softmax(1)),
        "one": lambda: (torch.randn(4), torch.tensor(2)),
    }[kind]()


UNWEIGHTED = ("MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss")
LOSS_CASES = [
    pytest.param(*case, weighted, id=f"{key}-{weighted}")
    for key, case in LOSSES.items()
    for weighted in (False, True)
    if not (weighted and case[0] in UNWEIGHTED)
]


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize(("name", "options", "kind", "weighted"), LOSS_CASES)
def test_loss(torch, name, options, kind, weighted, reduction):
    x, y = sample(torch, kind)
    made = {"reduction": reduction, **options}
    mine_made = dict(made)
    if weighted:
        weight = torch.rand(5, 4) if name.startswith("BCE") else torch.tensor([0.5, 2.0, 1.0, 3.0])
        made["weight"], mine_made["weight"] = weight, ours(weight)
    x.requires_grad_()
    x_mine = ours(x).requires_grad_()
    loss = getattr(nn, name)(**mine_made)(x_mine, ours(y))
    expected = getattr(torch.nn, name)(**made)(x, y)
    close(loss, expected)
    loss.sum().backward()
    expected.sum().backward()
    close(x_mine.grad, x.grad)


def test_pos_weight(torch):
    x, y = sample(torch, "score")
    weight = torch.rand(4) * 3
    mine = nn.BCEWithLogitsLoss(pos_weight=ours(weight))
    theirs = torch.nn.BCEWithLogitsLoss(pos_weight=weight)
    assert list(mine.state_dict()) == list(theirs.state_dict())
    close(mine(ours(x), ours(y)), theirs(x, y))


@pytest.mark.parametrize("causal", [False, True])
def test_attention(torch, causal):
    q, k, v = torch.randn(3, 2, 4, 6, 8).unbind(0)
    mine = F.scaled_dot_product_attention(ours(q), ours(k), ours(v), is_causal=causal)
    theirs = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
    close(mine, theirs)


@pytest.mark.parametrize("order", [1.0, 2.0, 3.0, float("inf")])
def test_clipping(torch, order):
    theirs = [torch.nn.Parameter(torch.zeros(3)), torch.nn.Parameter(torch.zeros(2, 2))]
    mine = [nn.Parameter(ours(p)) for p in theirs]
    for a, b in zip(mine, theirs, strict=True):
        b.grad = torch.randn(b.shape)
        a.grad = ours(b.grad)
    norm = nn.utils.clip_grad_norm_(mine, 0.5, order)
    close(norm, torch.nn.utils.clip_grad_norm_(theirs, 0.5, order))
    for a, b in zip(mine, theirs, strict=True):
        close(a.grad, b.grad)


class Everything:
    """The same network from either framework."""

    def __init__(self, t):
        n = t.nn

        class Block(n.Module):
            def __init__(self, size):
                super().__init__()
                self.norm = n.LayerNorm(size)
                self.wide = n.Linear(size, 2 * size)
                self.act = n.GELU()
                self.narrow = n.Linear(2 * size, size, bias=False)

            def forward(self, x):
                return x + self.narrow(self.act(self.wide(self.norm(x))))

        class Net(n.Module):
            def __init__(self):
                super().__init__()
                self.table = n.Embedding(7, 4)
                self.blocks = n.ModuleList([Block(4) for _ in range(2)])
                self.named = n.ModuleDict({"head": n.Linear(4, 3)})
                self.scale = n.Parameter(t.ones(3))
                self.register_buffer("shift", t.zeros(3))
                self.register_buffer("scratch", t.zeros(1), persistent=False)
                self.register_parameter("nothing", None)

            def forward(self, x):
                x = self.table(x)
                for block in self.blocks:
                    x = block(x)
                return self.named["head"](x) * self.scale + self.shift

        self.net = Net()


def test_a_whole_network(torch):
    theirs, mine = Everything(torch).net, Everything(flambeau).net
    copy_state(mine, theirs)
    assert repr(mine) == repr(theirs)
    assert [n for n, _ in mine.named_modules()] == [n for n, _ in theirs.named_modules()]
    assert [n for n, _ in mine.named_parameters()] == [n for n, _ in theirs.named_parameters()]
    assert [n for n, _ in mine.named_buffers()] == [n for n, _ in theirs.named_buffers()]
    index = torch.tensor([[0, 6, 3], [2, 2, 5]])
    out, expected = mine(ours(index)), theirs(index)
    close(out, expected)
    out.pow(2).mean().backward()
    expected.pow(2).mean().backward()
    for a, b in zip(mine.parameters(), theirs.parameters(), strict=True):
        close(a.grad, b.grad)


@pytest.mark.parametrize(
    "make",
    [
        lambda n: n.Sequential(n.Linear(1, 2), n.Sequential(), n.ReLU(inplace=True)),
        lambda n: n.ModuleList([n.Linear(1, 2), n.Linear(1, 2), n.Conv2d(1, 2, 3, padding=1)]),
        lambda n: n.ModuleDict({"a": n.MaxPool2d(2, 1, 1), "b": n.AvgPool2d(3)}),
        lambda n: n.Sequential(n.ELU(inplace=True), n.LeakyReLU(inplace=True), n.Softplus()),
        lambda n: n.Sequential(n.CrossEntropyLoss(), n.MSELoss(), n.AdaptiveAvgPool2d((1, 2))),
        lambda n: n.ModuleList(),
    ],
)
def test_printing(torch, make):
    assert repr(make(nn)) == repr(make(torch.nn))


def test_collate_and_split_sizes(torch):
    from flambeau.utils import data

    samples = [(1, 2.0, {"a": True}), (3, 4.0, {"a": False})]
    mine = data.default_collate(samples)
    theirs = torch.utils.data.default_collate(samples)
    assert type(mine) is type(theirs)
    for a, b in ((mine[0], theirs[0]), (mine[1], theirs[1]), (mine[2]["a"], theirs[2]["a"])):
        assert str(a.dtype).split(".")[-1] == str(b.dtype).split(".")[-1]
        assert a.tolist() == b.tolist()
    for total, lengths in ((11, [0.5, 0.25, 0.25]), (10, [0.3, 0.3, 0.4]), (7, [3, 4])):
        sizes = [len(part) for part in data.random_split(range(total), lengths)]
        assert sizes == [len(p) for p in torch.utils.data.random_split(range(total), lengths)]
