"""Names and files that programs import from other modules, and wrappers for several GPUs."""

import warnings

import pytest

import flambeau
from flambeau import nn

IMPORTS = """import flambeau.nn.parallel
from flambeau.nn.modules.utils import _pair, _ntuple, _single, _triple
from flambeau.nn.modules.utils import consume_prefix_in_state_dict_if_present
from flambeau.nn.common_types import _size_2_t
from flambeau.nn.modules.batchnorm import LazyBatchNorm2d, _BatchNorm
from flambeau.nn.modules.conv import ConvTranspose2d, _ConvNd
from flambeau.nn.modules.loss import _Loss, _WeightedLoss
from flambeau.nn.modules.linear import Bilinear, NonDynamicallyQuantizableLinear
from flambeau.nn.modules.pooling import AdaptiveAvgPool2d, MaxUnpool2d
from flambeau.nn.modules.rnn import GRUCell, LSTMCell
from flambeau.nn.modules.activation import MultiheadAttention
from flambeau.nn.modules.container import ParameterDict
from flambeau.utils.hooks import RemovableHandle
from flambeau.utils.data.dataloader import DataLoader, default_collate, get_worker_info
from flambeau.utils.data.dataset import random_split
from flambeau.utils.data._utils.collate import default_collate"""


@pytest.mark.parametrize("line", IMPORTS.splitlines())
def test_lines_of_programs_import(line):
    names: dict = {}
    exec(line, names)
    assert len(names) > 1   # beside __builtins__


def test_names_of_files_are_those_of_nn():
    from flambeau.nn.modules import conv, loss

    assert conv.ConvTranspose2d is nn.ConvTranspose2d
    assert issubclass(nn.BCELoss, loss._WeightedLoss)
    assert issubclass(nn.MSELoss, loss._Loss)


def test_sizes_are_spread():
    from flambeau.nn.modules.utils import _pair, _reverse_repeat_tuple

    assert (_pair(3), _pair([1, 2])) == ((3, 3), (1, 2))
    assert _reverse_repeat_tuple((1, 2), 2) == (2, 2, 1, 1)


def test_a_prefix_is_taken_off_keys():
    net = nn.Linear(2, 1)
    state = nn.DataParallel(net).state_dict()
    assert list(state) == ["module.weight", "module.bias"]
    nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    assert list(state) == ["weight", "bias"]
    assert nn.Linear(2, 1).load_state_dict(state).missing_keys == []


def test_data_parallel_is_the_network():
    net = nn.Linear(2, 3)
    x = flambeau.ones(4, 2)
    wrapped = nn.DataParallel(net, device_ids=[0])
    assert wrapped.module is net
    assert flambeau.equal(wrapped(x), net(x))
    assert flambeau.equal(nn.parallel.data_parallel(net, x), net(x))
    assert not isinstance(net, nn.parallel.DistributedDataParallel)


def test_several_gpus_are_refused():
    with pytest.raises(ValueError, match=r"device_ids=\[0, 1\] asks for 2"):
        nn.DataParallel(nn.Linear(1, 1), [0, 1])


def test_distributed_training_of_one_process_is_that_of_the_network():
    net = nn.Linear(2, 3)
    with pytest.raises(ValueError, match="call init_process_group"):
        nn.parallel.DistributedDataParallel(net)
    flambeau.distributed.init_process_group("gloo", world_size=1, rank=0)
    try:
        wrapped = nn.parallel.DistributedDataParallel(net, device_ids=[0], static_graph=True)
    finally:
        flambeau.distributed.destroy_process_group()
    with wrapped.no_sync():
        assert flambeau.equal(wrapped(flambeau.ones(4, 2)), net(flambeau.ones(4, 2)))
    assert list(wrapped.state_dict()) == ["module.weight", "module.bias"]


def test_initializations_without_an_underscore_warn():
    x = flambeau.empty(2)
    with pytest.warns(FutureWarning, match="in favor of nn.init.constant_"):
        assert nn.init.constant(x, 2.0) is x
    assert x.tolist() == [2.0, 2.0]
    names = [name for name in vars(nn.init) if name.endswith("_") and name[0] != "_"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in set(names) - {"fan_in_uniform_", "trunc_normal_", "ones_", "zeros_"}:
            with pytest.raises((FutureWarning, TypeError)):
                getattr(nn.init, name[:-1])(x)


def test_the_older_name_of_clipping_warns():
    weight = nn.Parameter(flambeau.tensor([3.0, 4.0]))
    weight.grad = flambeau.tensor([3.0, 4.0])
    with pytest.warns(FutureWarning, match="clip_grad_norm_"):
        assert nn.utils.clip_grad_norm([weight], 1.0) == 5.0
    assert weight.grad.norm() <= 1.0
