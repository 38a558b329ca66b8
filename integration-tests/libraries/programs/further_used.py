"""More libraries in their main use: cases are named after the libraries."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from worker import fill, numbers, trained


def classes(*shape: int, most: int = 3) -> Any:
    """Numbers of classes."""
    return torch.arange(torch.Size(shape).numel()).mul(7).remainder(most).reshape(shape)


def layers() -> Any:
    """A small network."""
    return fill(nn.Sequential(nn.Linear(4, 6), nn.Sigmoid(), nn.Linear(6, 3)))


def loss(net: Any) -> Any:
    return nn.functional.cross_entropy(net(numbers(6, 4)), classes(6))


def used(net: Any, *given: Any) -> list[Any]:
    """Results, gradients and ten steps of a network that gives one tensor."""
    fill(net).train()
    return trained(net, lambda net: (net(*given).float() ** 2).mean())


def pykeen() -> Any:
    # The first: it refuses optimizers of the same name, which others below define.
    from pykeen.models import ComplEx, DistMult, RotatE, TransE
    from pykeen.triples import TriplesFactory

    triples = torch.stack([classes(12, most=5), classes(12, most=2), classes(12, most=4)], 1)
    factory = TriplesFactory(triples.numpy(), {str(i): i for i in range(5)},
                             {str(i): i for i in range(2)})
    found = []
    for kind in (TransE, DistMult, ComplEx, RotatE):
        net = kind(triples_factory=factory, embedding_dim=4, random_seed=0)
        value = net.score_hrt(triples).square().sum()
        value.backward()
        found.append([value, [each.grad.abs().sum() for each in net.parameters()]])
    return found


def higher() -> Any:
    import higher

    net = layers()
    inner = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)
    with higher.innerloop_ctx(net, inner, copy_initial_weights=False) as (fast, steps):
        for _ in range(3):
            steps.step(loss(fast))
        value = loss(fast)
        value.backward()
    adam = torch.optim.Adam(net.parameters(), 0.1)
    with higher.innerloop_ctx(net, adam, override={"lr": [0.05]}) as (fast, steps):
        steps.step(loss(fast))
        second = torch.autograd.grad(loss(fast), fast.parameters(time=0))
    lstm = fill(nn.LSTM(3, 4))
    with higher.innerloop_ctx(lstm, torch.optim.SGD(lstm.parameters(), 0.1)) as (fast, steps):
        steps.step(fast(numbers(5, 2, 3))[0].square().sum())
        third = fast(numbers(5, 2, 3))[0]
    return value, [each.grad for each in net.parameters()], list(second), third


def adabelief_pytorch() -> Any:
    from adabelief_pytorch import AdaBelief

    net = layers()
    return trained(net, loss, AdaBelief(net.parameters(), lr=1e-2, eps=1e-8, betas=(0.9, 0.999),
                                        print_change_log=False))


def prodigyopt() -> Any:
    from prodigyopt import Prodigy

    net = layers()
    return trained(net, loss, Prodigy(net.parameters(), lr=1.0))


def piq() -> Any:
    import piq

    x, y = numbers(2, 3, 64, 64).sigmoid().requires_grad_(), numbers(2, 3, 64, 64, seed=2).sigmoid()
    values = [piq.ssim(x, y), piq.psnr(x, y), piq.total_variation(x), piq.gmsd(x, y),
              piq.mdsi(x, y), piq.haarpsi(x, y), piq.srsim(x, y)]
    sum(values).backward()
    return values, x.grad


def lightly() -> Any:
    from lightly import loss as kinds
    from lightly.models.modules import SimCLRProjectionHead

    head = fill(SimCLRProjectionHead(8, 8, 4))
    x, y = head(numbers(6, 8)), head(numbers(6, 8, seed=2))
    values = [kinds.NTXentLoss()(x, y), kinds.BarlowTwinsLoss()(x, y), kinds.VICRegLoss()(x, y),
              kinds.NegativeCosineSimilarity()(x, y), kinds.DCLLoss()(x, y)]
    sum(values).backward()
    return values, [each.grad for each in head.parameters()]


def monai() -> Any:
    from monai.losses import DiceCELoss, FocalLoss
    from monai.networks.nets import UNETR, UNet

    net = fill(UNet(spatial_dims=2, in_channels=1, out_channels=3, channels=(4, 8, 16),
                    strides=(2, 2), num_res_units=1))
    x, y = numbers(2, 1, 32, 32), classes(2, 1, 32, 32)
    dice = DiceCELoss(to_onehot_y=True, softmax=True)
    focal = FocalLoss(to_onehot_y=True)
    deep = fill(UNETR(1, 2, (16, 16, 16), feature_size=4, hidden_size=24, mlp_dim=32, num_heads=2))
    return trained(net, lambda net: dice(net(x), y) + focal(net(x), y)), deep(
        numbers(1, 1, 16, 16, 16))


def segment_anything() -> Any:
    from segment_anything.modeling import (
        ImageEncoderViT,
        MaskDecoder,
        PromptEncoder,
        Sam,
        TwoWayTransformer,
    )

    net = fill(Sam(
        ImageEncoderViT(img_size=64, patch_size=16, embed_dim=32, depth=2, num_heads=2,
                        out_chans=16, use_rel_pos=True, window_size=2, global_attn_indexes=(1,)),
        PromptEncoder(16, (4, 4), (64, 64), 4),
        MaskDecoder(transformer_dim=16, transformer=TwoWayTransformer(2, 16, 2, 32)))).eval()
    found = net([{"image": numbers(3, 64, 64) * 50, "original_size": (60, 60),
                  "point_coords": numbers(1, 2, 2).abs() * 20,
                  "point_labels": torch.tensor([[1, 0]])}], multimask_output=True)
    return found[0]["low_res_logits"], found[0]["iou_predictions"]


def openai_whisper() -> Any:
    import whisper
    from whisper.model import ModelDimensions, Whisper

    net = fill(Whisper(ModelDimensions(n_mels=80, n_audio_ctx=20, n_audio_state=16, n_audio_head=2,
                                       n_audio_layer=2, n_vocab=51865, n_text_ctx=16,
                                       n_text_state=16, n_text_head=2, n_text_layer=2)))
    sound = whisper.log_mel_spectrogram(numbers(6400).mul(0.1))
    mel = numbers(2, 80, 40)
    words = classes(2, 6, most=100)
    return sound, trained(net, lambda net: net(mel, words).square().mean())


def facenet_pytorch() -> Any:
    from facenet_pytorch import InceptionResnetV1

    return fill(InceptionResnetV1(classify=True, num_classes=4)).eval()(numbers(2, 3, 160, 160))


def efficientnet_pytorch() -> Any:
    from efficientnet_pytorch import EfficientNet

    net = fill(EfficientNet.from_name("efficientnet-b0", num_classes=4)).eval()
    return net(numbers(2, 3, 64, 64))


def neuraloperator() -> Any:
    from neuralop.models import FNO

    net = FNO(n_modes=(4, 4), hidden_channels=8, in_channels=1, out_channels=1, n_layers=2)
    with torch.no_grad():
        for each in net.parameters():
            shape = each.shape
            each.copy_(numbers(*shape, seed=1) * 0.1 + 0j if each.is_complex() else
                       numbers(*shape, seed=2) * 0.2)
    x = numbers(2, 1, 16, 16)
    value = net(x).square().mean()
    value.backward()
    return value, [each.grad.abs() for each in net.parameters()]


def torchani() -> Any:
    from torchani.aev import AEVComputer

    made = AEVComputer.like_1x(num_species=2)
    where = (numbers(1, 5, 3) * 2).requires_grad_()
    found = made(classes(1, 5, most=2), where)
    found = found if isinstance(found, torch.Tensor) else found.aevs
    found.square().sum().backward()
    return found, where.grad


def roma() -> Any:
    import roma

    turned = roma.special_procrustes(numbers(3, 3, 3).double())
    q = roma.rotmat_to_unitquat(turned)
    return turned, q, roma.unitquat_to_rotvec(q), roma.unitquat_slerp(q, q.flip(0),
                                                                     torch.tensor([0.3]).double())


def pypose() -> Any:
    import pypose as pp

    x = pp.so3(numbers(3, 3))
    turn = x.Exp()
    points = turn.Act(numbers(3, 3, seed=2))
    return turn.tensor(), points, (turn @ turn.Inv()).Log().tensor(), turn.matrix()


def nnAudio() -> Any:
    from nnAudio import features

    x = numbers(1, 8000)
    return [features.STFT(n_fft=256, hop_length=128, output_format="Magnitude", verbose=False)(x),
            features.MelSpectrogram(sr=8000, n_fft=256, n_mels=20, hop_length=128,
                                    verbose=False)(x),
            features.MFCC(sr=8000, n_mfcc=10, n_fft=256, n_mels=20, hop_length=128,
                          verbose=False)(x)]


def torchaudio() -> Any:
    import torchaudio.functional as F
    import torchaudio.transforms as T
    from torchaudio.models import Conformer, ConvTasNet, Wav2Letter

    x = numbers(2, 3200).requires_grad_()
    low = F.lowpass_biquad(x[:, :400], 16000, 800.0)
    found = [low, T.MelSpectrogram(16000, n_fft=400, n_mels=20)(x), T.Resample(16000, 8000)(x),
             T.MFCC(16000, 10, melkwargs={"n_fft": 400, "n_mels": 20})(x),
             T.AmplitudeToDB()(T.Spectrogram()(x)), F.phase_vocoder(
                 T.Spectrogram(power=None)(x), 1.2, torch.linspace(0, 3.14 * 100, 201)[..., None]
             ).abs(), T.InverseSpectrogram()(T.Spectrogram(power=None)(x))]
    sum(each.abs().mean() for each in found).backward()
    conformer = fill(Conformer(8, 2, 16, 1, 3)).eval()
    return (found, x.grad, conformer(numbers(2, 6, 8), torch.tensor([6, 4])),
            fill(ConvTasNet(2, 8, 16, 3, 8, 16, 2, 1)).eval()(numbers(1, 1, 400)),
            fill(Wav2Letter(4, "mfcc", 5)).eval()(numbers(1, 5, 100)))


def speechbrain() -> Any:
    from speechbrain.lobes.features import Fbank
    from speechbrain.lobes.models.ECAPA_TDNN import ECAPA_TDNN

    net = fill(ECAPA_TDNN(20, lin_neurons=8, channels=[16, 16, 16, 16, 48],
                          kernel_sizes=[5, 3, 3, 3, 1], dilations=[1, 2, 3, 4, 1],
                          attention_channels=8, res2net_scale=4)).eval()
    return Fbank(n_mels=20)(numbers(2, 8000)), net(numbers(2, 30, 20))


def asteroid() -> Any:
    from asteroid.losses import PITLossWrapper, pairwise_neg_sisdr
    from asteroid.models import ConvTasNet

    net = fill(ConvTasNet(n_src=2, n_blocks=2, n_repeats=1, bn_chan=8, hid_chan=8, skip_chan=8,
                          n_filters=16)).eval()
    found = net(numbers(1, 800))
    wrapped = PITLossWrapper(pairwise_neg_sisdr, pit_from="pw_mtx")
    return found, wrapped(found, numbers(1, 2, 800, seed=3))


def torchquad() -> Any:
    from torchquad import Boole, Simpson, Trapezoid, set_up_backend

    set_up_backend("torch", data_type="float64")
    found = [kind().integrate(lambda x: torch.sin(x[:, 0]) * x[:, 1], dim=2, N=729,
                              integration_domain=[[0.0, 1.0], [0.0, 2.0]], backend="torch")
             for kind in (Trapezoid, Simpson, Boole)]
    torch.set_default_dtype(torch.float32)
    return found


def litgpt() -> Any:
    from litgpt import GPT, Config

    net = fill(GPT(Config(block_size=16, vocab_size=50, padded_vocab_size=50, n_layer=2, n_head=2,
                          n_embd=16, rotary_percentage=1.0, norm_class_name="RMSNorm",
                          mlp_class_name="LLaMAMLP", intermediate_size=32, bias=False,
                          parallel_residual=False)))
    words = classes(2, 12, most=50)
    return trained(net, lambda net: nn.functional.cross_entropy(
        net(words[:, :-1]).flatten(0, 1), words[:, 1:].flatten()))


def mmengine() -> Any:
    from mmengine.model import BaseModule
    from mmengine.model.averaged_model import ExponentialMovingAverage

    class Net(BaseModule):
        def __init__(self) -> None:
            super().__init__()
            self.layers = layers()

        def forward(self, x: Any) -> Any:
            return self.layers(x)

    net = Net()
    average = ExponentialMovingAverage(net, momentum=0.1)
    found = trained(net, loss)
    average.update_parameters(net)
    return found, dict(average.module.state_dict())


def ultralytics() -> Any:
    from ultralytics.nn.modules import SPPF, C2f, Conv
    from ultralytics.nn.tasks import DetectionModel

    part = used(nn.Sequential(Conv(3, 8, 3, 2), C2f(8, 8, 1, True), SPPF(8, 8)),
                numbers(2, 3, 16, 16))
    net = fill(DetectionModel("yolov8n.yaml", ch=3, nc=3, verbose=False)).eval()
    return part, net(numbers(1, 3, 64, 64))[0]


def tensordict() -> Any:
    from tensordict import TensorDict
    from tensordict.nn import TensorDictModule, TensorDictSequential

    data = TensorDict({"a": numbers(3, 4), "b": {"c": numbers(3, 2)}}, batch_size=[3])
    net = TensorDictSequential(TensorDictModule(fill(nn.Linear(4, 2)), ["a"], ["h"]),
                               TensorDictModule(lambda h, c: h + c, ["h", ("b", "c")], ["y"]))
    out = net(data)
    many = torch.stack([data, data], 0)
    out["y"].sum().backward()
    return (out["y"], many["b", "c"], list(many.shape), data.flatten_keys(".")["b.c"],
            [each.grad for each in net.parameters()], (data + 1)["a"], data[1:]["a"],
            data.apply(lambda x: x * 2)["a"])


def pytorch_forecasting() -> Any:
    from pytorch_forecasting.metrics import MAE, SMAPE, QuantileLoss
    from pytorch_forecasting.models.temporal_fusion_transformer.sub_modules import (
        GatedResidualNetwork,
        InterpretableMultiHeadAttention,
    )

    x, y = numbers(4, 6, 3), numbers(4, 6, seed=2)
    net = fill(GatedResidualNetwork(4, 8, 4, dropout=0.0))
    attention = fill(InterpretableMultiHeadAttention(2, 8, dropout=0.0))
    z = numbers(2, 5, 8)
    return (QuantileLoss([0.1, 0.5, 0.9])(x, y), MAE()(x[..., :1], y), SMAPE()(x[..., :1], y),
            trained(net, lambda net: net(numbers(3, 4)).square().mean()),
            attention(z, z, z)[0])


def onnx2torch() -> Any:
    import onnx
    from onnx2torch import convert

    node = onnx.helper.make_node
    form = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        [node("Gemm", ["x", "w"], ["h"], transB=1), node("Relu", ["h"], ["r"]),
         node("Softmax", ["r"], ["y"], axis=-1)], "g", [form("x", 1, [2, 3])],
        [form("y", 1, [2, 4])],
        [onnx.numpy_helper.from_array(numbers(4, 3, seed=5).numpy(), "w")])
    made = convert(onnx.helper.make_model(
        graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8))
    return made(numbers(2, 3))


def ptwt() -> Any:
    import ptwt as kinds

    x = numbers(2, 64).double().requires_grad_()
    found = kinds.wavedec(x, "db2", level=2)
    sum(each.square().sum() for each in found).backward()
    return found, x.grad, kinds.waverec(found, "db2")


def fvcore() -> Any:
    from fvcore.nn import giou_loss, sigmoid_focal_loss, smooth_l1_loss

    x, y = numbers(6, 4), classes(6, 4, most=2).float()
    boxes = torch.cat([numbers(5, 2), numbers(5, 2, seed=2).abs() + 2], 1)
    return (sigmoid_focal_loss(x, y, reduction="sum"), smooth_l1_loss(x, y, 0.3, "mean"),
            giou_loss(boxes, boxes.flip(0)))


def skrl() -> Any:
    from skrl.resources.preprocessors.torch import RunningStandardScaler

    net = RunningStandardScaler(3)
    return [net(numbers(5, 3), train=True), net(numbers(5, 3, seed=2)), dict(net.state_dict())]


CASES = {name: function for name, function in list(globals().items())
         if callable(function) and getattr(function, "__module__", "") == __name__
         and name not in ("classes", "layers", "loss", "used")}
