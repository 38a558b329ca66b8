"""Arguments, defaults and public names are those of PyTorch."""

import importlib
import inspect

import pytest

from flambeau import optim
from flambeau.optim import lr_scheduler, swa_utils

pytestmark = pytest.mark.oracle


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch")


def arguments(function):
    """Names, kinds and defaults; what is required stands for itself."""
    parameters = inspect.signature(function).parameters.values()
    return [(p.name, p.kind, p.default) for p in parameters]


CLASSES = [
    *((optim, "optim", name) for name in sorted(optim.__all__) if name[0].isupper()),
    *((lr_scheduler, "optim.lr_scheduler", name) for name in sorted(lr_scheduler.__all__)),
    *((swa_utils, "optim.swa_utils", name) for name in ("SWALR", "get_ema_avg_fn")),
]
ELSEWHERE = {"GradScaler"}


@pytest.mark.parametrize(
    ("mine", "theirs", "name"),
    [case for case in CLASSES if case[2] not in ELSEWHERE],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_arguments(torch, mine, theirs, name):
    for part in theirs.split("."):
        torch = getattr(torch, part)
    if hasattr(torch, name):    # the others are ours alone
        assert arguments(getattr(mine, name)) == arguments(getattr(torch, name))


def test_arguments_of_the_scaler(torch):
    theirs = torch.amp.GradScaler
    assert arguments(optim.GradScaler) == arguments(theirs)
    for name in ("scale", "unscale_", "step", "update", "load_state_dict", "set_growth_factor"):
        own = [p[:2] for p in arguments(getattr(optim.GradScaler, name))]
        assert own == [p[:2] for p in arguments(getattr(theirs, name))]


def test_names(torch):
    assert set(torch.optim.__all__) <= set(optim.__all__)
    assert set(torch.optim.lr_scheduler.__all__) <= set(lr_scheduler.__all__)
    assert set(torch.optim.swa_utils.__all__) <= set(swa_utils.__all__)


def test_names_of_files(torch):
    for name in ("adamw.AdamW", "adam.Adam", "sgd.SGD", "optimizer.ParamsT", "optimizer.required"):
        module, _, member = name.partition(".")
        for library in ("flambeau", "torch"):
            assert hasattr(importlib.import_module(f"{library}.optim.{module}"), member)


def test_methods(torch):
    for kind in (
        (optim.Optimizer, torch.optim.Optimizer),
        (optim.LBFGS, torch.optim.LBFGS),
        (lr_scheduler.LRScheduler, torch.optim.lr_scheduler.LRScheduler),
        (lr_scheduler.ReduceLROnPlateau, torch.optim.lr_scheduler.ReduceLROnPlateau),
        (optim.GradScaler, torch.amp.GradScaler),
    ):
        mine, theirs = ({name for name in dir(c) if name[0] != "_"} for c in kind)
        # Names of types in annotations, and an inner function that PyTorch leaves visible.
        hidden = {"OptimizerPreHook", "OptimizerPostHook", "profile_hook_step"}
        assert theirs - hidden <= mine
