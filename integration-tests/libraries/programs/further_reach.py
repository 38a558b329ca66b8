"""Still more libraries in their main use: cases are named after the libraries."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from worker import fill, gradients, numbers, trained

from programs.further_used import classes, layers


def descript_audio_codec() -> Any:
    import dac

    net = fill(dac.DAC(encoder_dim=8, encoder_rates=[2, 4], latent_dim=16, decoder_dim=16,
                       decoder_rates=[4, 2], n_codebooks=3, codebook_size=16, codebook_dim=4,
                       sample_rate=16000))
    x = 0.3 * numbers(2, 1, 256)
    found = net(x, 16000)
    loss = (found["audio"] - x).square().mean() + found["vq/commitment_loss"]
    loss.backward()
    return dict(found), gradients(net)


def auraloss() -> Any:
    import auraloss

    x, y = numbers(2, 1, 4096).requires_grad_(), numbers(2, 1, 4096, seed=2)
    kinds = [auraloss.freq.STFTLoss(), auraloss.freq.MultiResolutionSTFTLoss(),
             auraloss.freq.MultiResolutionSTFTLoss(fft_sizes=[256], hop_sizes=[64],
                                                   win_lengths=[256], scale="mel", n_bins=16,
                                                   sample_rate=16000, perceptual_weighting=True),
             auraloss.time.SISDRLoss(), auraloss.time.SNRLoss(), auraloss.time.ESRLoss(),
             auraloss.time.DCLoss(), auraloss.time.LogCoshLoss()]
    found = [kind(x, y) for kind in kinds]
    sum(found).backward()
    return found, x.grad


def torchlibrosa() -> Any:
    import torchlibrosa

    x = numbers(2, 4096).requires_grad_()
    spectrum = torchlibrosa.Spectrogram(n_fft=256, hop_length=128)
    mel = torchlibrosa.LogmelFilterBank(sr=16000, n_fft=256, n_mels=16)
    found = mel(spectrum(x))
    found.square().mean().backward()
    stft = torchlibrosa.STFT(n_fft=256, hop_length=128)
    real, imag = stft(x)
    again = torchlibrosa.ISTFT(n_fft=256, hop_length=128)(real, imag, 4096)
    torch.manual_seed(0)
    masked = torchlibrosa.SpecAugmentation(8, 2, 4, 2)(found)
    return found, x.grad, again, masked


def panns_inference() -> Any:
    from panns_inference.models import Cnn14

    net = Cnn14(sample_rate=8000, window_size=256, hop_size=80, mel_bins=64, fmin=50, fmax=4000,
                classes_num=7)
    for name, value in net.state_dict().items():
        if "stft" not in name and "melW" not in name and value.is_floating_point():
            value.copy_(0.02 * numbers(*value.shape) if value.dim() > 1 or "bias" in name
                        else torch.ones_like(value))
    net.eval()
    return net(numbers(2, 8000))


def bert_score() -> Any:
    import transformers
    from bert_score.utils import greedy_cos_idf

    net = fill(transformers.BertModel(transformers.BertConfig(
        vocab_size=50, hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=32))).eval()
    words, others = classes(3, 7, most=50), classes(3, 9, most=47)
    mask, other_mask = torch.ones(3, 7), torch.ones(3, 9)
    mask[1, 5:] = 0
    with torch.no_grad():
        first = net(words, mask).last_hidden_state
        second = net(others, other_mask).last_hidden_state
    return greedy_cos_idf(first, mask, torch.rand(3, 7), second, other_mask, torch.rand(3, 9))


def optimum_quanto() -> Any:
    from optimum.quanto import Calibration, freeze, qfloat8, qint8, quantize

    found = []
    for weights, activations in ((qint8, None), (qint8, qint8), (qfloat8, None)):
        net = fill(nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 8)))
        quantize(net, weights=weights, activations=activations)
        x = numbers(4, 32)
        if activations is not None:
            with torch.no_grad(), Calibration():
                net(x)
        found.append(net(x))
        freeze(net)
        found.append(net(x))
        found.append(sorted(net.state_dict()))
    return found


def torchxrayvision() -> Any:
    import torchxrayvision

    net = fill(torchxrayvision.models.DenseNet(num_classes=5, growth_rate=4, block_config=(2, 2),
                                               num_init_features=8)).eval()
    value = net(numbers(2, 1, 64, 64))
    value.sum().backward()
    return value, gradients(net)


def pyiqa() -> Any:
    from pyiqa.archs.gmsd_arch import GMSD
    from pyiqa.archs.psnr_arch import PSNR
    from pyiqa.archs.ssim_arch import MS_SSIM, SSIM
    from pyiqa.archs.vif_arch import VIF

    x = numbers(2, 3, 192, 192).sigmoid().requires_grad_()
    y = numbers(2, 3, 192, 192, seed=2).sigmoid()
    found = [SSIM(downsample=True)(x, y), MS_SSIM()(x, y), PSNR()(x, y), VIF()(x, y),
             GMSD()(x, y)]
    sum(each.sum() for each in found).backward()
    return found, x.grad


def neuromancer() -> Any:
    from neuromancer.constraint import variable
    from neuromancer.dataset import DictDataset
    from neuromancer.loss import PenaltyLoss
    from neuromancer.modules import blocks
    from neuromancer.problem import Problem
    from neuromancer.system import Node
    from neuromancer.trainer import Trainer

    net = blocks.MLP(insize=2, outsize=2, hsizes=[8, 8], nonlin=nn.ReLU)
    node = Node(fill(net), ["p"], ["x"], name="solution")
    x, p = variable("x"), variable("p")
    objective = ((1 - x[:, [0]]) ** 2 + p[:, [0]] * (x[:, [1]] - x[:, [0]] ** 2) ** 2).minimize(
        weight=1.0, name="obj")
    constraints = [100.0 * (x[:, [0]] >= x[:, [1]]), 100.0 * (x[:, [0]] ** 2 <= p[:, [1]])]
    problem = Problem([node], PenaltyLoss([objective], constraints))
    data = [DictDataset({"p": numbers(16, 2, seed=i).abs()}, name=kind)
            for i, kind in enumerate(("train", "dev"))]
    loaders = [torch.utils.data.DataLoader(each, 8, collate_fn=each.collate_fn) for each in data]
    trainer = Trainer(problem, *loaders, optimizer=torch.optim.AdamW(problem.parameters(), 1e-2),
                      epochs=3, epoch_verbose=9)
    trainer.train()
    return problem(data[1].collate_fn([data[1][i] for i in range(4)]))["dev_loss"], list(
        net.parameters())


def pina_mathlab() -> Any:
    from pina import Condition, LabelTensor, Trainer
    from pina.domain import CartesianDomain
    from pina.equation import Equation
    from pina.model import FeedForward
    from pina.operator import grad
    from pina.problem import SpatialProblem
    from pina.solver import PINN

    class Decay(SpatialProblem):
        output_variables = ["u"]
        spatial_domain = CartesianDomain({"x": [0, 1]})
        domains = {"x0": CartesianDomain({"x": 0.0}), "D": CartesianDomain({"x": [0, 1]})}
        conditions = {
            "x0": Condition(domain="x0", equation=Equation(
                lambda x, y: y.extract(["u"]) - 1.0)),
            "D": Condition(domain="D", equation=Equation(
                lambda x, y: grad(y, x, components=["u"], d=["x"]) - y.extract(["u"])))}

    problem = Decay()
    problem.discretise_domain(8, "grid", domains=["D"])
    problem.discretise_domain(1, "grid", domains=["x0"])
    net = fill(FeedForward(input_dimensions=1, output_dimensions=1, layers=[6, 6],
                           func=nn.Tanh))
    solver = PINN(problem, net)
    Trainer(solver, max_epochs=3, accelerator="cpu", logger=False, enable_progress_bar=False,
            enable_checkpointing=False, enable_model_summary=False).train()
    at = LabelTensor(torch.linspace(0, 1, 5)[:, None], ["x"])
    return solver(at).as_subclass(torch.Tensor), list(net.parameters())


def chronos_forecasting() -> Any:
    import transformers
    from chronos import ChronosConfig
    from chronos.chronos import ChronosModel, ChronosPipeline

    config = ChronosConfig(
        tokenizer_class="MeanScaleUniformBins", tokenizer_kwargs={"low_limit": -15.0,
                                                                  "high_limit": 15.0},
        n_tokens=64, n_special_tokens=2, pad_token_id=0, eos_token_id=1, use_eos_token=True,
        model_type="seq2seq", context_length=16, prediction_length=4, num_samples=3,
        temperature=1.0, top_k=8, top_p=1.0)
    inner = fill(transformers.T5ForConditionalGeneration(transformers.T5Config(
        vocab_size=64, d_model=16, d_kv=4, d_ff=32, num_layers=2, num_heads=2, pad_token_id=0,
        eos_token_id=1, decoder_start_token_id=0))).eval()
    pipeline = ChronosPipeline(config.create_tokenizer(), ChronosModel(config, inner))
    torch.manual_seed(0)
    return pipeline.predict(numbers(2, 12).cumsum(1), 4), pipeline.embed(numbers(2, 12))[0]


def neuralforecast() -> Any:
    import pandas
    from neuralforecast import NeuralForecast
    from neuralforecast.models import NBEATS, NHITS, DLinear, PatchTST

    rows = pandas.DataFrame({"unique_id": ["a"] * 40 + ["b"] * 40,
                             "ds": list(pandas.date_range("2020-01-01", periods=40)) * 2,
                             "y": numbers(80).cumsum(0).numpy()})
    more = {"h": 4, "input_size": 8, "max_steps": 4, "accelerator": "cpu", "logger": False,
            "enable_progress_bar": False, "enable_checkpointing": False, "random_seed": 1,
            "enable_model_summary": False}
    models = [NHITS(**more, mlp_units=3 * [[16, 16]]),
              NBEATS(**more, mlp_units=3 * [[16, 16]]), DLinear(**more),
              PatchTST(**more, hidden_size=16, n_heads=2, encoder_layers=1, linear_hidden_size=16,
                       patch_len=4, stride=2)]
    forecast = NeuralForecast(models=models, freq="D")
    forecast.fit(rows)
    found = forecast.predict()
    return [found[type(each).__name__].to_numpy() for each in models]


def gliner() -> Any:
    from gliner.modeling.loss_functions import focal_loss_with_logits
    from gliner.modeling.span_rep import SpanRepLayer

    found = []
    for mode in ("markerV0", "marker", "query", "mlp", "cat", "conv_conv", "conv_max"):
        net = fill(SpanRepLayer(hidden_size=8, max_width=3, span_mode=mode, dropout=0.0))
        starts = torch.arange(4).repeat_interleave(3).expand(2, 12)
        spans = torch.stack([starts, (starts + torch.arange(3).repeat(4)).clamp(max=3)], -1)
        value = net(numbers(2, 4, 8), spans)
        value.square().mean().backward()
        found.append([value, gradients(net)])
    x = numbers(4, 6).requires_grad_()
    loss = focal_loss_with_logits(x, (numbers(4, 6, seed=3) > 0).float(), 0.75, 2)
    loss.sum().backward()
    return found, loss, x.grad


def tianshou() -> Any:
    import numpy
    from tianshou.data import Batch, ReplayBuffer, to_torch
    from tianshou.utils.net.common import MLP

    net = fill(MLP(input_dim=4, output_dim=2, hidden_sizes=(8, 8)))
    buffer = ReplayBuffer(size=10)
    for i in range(12):
        buffer.add(Batch(obs=numpy.full(4, i, "float32"), act=i % 2, rew=float(i),
                         terminated=i % 5 == 4, truncated=False,
                         obs_next=numpy.full(4, i + 1, "float32"), info={}))
    numpy.random.seed(0)
    batch, places = buffer.sample(6)
    given = to_torch(batch, dtype=torch.float32)
    value = net(given.obs).square().mean()
    value.backward()
    return value, gradients(net), places, given.rew, given.obs_next


def torchdata() -> Any:
    from torchdata.nodes import Batcher, IterableWrapper, Loader, Mapper, SamplerWrapper

    data = numbers(12, 3)
    nodes = Loader(Batcher(Mapper(IterableWrapper(range(10)), lambda i: i * i), 3))
    sampler = Loader(SamplerWrapper(torch.utils.data.SequentialSampler(data)))
    return list(nodes), list(sampler), list(nodes)


def avalanche_lib() -> Any:
    from avalanche.benchmarks.scenarios.supervised import class_incremental_benchmark
    from avalanche.benchmarks.utils import _make_taskaware_tensor_classification_dataset
    from avalanche.models import SimpleMLP
    from avalanche.training.supervised import EWC, LwF, Naive, Replay

    def data(seed: int) -> Any:
        kinds = classes(24, most=4)
        return _make_taskaware_tensor_classification_dataset(
            numbers(24, 1, 4, 4, seed=seed), kinds, targets=kinds, task_labels=0)

    found = []
    for kind, more in ((Naive, {}), (EWC, {"ewc_lambda": 0.4}), (Replay, {"mem_size": 8}),
                       (LwF, {"alpha": 1.0, "temperature": 2.0})):
        torch.manual_seed(0)
        benchmark = class_incremental_benchmark({"train": data(1), "test": data(2)},
                                                num_experiences=2, class_order=[0, 1, 2, 3])
        net = fill(SimpleMLP(num_classes=4, input_size=16, hidden_size=8, drop_rate=0.0))
        strategy = kind(model=net, optimizer=torch.optim.SGD(net.parameters(), 0.1),
                        criterion=nn.CrossEntropyLoss(), train_mb_size=6, train_epochs=2,
                        eval_mb_size=6, device="cpu", evaluator=None, **more)
        for experience in benchmark.train_stream:
            strategy.train(experience)
        found.append(list(net.parameters()))
    return found


def trl() -> Any:
    import tempfile

    import datasets
    import tokenizers
    import transformers
    from trl import DPOConfig, DPOTrainer, SFTConfig, SFTTrainer

    words = {f"w{i}": i + 3 for i in range(40)} | {"<pad>": 0, "<eos>": 1, "<unk>": 2}
    inner = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="<unk>"))
    inner.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>")
    text = [" ".join(f"w{(i * j + j) % 40}" for j in range(1, 9)) for i in range(8)]
    found = []
    with tempfile.TemporaryDirectory() as folder:
        more = {"output_dir": folder, "per_device_train_batch_size": 2, "max_steps": 3,
                "use_cpu": True, "report_to": [], "save_strategy": "no", "logging_steps": 1,
                "disable_tqdm": True, "gradient_checkpointing": False, "bf16": False}
        for kind in ("sft", "dpo"):
            net = fill(transformers.GPT2LMHeadModel(transformers.GPT2Config(
                vocab_size=43, n_positions=64, n_embd=16, n_layer=2, n_head=2, resid_pdrop=0.0,
                embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=1, eos_token_id=1)))
            tokenizer.save_pretrained(folder)
            net.save_pretrained(folder)     # a card of the model is written, which needs a name
            net = transformers.GPT2LMHeadModel.from_pretrained(folder)
            if kind == "sft":
                trainer = SFTTrainer(net, SFTConfig(**more), processing_class=tokenizer,
                                     train_dataset=datasets.Dataset.from_dict({"text": text}))
            else:
                trainer = DPOTrainer(net, args=DPOConfig(**more), processing_class=tokenizer,
                                     train_dataset=datasets.Dataset.from_dict({
                                         "prompt": text, "chosen": text[1:] + text[:1],
                                         "rejected": text[2:] + text[:2]}))
            trainer.train()
            found.append([[each.get("loss") for each in trainer.state.log_history],
                          [each.detach() for each in net.parameters()]])
    return found


def quantus() -> Any:
    import quantus

    net = fill(nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(),
                             nn.Linear(4 * 100, 3))).eval()
    x, y = numbers(4, 1, 12, 12).numpy(), classes(4).numpy()
    shown = quantus.normalise_func.normalise_by_max(numbers(4, 1, 12, 12, seed=3).numpy())
    more = {"disable_warnings": True, "display_progressbar": False}
    found = [
        quantus.Sparseness(**more)(net, x, y, shown),
        quantus.Complexity(**more)(net, x, y, shown),
        quantus.FaithfulnessCorrelation(nr_runs=5, subset_size=8, **more)(net, x, y, shown),
        quantus.PixelFlipping(features_in_step=12, **more)(net, x, y, shown),
        quantus.MaxSensitivity(nr_samples=2, **more)(
            net, x, y, explain_func=lambda model, inputs, targets, **kw: inputs * 0.5)]
    return [numpy_of(each) for each in found]


def numpy_of(values: Any) -> Any:
    """Scores as an array."""
    import numpy

    return numpy.asarray(values, "float64")


def pytorch_wavelets() -> Any:
    from pytorch_wavelets import DTCWTForward, DTCWTInverse, DWT1DForward, DWTForward, DWTInverse

    x = numbers(2, 3, 16, 16).requires_grad_()
    low, high = DWTForward(J=2, wave="db3", mode="zero")(x)
    again = DWTInverse(wave="db3", mode="zero")((low, high))
    turned = DTCWTForward(J=2, biort="near_sym_b", qshift="qshift_b")(x)
    back = DTCWTInverse(biort="near_sym_b", qshift="qshift_b")(turned)
    (low.square().sum() + back.square().sum()).backward()
    return low, high, again, turned, back, x.grad, DWT1DForward(J=2)(numbers(2, 3, 32))


def bayesian_torch() -> Any:
    from bayesian_torch.layers import Conv2dFlipout, LinearReparameterization
    from bayesian_torch.models.dnn_to_bnn import dnn_to_bnn, get_kl_loss

    net = fill(nn.Sequential(nn.Conv2d(1, 3, 3), nn.ReLU(), nn.Flatten(), nn.Linear(108, 4)))
    dnn_to_bnn(net, {"prior_mu": 0.0, "prior_sigma": 1.0, "posterior_mu_init": 0.0,
                     "posterior_rho_init": -3.0, "type": "Reparameterization",
                     "moped_enable": False})
    torch.manual_seed(0)
    value = nn.functional.cross_entropy(net(numbers(5, 1, 8, 8)), classes(5, most=4))
    value = value + get_kl_loss(net) / 5
    value.backward()
    found = [value, gradients(net)]
    for layer, shape in ((Conv2dFlipout(1, 2, 3), (2, 1, 6, 6)),
                         (LinearReparameterization(4, 3), (5, 4))):
        torch.manual_seed(0)
        fill(layer)
        found.append(layer(numbers(*shape)))
    return found


def torch_uncertainty() -> Any:
    from torch_uncertainty.layers.packed import PackedConv2d, PackedLinear
    from torch_uncertainty.losses import BetaNLL, ConfidencePenaltyLoss, DECLoss
    from torch_uncertainty.metrics import BrierScore, CalibrationError, Disagreement, Entropy

    net = fill(nn.Sequential(PackedConv2d(3, 8, 3, alpha=2, num_estimators=2, first=True),
                             nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                             PackedLinear(8, 4, alpha=2, num_estimators=2, last=True)))
    value = net(numbers(4, 3, 8, 8))
    value.square().mean().backward()
    chances, kinds = numbers(20, 3).softmax(-1), classes(20)
    found = [BrierScore(num_classes=3), CalibrationError(task="multiclass", num_classes=3),
             Entropy()]
    for each in found[:2]:
        each.update(chances, kinds)
    found[2].update(chances)
    several = Disagreement()
    several.update(numbers(20, 4, 3).softmax(-1))
    losses = [ConfidencePenaltyLoss()(numbers(20, 3), kinds),
              DECLoss()(numbers(20, 3).exp(), kinds),
              BetaNLL()(numbers(9, 1), numbers(9, 1, seed=2), numbers(9, 1, seed=3).exp())]
    return value, gradients(net), [each.compute() for each in (*found, several)], losses


def tabm() -> Any:
    from tabm import TabM

    net = fill(TabM.make(n_num_features=5, cat_cardinalities=[3, 4], d_out=2, k=4, n_blocks=2,
                         d_block=16, dropout=0.0))
    return trained(net, lambda net: net(numbers(6, 5), torch.stack(
        [classes(6), classes(6, most=4)], 1)).square().mean())


def fair_esm() -> Any:
    import esm

    alphabet = esm.Alphabet.from_architecture("ESM-1b")
    net = fill(esm.ESM2(num_layers=2, embed_dim=16, attention_heads=2, alphabet=alphabet)).eval()
    words = alphabet.get_batch_converter()([("a", "MKTVRQERLK"), ("b", "KALTARQQ")])[2]
    found = net(words, repr_layers=[0, 2], return_contacts=True)
    found["logits"].square().mean().backward()
    return dict(found["representations"]), found["logits"], found["contacts"], gradients(net)


def muon_optimizer() -> Any:
    from muon import SingleDeviceMuonWithAuxAdam

    net = layers()
    groups = [{"params": [each for each in net.parameters() if each.dim() == 2], "use_muon": True,
               "lr": 0.02},
              {"params": [each for each in net.parameters() if each.dim() < 2], "use_muon": False,
               "lr": 1e-3}]
    return trained(net, lambda net: net(numbers(6, 4)).square().mean(),
                   SingleDeviceMuonWithAuxAdam(groups))


CASES = {name: value for name, value in list(globals().items())
         if callable(value) and getattr(value, "__module__", "") == __name__
         and name != "numpy_of"}
