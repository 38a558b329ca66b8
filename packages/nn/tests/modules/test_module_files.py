"""Whole modules in files: their own, and PyTorch's."""

from __future__ import annotations

import copy
import io
import warnings

import pytest

import flambeau
from flambeau import nn, serialization


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 3)
        self.same = self.first
        self.activation = nn.functional.relu
        self.register_buffer("count", flambeau.zeros(1), persistent=False)

    def forward(self, x):
        return self.activation(self.same(x))


def again(obj, format=None, **options):
    file = io.BytesIO()
    flambeau.save(obj, file, format=format)
    file.seek(0)
    return flambeau.load(file, **options)


@pytest.mark.parametrize("format", ("flambeau", "torch"))
def test_modules_come_back_whole(format):
    net = Net().eval()
    x = flambeau.randn(4, 2)
    loaded = again({"net": net, "weight": net.first.weight}, format, weights_only=False)
    other = loaded["net"]
    assert other(x).tolist() == net(x).tolist()
    assert other.same is other.first and not other.training
    assert loaded["weight"] is other.first.weight
    assert list(other.state_dict()) == list(net.state_dict())
    with pytest.raises(flambeau.core.io.FileError, match="test_module_files.Net"):
        again(net, format)
    with serialization.safe_globals([Net, nn.Linear, nn.functional.relu]):
        assert again(net, format)(x).tolist() == net(x).tolist()


def _cases():
    import torch
    n = torch.nn
    return [
        (n.Linear(3, 4), (2, 3)), (n.LSTM(3, 4, 2, bidirectional=True), (5, 2, 3)),
        (n.Conv2d(3, 4, 3, padding=1, padding_mode="circular"), (1, 3, 5, 5)),
        (n.Conv1d(2, 2, 3, padding="same"), (1, 2, 6)), (n.GRU(3, 4), (5, 2, 3)),
        (n.ConvTranspose2d(3, 4, 3), (1, 3, 5, 5)), (n.BatchNorm2d(3), (2, 3, 4, 4)),
        (n.LayerNorm(3), (2, 3)), (n.GroupNorm(1, 3), (2, 3, 4)), (n.PReLU(), (2, 3)),
        (n.InstanceNorm2d(3, affine=True), (2, 3, 4, 4)), (n.MaxPool2d(2), (1, 2, 4, 4)),
        (n.TransformerEncoderLayer(4, 2, dropout=0.0), (3, 2, 4)), (n.Hardtanh(), (2, 3)),
        (n.Sequential(n.Linear(3, 3), n.ReLU(), n.Dropout(0.0)), (2, 3)),
        (n.Unfold(2), (1, 2, 4, 4)),
        (n.Upsample(scale_factor=2), (1, 2, 4, 4)), (n.AdaptiveAvgPool2d((2, None)), (1, 2, 4, 4)),
        (n.LSTMCell(3, 4), (2, 3)), (n.ModuleDict({"a": n.Linear(2, 2)}), None),
        (n.ParameterList([n.Parameter(torch.ones(2))]), None), (n.EmbeddingBag(5, 3), None),
        (n.MultiheadAttention(4, 2), None), (n.CrossEntropyLoss(label_smoothing=0.1), None),
    ]


@pytest.mark.oracle
@pytest.mark.parametrize("number", range(24))
def test_modules_that_pytorch_saved(number):
    torch = pytest.importorskip("torch")

    module, shape = _cases()[number]
    module.eval()
    for new in (True, False):
        file = io.BytesIO()
        torch.save(module, file, _use_new_zipfile_serialization=new)
        file.seek(0)
        loaded = flambeau.load(file, weights_only=False)
        assert type(loaded).__name__ == type(module).__name__
        assert list(loaded.state_dict()) == list(module.state_dict())
        copy.deepcopy(loaded).train()
        assert repr(again(loaded, weights_only=False)) == repr(loaded)
        if shape:
            x = torch.randn(shape)
            ours, theirs = loaded(flambeau.tensor(x.numpy())), module(x)
            if isinstance(theirs, tuple):
                ours, theirs = ours[0], theirs[0]
            assert torch.allclose(torch.tensor(ours.tolist()), theirs, atol=1e-5)


def test_hooks_of_pytorch_are_left_out_with_a_warning():
    state = {"training": True, "_parameters": {}, "_buffers": {}, "_modules": {"a": nn.ReLU()},
             "_forward_hooks": {0: print}, "_backward_hooks": {}, "size": 3}
    module = nn.Module.__new__(nn.Module)
    with pytest.warns(UserWarning, match="hooks of a pickled module.*_forward_hooks"):
        module.__setstate__(state)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(dict(module.named_children())) == ["a"] and module.size == 3


def _train(module, steps):
    for _ in range(steps):
        with flambeau.no_grad():
            module.weight += 1
            module.count += 1


@pytest.mark.parametrize("method", ("fork", "spawn"))
def test_processes_train_one_module(method):
    import flambeau.multiprocessing as mp

    module = nn.Linear(2, 2)
    module.register_buffer("count", flambeau.zeros(1))
    nn.init.zeros_(module.weight)
    assert module.share_memory() is module and module.weight.is_shared()
    context = mp.get_context(method)
    process = context.Process(target=_train, args=(module, 3))
    process.start()
    process.join()
    assert process.exitcode == 0
    assert module.weight.tolist() == [[3, 3], [3, 3]] and module.count.item() == 3
