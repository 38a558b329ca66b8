"""Training steps that are replayed without Python, against the same steps run as they are."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import flambeau
import flambeau.nn.functional as F
from flambeau import nn, optim


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(width)

    def forward(self, x):
        return F.relu(self.norm(self.conv(x)) + x)


class Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        n, length, width = x.shape
        size = (n, length, 3, self.heads, width // self.heads)
        q, k, v = self.qkv(self.norm(x)).view(*size).permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return x + self.out(y.transpose(1, 2).reshape(n, length, width))


class Language(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.at = nn.Embedding(11, 8), nn.Embedding(6, 8)
        self.blocks = nn.ModuleList([Attention(8, 2) for _ in range(2)])
        self.drop, self.head = nn.Dropout(0.2), nn.Linear(8, 11, bias=False)

    def forward(self, ids):
        x = self.drop(self.tokens(ids) + self.at(flambeau.arange(ids.shape[1])))
        for block in self.blocks:
            x = block(x)
        return self.head(x).flatten(0, 1)


class Chars(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.body = nn.Embedding(11, 6), nn.LSTM(6, 7, batch_first=True)
        self.head = nn.Linear(7, 11)

    def forward(self, ids):
        return self.head(self.body(self.embed(ids))[0]).flatten(0, 1)


class Coder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down, self.up = nn.Linear(12, 3), nn.Linear(3, 12)

    def forward(self, x):
        mean = self.down(x)
        noise = flambeau.randn_like(mean) * 0.1
        return self.up((mean + noise).tanh())


def _conv() -> Any:
    return nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                         nn.Linear(64, 5))


def _residual() -> Any:
    return nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), Block(4), Block(4),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 5))


def _dense() -> Any:
    return nn.Sequential(nn.Linear(12, 9), nn.GELU(), nn.Dropout(0.3), nn.Linear(9, 5))


def _images() -> Any:
    return flambeau.randn(3, 1, 8, 8), flambeau.tensor([1, 0, 4])


def _rows() -> Any:
    return flambeau.randn(3, 12), flambeau.tensor([1, 0, 4])


def _ids() -> Any:
    return flambeau.randint(0, 11, (2, 6)), flambeau.randint(0, 11, (12,))


def _same() -> Any:
    x = flambeau.randn(3, 12)
    return x, x.clone()


FAMILIES = {
    "dense": (_dense, _rows, F.cross_entropy),
    "convolution": (_conv, _images, F.cross_entropy),
    "residual": (_residual, _images, F.cross_entropy),
    "language": (Language, _ids, F.cross_entropy),
    "chars": (Chars, _ids, F.cross_entropy),
    "coder": (Coder, _same, lambda y, t: F.mse_loss(y, t) + y.square().mean() * 1e-3),
    "encoder": (lambda: nn.Sequential(
        nn.TransformerEncoderLayer(12, 2, 16, 0.1, batch_first=True), nn.Linear(12, 5)), _rows,
        F.cross_entropy),
    "norms": (lambda: nn.Sequential(nn.Linear(12, 8), nn.BatchNorm1d(8), nn.SiLU(),
                                    nn.LayerNorm(8), nn.Linear(8, 5)), _rows, F.cross_entropy),
}
OPTIMIZERS = {
    "sgd": lambda p: optim.SGD(p, lr=0.1),
    "momentum": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=1e-3),
    "adam": lambda p: optim.Adam(p, lr=0.01),
    "adamw": lambda p: optim.AdamW(p, lr=0.01),
}


class Trainer:
    """A model, an optimizer, a schedule and a batch, the same for the same seed."""

    def __init__(self, family: str, optimizer: str, replay: bool) -> None:
        model, batch, self.loss = FAMILIES[family]
        flambeau.manual_seed(0)
        self.model = model()
        self.optimizer = OPTIMIZERS[optimizer](self.model.parameters())
        self.schedule = optim.lr_scheduler.StepLR(self.optimizer, 2, 0.5)
        self.x, self.y = batch()
        step = self.step
        self.run = flambeau.compile(step, replay=True, check_every=4) if replay else step
        self.generator = flambeau.get_rng_state()

    def step(self, x, y):
        self.optimizer.zero_grad()
        loss = self.loss(self.model(x), y)
        loss.backward()
        self.optimizer.step()
        return loss

    def once(self, inside: Any = None) -> Any:
        """A step with this trainer's own random numbers."""
        flambeau.set_rng_state(self.generator)
        loss = self.run(self.x, self.y)
        self.schedule.step()
        self.generator = flambeau.get_rng_state()
        return loss

    def state(self) -> dict[str, Any]:
        """All that a step may change."""
        found = dict(self.model.state_dict())
        for name, param in self.model.named_parameters():
            found[f"{name}.grad"] = param.grad
            found[f"{name}.version"] = param._version
            for key, value in self.optimizer.state[param].items():
                found[f"{name}.{key}"] = value
        found["steps"] = (self.optimizer._step_count, self.optimizer.param_groups[0]["lr"])
        found["generator"] = self.generator
        return found


