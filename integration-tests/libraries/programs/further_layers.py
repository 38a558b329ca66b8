"""Attention, recurrences and other layers: each case is named after the library that it needs."""

from __future__ import annotations

from typing import Any

import torch
from worker import fill, gradients, numbers, trained


def squares(result: Any) -> Any:
    """The mean square of what a network gives."""
    return (result[0] if isinstance(result, tuple) else result).square().mean()


def words(*shape: int, most: int = 20) -> Any:
    """Numbers of words."""
    return torch.arange(torch.Size(shape).numel()).mul(7).remainder(most).reshape(shape)


def rotary_embedding_torch() -> Any:
    from rotary_embedding_torch import RotaryEmbedding, apply_rotary_emb

    x, found = numbers(1, 2, 16, 8).requires_grad_(), []
    for kinds in ({}, {"use_xpos": True}, {"interpolate_factor": 2.0}, {"learned_freq": True},
                  {"freqs_for": "pixel", "max_freq": 16}):
        turn = RotaryEmbedding(dim=8, **kinds)
        if "use_xpos" in kinds:
            found.append(turn.rotate_queries_and_keys(x, x))
        elif "freqs_for" in kinds:
            found.append(apply_rotary_emb(turn.get_axial_freqs(4, 4), x.view(1, 4, 4, 16)))
        else:
            found.append(turn.rotate_queries_or_keys(x))
    found[0].square().sum().backward()
    return found, x.grad


def linformer() -> Any:
    from linformer import Linformer

    return trained(fill(Linformer(16, 12, 2, heads=2, k=4)),
                   lambda net: squares(net(numbers(2, 12, 16))))


def performer_pytorch() -> Any:
    from performer_pytorch import Performer, PerformerLM

    net = PerformerLM(num_tokens=20, max_seq_len=16, dim=16, depth=2, heads=2, dim_head=8,
                      causal=True, reversible=True, use_scalenorm=True)
    other = Performer(dim=16, depth=1, heads=2, dim_head=8, generalized_attention=True)
    return (trained(fill(net), lambda net: squares(net(words(2, 16)))),
            trained(fill(other), lambda net: squares(net(numbers(2, 12, 16)))))


def reformer_pytorch() -> Any:
    from reformer_pytorch import LSHSelfAttention, ReformerLM

    net = ReformerLM(num_tokens=20, dim=16, depth=2, max_seq_len=32, heads=2, bucket_size=8,
                     causal=True, ff_chunks=2)
    attention = LSHSelfAttention(dim=16, heads=2, bucket_size=4, n_hashes=2)
    torch.manual_seed(1)
    return (fill(attention).eval()(numbers(1, 16, 16)),
            trained(fill(net), lambda net: squares(net(words(1, 32)))))


def routing_transformer() -> Any:
    from routing_transformer import RoutingTransformerLM

    net = RoutingTransformerLM(num_tokens=20, dim=16, heads=2, depth=2, max_seq_len=32,
                               window_size=8, n_local_attn_heads=1, causal=True)
    return trained(fill(net), lambda net: squares(net(words(2, 32))))


def local_attention() -> Any:
    from local_attention import LocalAttention
    from local_attention.transformer import LocalTransformer

    attend = LocalAttention(dim=8, window_size=4, causal=True, look_backward=1)
    q = numbers(2, 2, 16, 8).requires_grad_()
    result = attend(q, numbers(2, 2, 16, 8, seed=2), numbers(2, 2, 16, 8, seed=3),
                    mask=torch.arange(16).expand(2, 16) < 13)
    result.square().sum().backward()
    net = LocalTransformer(num_tokens=20, dim=16, depth=2, max_seq_len=32, causal=True,
                           local_attn_window_size=8, heads=2, dim_head=8)
    return result, q.grad, trained(fill(net).double(),     # unsteady: roundings grow
                                   lambda net: net(words(2, 17), return_loss=True))


def nystrom_attention() -> Any:
    from nystrom_attention import Nystromformer

    return trained(fill(Nystromformer(dim=16, dim_head=8, heads=2, depth=2, num_landmarks=4)),
                   lambda net: squares(net(numbers(2, 16, 16),
                                           mask=torch.arange(16).expand(2, 16) < 14)))


def perceiver_pytorch() -> Any:
    from perceiver_pytorch import Perceiver, PerceiverIO

    net = Perceiver(input_channels=3, input_axis=2, num_freq_bands=4, max_freq=8.0, depth=2,
                    num_latents=6, latent_dim=16, latent_heads=2, cross_dim_head=8,
                    latent_dim_head=8, num_classes=5, weight_tie_layers=True)
    io = PerceiverIO(dim=16, queries_dim=16, logits_dim=5, depth=2, num_latents=6, latent_dim=16,
                     cross_dim_head=8, latent_dim_head=8, latent_heads=2)
    return (trained(fill(net), lambda net: squares(net(numbers(2, 8, 8, 3)))),
            trained(fill(io), lambda net: squares(net(numbers(2, 9, 16), queries=numbers(4, 16)))))


def egnn_pytorch() -> Any:
    from egnn_pytorch import EGNN_Network

    net = EGNN_Network(dim=8, depth=2, num_tokens=5, num_nearest_neighbors=3)
    return trained(fill(net), lambda net: sum(each.square().mean() for each in net(
        words(1, 9, most=5), numbers(1, 9, 3))))


def titans_pytorch() -> Any:
    from titans_pytorch import NeuralMemory

    memory = fill(NeuralMemory(dim=16, chunk_size=4))
    x = numbers(2, 16, 16)
    found, _ = memory(x)
    found.square().mean().backward()
    return found, gradients(memory)


