"""Files of whole modules, which name classes as PyTorch does."""
from __future__ import annotations

import io
import pickletools
import zipfile

import pytest

import flambeau
from flambeau import nn
from flambeau.core.io import FileError

PERMITTED = [nn.TransformerEncoderLayer, nn.MultiheadAttention, nn.Dropout, nn.Linear,
             nn.modules.linear.NonDynamicallyQuantizableLinear, nn.LayerNorm, nn.ConvTranspose2d,
             nn.ModuleList, nn.CrossEntropyLoss, nn.functional.relu]


def saved():
    modules = [nn.TransformerEncoderLayer(8, 2, 16), nn.ConvTranspose2d(2, 3, 3),
               nn.CrossEntropyLoss()]
    file = io.BytesIO()
    flambeau.save(nn.ModuleList(modules), file, format="torch")
    file.seek(0)
    return file


def test_classes_have_pytorchs_names():
    with zipfile.ZipFile(saved()) as archive:
        pickle = archive.read(next(n for n in archive.namelist() if n.endswith("data.pkl")))
    named = {argument for code, argument, _ in pickletools.genops(pickle) if code.name == "GLOBAL"}
    assert {f"torch.nn.modules.{name}" for name in (
        "transformer TransformerEncoderLayer", "activation MultiheadAttention",
        "linear NonDynamicallyQuantizableLinear", "conv ConvTranspose2d",
        "loss CrossEntropyLoss")} <= named


def test_permitted_classes_are_known_by_both_names():
    with flambeau.serialization.safe_globals(PERMITTED):
        modules = flambeau.load(saved())
    assert [type(each) for each in modules] == [
        nn.TransformerEncoderLayer, nn.ConvTranspose2d, nn.CrossEntropyLoss]
    with flambeau.serialization.safe_globals(PERMITTED[1:]), \
            pytest.raises(FileError, match="TransformerEncoderLayer"):
        flambeau.load(saved())
