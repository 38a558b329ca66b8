"""Batch normalization inside functions that are transformed."""
import pytest

import flambeau as fl
from flambeau import func, nn


def _gradients(model):
    return func.grad(lambda p: func.functional_call(model, p, (fl.ones(4, 3),)).sum())(
        dict(model.named_parameters()))


def test_counting_batches_is_refused_until_it_is_replaced():
    model = nn.Sequential(nn.Linear(3, 3), nn.Sequential(nn.BatchNorm1d(3)))
    with pytest.raises(RuntimeError, match="mutate a captured Tensor"):
        _gradients(model)
    assert func.replace_all_batch_norm_modules_(model) is model
    assert model[1][0].running_mean is None and model[1][0].running_var is None
    assert model[1][0].num_batches_tracked is None
    assert _gradients(model)["1.0.bias"].tolist() == [4.0, 4.0, 4.0]


def test_instance_normalization_keeps_its_statistics():
    norm = nn.InstanceNorm1d(3, track_running_stats=True)
    assert func.replace_all_batch_norm_modules_(norm).running_mean is not None