def mambapy() -> Any:
    from mambapy.mamba import Mamba, MambaConfig

    return [trained(fill(net), lambda net: squares(net(numbers(2, 16, 16)))) for net in (
        Mamba(MambaConfig(d_model=16, n_layers=2)),
        Mamba(MambaConfig(d_model=16, n_layers=1, pscan=False)))]


def entmax() -> Any:
    from entmax import (
        Entmax15Loss,
        SparsemaxLoss,
        entmax15,
        entmax_bisect,
        normmax_bisect,
        sparsemax,
    )

    found = []
    for function in (sparsemax, entmax15, lambda x: entmax_bisect(x, alpha=1.3),
                     lambda x: normmax_bisect(x, alpha=2.0),
                     lambda x: Entmax15Loss(reduction="none")(x, torch.tensor([1, 2, 0])),
                     lambda x: SparsemaxLoss(reduction="none")(x, torch.tensor([1, 2, 0]))):
        x = (2 * numbers(3, 7)).requires_grad_()
        result = function(x)
        result.square().sum().backward()
        found.append([result, x.grad])
    return found


def pytorch_crf() -> Any:
    from torchcrf import CRF

    mask = torch.arange(6).expand(3, 6) < torch.tensor([[6], [4], [2]])
    net = fill(CRF(5, batch_first=True))
    return trained(net, lambda net: -net(numbers(3, 6, 5), words(3, 6, most=5), mask=mask)), (
        net.decode(numbers(3, 6, 5), mask=mask))


def torch_dct() -> Any:
    import torch_dct

    x = numbers(3, 8, 8).requires_grad_()
    found = [getattr(torch_dct, name)(x) for name in (
        "dct1 idct1 dct idct dct_2d idct_2d dct_3d idct_3d").split()]
    sum(each.square().mean() for each in found).backward()
    return found, x.grad


def loralib() -> Any:
    import loralib

    net = torch.nn.Sequential(loralib.Embedding(20, 16, r=4), loralib.Linear(16, 8, r=2),
                              loralib.MergedLinear(8, 12, r=2, enable_lora=[True, False, True]))
    loralib.mark_only_lora_as_trainable(fill(net))
    found = trained(net, lambda net: squares(net(words(2, 6))), torch.optim.AdamW(
        [each for each in net.parameters() if each.requires_grad], 1e-3))
    net.eval()
    return found, net(words(2, 6)), loralib.lora_state_dict(net)


def tensorly() -> Any:
    import tensorly
    from tensorly.decomposition import non_negative_parafac, parafac, tensor_train, tucker
    from tensorly.regression import TuckerRegressor

    tensorly.set_backend("pytorch")
    x = numbers(4, 5, 6).requires_grad_()
    given = x.detach()
    parts = parafac(given, rank=3, init="svd", n_iter_max=20)
    core = tucker(given, rank=[2, 3, 2], n_iter_max=20)
    whole = tensorly.cp_to_tensor(parts)
    value = tensorly.tenalg.multi_mode_dot(x, [numbers(2, 4), numbers(3, 5), numbers(2, 6)])
    value.square().sum().backward()
    fit = TuckerRegressor(weight_ranks=[2, 2], n_iter_max=10).fit(numbers(8, 3, 4), numbers(8))
    return (whole, tensorly.tucker_to_tensor(core), tensorly.tt_to_tensor(tensor_train(given, 3)),
            tensorly.cp_to_tensor(non_negative_parafac(given.abs(), 2, n_iter_max=10)), x.grad,
            fit.predict(numbers(8, 3, 4)))


def tensorly_torch() -> Any:
    import tltorch

    layers = (tltorch.FactorizedLinear((2, 4), (2, 3), rank=0.5, factorization="tucker"),
              tltorch.FactorizedLinear((2, 4), (2, 3), rank=0.5, factorization="cp"),
              tltorch.FactorizedLinear((2, 4), (2, 3), rank=0.5, factorization="blocktt"))
    return [trained(fill(net), lambda net: squares(net(numbers(5, 8)))) for net in layers]


def rtdl_revisiting_models() -> Any:
    from rtdl_revisiting_models import MLP, FTTransformer, ResNet

    nets = (MLP(d_in=4, d_out=2, n_blocks=2, d_block=8, dropout=0.1),
            ResNet(d_in=4, d_out=2, n_blocks=2, d_block=8, d_hidden=None, d_hidden_multiplier=2.0,
                   dropout1=0.15, dropout2=0.0))
    found = [trained(fill(net), lambda net: squares(net(numbers(6, 4)))) for net in nets]
    tokens = FTTransformer(n_cont_features=4, cat_cardinalities=[3, 5], d_out=2,
                           **FTTransformer.get_default_kwargs(1))
    x, kinds = numbers(6, 4), words(6, 2, most=3)
    return found, trained(fill(tokens), lambda net: squares(net(x, kinds)),
                          tokens.make_default_optimizer())


def rtdl_num_embeddings() -> Any:
    import rtdl_num_embeddings as kinds

    bins = kinds.compute_bins(numbers(50, 4), n_bins=6)
    return [trained(fill(net), lambda net: squares(net(numbers(6, 4)))) for net in (
        kinds.LinearEmbeddings(4, 8), kinds.PeriodicEmbeddings(4, 8, lite=False),
        kinds.PiecewiseLinearEmbeddings(bins, 8, activation=True, version="B"))]


CASES = {each.__name__: each for each in (
    rotary_embedding_torch, linformer, performer_pytorch, reformer_pytorch, routing_transformer,
    local_attention, nystrom_attention, perceiver_pytorch, egnn_pytorch, titans_pytorch, mambapy,
    entmax, pytorch_crf, torch_dct, loralib, tensorly, tensorly_torch, rtdl_revisiting_models,
    rtdl_num_embeddings)}
