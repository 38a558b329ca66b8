"""Sound, compression, clicks, atoms: cases are named after the libraries."""

from __future__ import annotations

from typing import Any

import numpy
import torch
from worker import fill, gradients, numbers


def run(net: Any, *inputs: Any) -> list[Any]:
    """What a network gives, and the gradients of the sum of its squares."""
    out = fill(net).eval()(*inputs)
    out.square().sum().backward()
    return [out, gradients(net)]


def deepctr_torch() -> Any:
    from deepctr_torch.inputs import DenseFeat, SparseFeat
    from deepctr_torch.models import DCN, IFM, NFM, WDL, AutoInt, DCNMix, DeepFM, FiBiNET, xDeepFM

    columns = [SparseFeat("a", 10, 4), SparseFeat("b", 5, 4), DenseFeat("c", 1)]
    rows = numpy.arange(32)
    data = {"a": rows % 10, "b": rows % 5, "c": numpy.linspace(0, 1, 32, dtype="float32")}
    found = []
    for kind in (DeepFM, DCN, xDeepFM, AutoInt, NFM, WDL, FiBiNET, DCNMix, IFM):
        net = fill(kind(columns, columns, task="binary", device="cpu"))
        net.compile("adam", "binary_crossentropy", metrics=["binary_crossentropy", "auc"])
        past = net.fit(data, (rows % 2).astype("float32"), batch_size=8, epochs=2, verbose=0,
                       shuffle=False)
        found.append([net.predict(data, 8), [float(v[-1]) for v in past.history.values()]])
    return found


def torcheval() -> Any:
    from torcheval import metrics
    from torcheval.metrics import functional as F

    scores, classes = numbers(40, 5), torch.arange(40) % 5
    entropy = metrics.BinaryNormalizedEntropy()
    entropy.update(scores[:, 0].sigmoid(), (classes % 2).float())
    return [
        F.multiclass_accuracy(scores, classes, average=None, num_classes=5),
        F.multiclass_f1_score(scores, classes, average="macro", num_classes=5),
        F.multiclass_auroc(scores, classes, num_classes=5),
        F.binary_auprc(scores[:, 0], classes % 2),
        F.multiclass_confusion_matrix(scores, classes, 5),
        F.r2_score(scores[:, 0], scores[:, 1]),
        F.multiclass_precision_recall_curve(scores.softmax(1), classes, num_classes=5),
        F.bleu_score(["a b c d e"], ["a b c d f"], n_gram=2), entropy.compute()]


def compressai() -> Any:
    from compressai import models

    found = []
    for name in ("FactorizedPrior", "ScaleHyperprior", "MeanScaleHyperprior",
                 "JointAutoregressiveHierarchicalPriors"):
        net = fill(getattr(models, name)(8, 12)).eval()
        out = net(numbers(1, 3, 64, 64).sigmoid())
        bits = sum(v.clamp_min(1e-9).log().sum() for v in out["likelihoods"].values())
        (bits + out["x_hat"].sum()).backward()
        found.append([out, gradients(net), net.aux_loss()])
    return found


def encodec() -> Any:
    from encodec import EncodecModel

    net = fill(EncodecModel._get_model([1.5, 3.0, 6.0], 24000, 1, causal=True,
                                       model_norm="weight_norm", audio_normalize=False)).eval()
    net.set_target_bandwidth(3.0)
    sound = numbers(1, 1, 2400) * 0.1
    with torch.no_grad():
        frames = net.encode(sound)
        return frames[0][0], net.decode(frames), net(sound)


def vocos() -> Any:
    from vocos import Vocos, feature_extractors, heads, models

    mel = feature_extractors.MelSpectrogramFeatures(8000, n_fft=256, hop_length=64, n_mels=20)
    net = Vocos(mel, fill(models.VocosBackbone(20, 16, 32, 2)),
                fill(heads.ISTFTHead(16, 256, 64, padding="same")))
    return net.eval()(numbers(1, 2000) * 0.1)


def demucs() -> Any:
    from demucs.demucs import Demucs
    from demucs.htdemucs import HTDemucs

    waves = Demucs(["a", "b"], audio_channels=1, channels=4, depth=3, lstm_layers=1, rescale=0)
    both = HTDemucs(["a", "b"], audio_channels=1, channels=8, depth=2, t_layers=2, t_heads=2,
                    nfft=512, segment=1, samplerate=2000, bottom_channels=16, rescale=0)
    return (run(waves, numbers(1, 1, 3000) * 0.1), run(both, numbers(1, 1, 2000) * 0.1))


def torchdyn() -> Any:
    from torchdyn.core import NeuralODE

    field = fill(torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.Tanh(),
                                     torch.nn.Linear(16, 2)))
    found = []
    for solver in ("euler", "rk4", "dopri5"):
        for sensitivity in ("autograd", "adjoint"):
            net = NeuralODE(field, sensitivity=sensitivity, solver=solver, atol=1e-4, rtol=1e-4)
            _, path = net(numbers(5, 2), torch.linspace(0, 1, 5))
            path[-1].sum().backward()
            found.append([path, gradients(field)])
            field.zero_grad()
    return found


def torch_audiomentations() -> Any:
    from torch_audiomentations import Gain, HighPassFilter, LowPassFilter, PolarityInversion

    torch.manual_seed(0)
    return [kind(p=1.0, output_type="tensor")(numbers(2, 1, 1600) * 0.1, sample_rate=16000)
            for kind in (Gain, PolarityInversion, LowPassFilter, HighPassFilter)]


def lycoris_lora() -> Any:
    from lycoris import LycorisNetwork, create_lycoris

    LycorisNetwork.apply_preset({"target_module": ["Linear"], "target_name": [".*"]})
    found = []
    for kind in ("lora", "loha", "lokr", "full", "diag-oft", "boft", "glora"):
        torch.manual_seed(0)
        net = fill(torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(),
                                       torch.nn.Linear(32, 8)))
        adapted = create_lycoris(net, 1.0, linear_dim=4, linear_alpha=2.0, algo=kind)
        adapted.apply_to()
        fill(adapted)
        out = net(numbers(3, 16))
        out.square().sum().backward()
        found.append([out, gradients(adapted)])
    return found


def torch_fidelity() -> Any:
    from torch_fidelity import metric_fid as fid

    features = numbers(60, 8), numbers(60, 8, seed=4) + 0.3
    return fid.fid_statistics_to_metric(*map(fid.fid_features_to_statistics, features), False)


def gluonts() -> Any:
    from gluonts.torch.distributions import StudentTOutput
    from gluonts.torch.model.simple_feedforward.module import SimpleFeedForwardModel

    net = fill(SimpleFeedForwardModel(prediction_length=4, context_length=8,
                                      hidden_dimensions=[8]))
    arguments, place, scale = net(numbers(3, 8))
    chance = StudentTOutput().distribution(arguments, place, scale)
    return place, scale, chance.log_prob(numbers(3, 4, seed=3)), chance.mean


def hqq() -> Any:
    from hqq.core.quantize import BaseQuantizeConfig, HQQLinear

    found = []
    for bits in (8, 4, 2):
        layer = HQQLinear(fill(torch.nn.Linear(128, 64)),
                          BaseQuantizeConfig(nbits=bits, group_size=64),
                          compute_dtype=torch.float32, device="cpu")
        found.append([layer(numbers(4, 128)), layer.dequantize()])
    return found


CASES = {function.__name__: function for function in (
    deepctr_torch, torcheval, compressai, encodec, vocos, demucs, torchdyn, torch_audiomentations,
    lycoris_lora, torch_fidelity, gluonts, hqq)}