def assert_same(a: Any, b: Any) -> None:
    assert type(a) is type(b)
    if isinstance(a, dict):
        assert list(a) == list(b)
        for key in a:
            assert_same(a[key], b[key])
    elif isinstance(a, flambeau.Tensor):
        assert (a.dtype, a.shape, a.stride(), a.requires_grad, a.is_leaf) == \
            (b.dtype, b.shape, b.stride(), b.requires_grad, b.is_leaf)
        assert a.detach().numpy().tobytes() == b.detach().numpy().tobytes()
    else:
        assert a == b


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("family", FAMILIES)
def test_ten_steps_are_those_of_python(family, optimizer):
    plain, replayed = Trainer(family, optimizer, False), Trainer(family, optimizer, True)
    for _ in range(10):
        assert_same(plain.once(), replayed.once())
        assert_same(plain.state(), replayed.state())
    assert "replayed" in replayed.run.explain() and "not replayed" not in replayed.run.explain()


def test_what_changes_between_steps_is_noticed():
    plain, replayed = Trainer("norms", "adamw", False), Trainer("norms", "adamw", True)
    saved = copy.deepcopy(plain.model.state_dict())

    def change(trainer: Trainer, k: int) -> None:
        if k == 3:
            trainer.model.eval()
        if k == 5:
            trainer.model.train()
            trainer.x, trainer.y = trainer.x[:2].clone(), trainer.y[:2].clone()
        if k == 7:
            trainer.model.load_state_dict(saved)
        if k == 8:
            trainer.optimizer.param_groups[0]["lr"] = 0.3
        if k == 9:
            trainer.model[0].weight.data = trainer.model[0].weight.data * 2
        if k == 11:
            trainer.model[0].weight.requires_grad_(False)
        if k == 13:
            trainer.model[0].weight.requires_grad_(True)
            trainer.model[2] = nn.ReLU()
        if k == 15:
            trainer.loss = F.multi_margin_loss
        if k == 17:
            trainer.model[0].bias.register_hook(lambda g: g * 2)
        if k == 19:
            trainer.optimizer.load_state_dict(trainer.optimizer.state_dict())

    for k in range(22):
        change(plain, k)
        change(replayed, k)
        assert_same(plain.once(), replayed.once())
        assert_same(plain.state(), replayed.state())


def test_gradients_add_up_where_nobody_clears_them():
    def step(model, x):
        loss = model(x).square().mean()
        loss.backward()
        return loss

    flambeau.manual_seed(1)
    one = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2))
    other = copy.deepcopy(one)
    run = flambeau.compile(step, replay=True)
    x = flambeau.randn(5, 4)
    for k in range(8):
        if k == 5:
            one.zero_grad()
            other.zero_grad()
        assert_same(step(one, x), run(other, x))
        for a, b in zip(one.parameters(), other.parameters(), strict=True):
            assert_same(a.grad, b.grad)


def test_losses_that_are_kept_keep_their_own():
    trainer = Trainer("dense", "sgd", True)
    losses = [trainer.once() for _ in range(9)]
    assert len({loss.item() for loss in losses}) == 9
    with pytest.raises(RuntimeError, match="second time"):
        losses[-1].backward()


def test_modules_compiled_for_reduced_overhead():
    flambeau.manual_seed(2)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)).eval()
    fast = flambeau.compile(model, mode="reduce-overhead")
    x = flambeau.randn(3, 4)
    with flambeau.no_grad():
        for _ in range(5):
            assert_same(model(x), fast(x))
            assert_same(model(x * 2), fast(x * 2))
            model[0].weight.mul_(1.5)
        assert "kernels" in fast.explain()
