"""Every public name of torch.nn is here, or there is a reason why not."""

import importlib
import inspect
import pkgutil

import pytest

from flambeau import nn

DEPRECATED = "deprecated in PyTorch"
QUANTIZED = "quantized modules are not planned"
#: Names of torch.nn that are not here -> why.
ABSENT = {
    **dict.fromkeys(("Container", "NLLLoss2d"), DEPRECATED),
    **dict.fromkeys(("intrinsic", "qat", "quantizable", "quantized"), QUANTIZED),
}
#: Methods of torch.nn.Module that are not here -> why.
ABSENT_METHODS = {
    **dict.fromkeys(("ipu", "mtia", "xpu"), "devices without a backend; to() takes any"),
}
#: Files of torch.nn.modules that are not here -> why.
ABSENT_FILES = {"_functions", "utils", "linear_cross_entropy", "linear_cross_entropy_options"}


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch")


@pytest.mark.oracle
def test_names_of_nn(torch):
    names = {name for name in dir(torch.nn) if name[0] != "_"}
    assert {name for name in names if not hasattr(nn, name)} == set(ABSENT) & names
    assert set(torch.nn.modules.__all__) - set(nn.__all__) - set(ABSENT) == set()


@pytest.mark.oracle
def test_methods_of_modules(torch):
    missing = {
        name
        for name, value in vars(torch.nn.Module).items()
        if callable(value) and name[0] != "_" and not hasattr(nn.Module, name)
    }
    assert missing == set(ABSENT_METHODS)


@pytest.mark.oracle
def test_arguments_of_methods(torch):
    for name, theirs in vars(torch.nn.Module).items():
        if name[0] == "_" or not inspect.isfunction(theirs) or name in (*ABSENT_METHODS, "forward"):
            continue
        mine = inspect.signature(getattr(nn.Module, name)).parameters
        assert list(mine) == list(inspect.signature(theirs).parameters), name


@pytest.mark.oracle
def test_files_of_modules(torch):
    """Files have PyTorch's names; what they hold is in them or in another one, and in nn."""
    found = 0
    for file in pkgutil.iter_modules(torch.nn.modules.__path__):
        if file.name in ABSENT_FILES:
            continue
        theirs = importlib.import_module(f"torch.nn.modules.{file.name}")
        mine = importlib.import_module(f"flambeau.nn.modules.{file.name}")
        names = set(getattr(theirs, "__all__", ()))
        assert names <= {*nn.__all__, *ABSENT, *vars(mine)}, file.name
        found += len(names & vars(mine).keys())
    assert found > 120


def test_what_is_exported():
    assert len(nn.__all__) == len(set(nn.__all__))
    for name in nn.__all__:
        assert getattr(nn, name) is not None


def test_names_from_the_folder_of_modules():
    from flambeau.nn import modules
    from flambeau.nn.modules import Conv2d

    assert Conv2d is nn.Conv2d
    assert modules.Module is nn.Module
    with pytest.raises(AttributeError, match="no attribute 'Quantized'"):
        _ = modules.Quantized


def test_all_modules_of_the_folder():
    found = importlib.import_module("flambeau.nn.modules").__all__
    assert {"Linear", "Conv2d", "Module", "CrossEntropyLoss"} <= set(found)
    assert "Parameter" not in found and all(issubclass(getattr(nn, n), nn.Module) for n in found)
