"""Networks of further libraries: cases are named after the libraries."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from worker import fill, numbers, trained

from .further_used import classes, layers, loss, used


def torchopt() -> Any:
    import torchopt as kinds

    net = layers()
    found = []
    for optimizer in (kinds.MetaAdam(net, lr=0.05), kinds.MetaSGD(net, lr=0.1, momentum=0.9)):
        before = kinds.extract_state_dict(net)
        for _ in range(3):
            optimizer.step(loss(net))
        value = loss(net)
        value.backward()
        found.append(value)
        kinds.recover_state_dict(net, before)
    return found, [each.grad for each in net.parameters()]


def pfrl() -> Any:
    import pfrl as kinds
    from pfrl.policies import GaussianHeadWithStateIndependentCovariance

    net = fill(nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2),
                             GaussianHeadWithStateIndependentCovariance(
                                 2, var_type="diagonal", var_func=lambda x: torch.exp(2 * x))))
    found = net(numbers(5, 4))
    q = fill(kinds.q_functions.FCStateQFunctionWithDiscreteAction(4, 3, 8, 1))(numbers(5, 4))
    return found.mean, found.log_prob(numbers(5, 2)), q.q_values, q.greedy_actions


def bitsandbytes() -> Any:
    from bitsandbytes.functional import dequantize_4bit, quantize_4bit

    x = numbers(64, 64)
    packed, state = quantize_4bit(x, quant_type="nf4", blocksize=64)
    return packed, dequantize_4bit(packed, state)


def torchao() -> Any:
    from torchao.quantization import Int8WeightOnlyConfig, quantize_

    net = fill(nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 32))).eval()
    quantize_(net, Int8WeightOnlyConfig())
    return net(numbers(4, 64))


def deepinv() -> Any:
    import deepinv as kinds

    x = numbers(1, 1, 16, 16)
    physics = kinds.physics.Inpainting((1, 16, 16), mask=(numbers(1, 16, 16, seed=3) > 0).float())
    y = physics(x)
    net = fill(kinds.models.DRUNet(1, 1, pretrained=None, nc=(8, 8, 8, 8), nb=1)).eval()
    return y, physics.A_adjoint(y), kinds.loss.MCLoss()(y, x, physics), net(x, 0.1)


def st_moe_pytorch() -> Any:
    from st_moe_pytorch import MoE

    net = fill(MoE(dim=8, num_experts=4, gating_top_n=2, threshold_train=0.0,
                   threshold_eval=0.0)).eval()
    return net(numbers(1, 16, 8))[0]


def block_recurrent_transformer_pytorch() -> Any:
    from block_recurrent_transformer_pytorch import BlockRecurrentTransformer

    net = fill(BlockRecurrentTransformer(num_tokens=30, dim=16, depth=2, dim_head=8, heads=2,
                                         max_seq_len=16, block_width=8, num_state_vectors=8,
                                         recurrent_layers=(1,), use_flash_attn=False)).eval()
    words = classes(1, 17, most=30)
    return net(words[:, :16])[0], net(words, return_loss=True)[0]


def recurrent_memory_transformer_pytorch() -> Any:
    from recurrent_memory_transformer_pytorch import RecurrentMemoryTransformer

    net = fill(RecurrentMemoryTransformer(num_tokens=30, num_memory_tokens=4, dim=16, depth=1,
                                          causal=True, dim_head=8, heads=2, seq_len=16,
                                          use_flash_attn=False)).eval()
    return net(classes(1, 16, most=30))[0]


def megabyte_pytorch() -> Any:
    from MEGABYTE_pytorch import MEGABYTE

    net = fill(MEGABYTE(num_tokens=30, dim=(16, 8), depth=(1, 1), max_seq_len=(4, 4), dim_head=8,
                        heads=2, flash_attn=False)).eval()
    words = classes(1, 4, 4, most=30)
    return trained(net, lambda net: net(words, return_loss=True))


def siren_pytorch() -> Any:
    from siren_pytorch import SirenNet

    return used(SirenNet(dim_in=2, dim_hidden=8, dim_out=3, num_layers=3, w0_initial=3.0),
                numbers(5, 2))


def invariant_point_attention() -> Any:
    from invariant_point_attention import IPABlock

    net = fill(IPABlock(dim=8, heads=2, scalar_key_dim=4, scalar_value_dim=4, point_key_dim=2,
                        point_value_dim=2, require_pairwise_repr=False)).eval()
    turn = torch.eye(3).expand(1, 5, 3, 3)
    return net(numbers(1, 5, 8), rotations=turn, translations=numbers(1, 5, 3))


def point_transformer_pytorch() -> Any:
    from point_transformer_pytorch import PointTransformerLayer

    return used(PointTransformerLayer(dim=8, pos_mlp_hidden_dim=8, attn_mlp_hidden_mult=2),
                numbers(1, 6, 8), numbers(1, 6, 3))


def halonet_pytorch() -> Any:
    from halonet_pytorch import HaloAttention

    return used(HaloAttention(dim=8, block_size=4, halo_size=2, dim_head=4, heads=2),
                numbers(1, 8, 8, 8))


def bottleneck_transformer_pytorch() -> Any:
    from bottleneck_transformer_pytorch import BottleStack

    net = fill(BottleStack(dim=8, fmap_size=8, dim_out=16, proj_factor=2, num_layers=1, heads=2,
                           dim_head=4)).eval()
    return net(numbers(1, 8, 8, 8))


def byol_pytorch() -> Any:
    from byol_pytorch import BYOL

    net = fill(nn.Sequential(nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                             nn.Linear(4, 6)))
    same = nn.Identity()
    learner = BYOL(net, image_size=8, hidden_layer=-1, projection_size=4,
                   projection_hidden_size=8, augment_fn=same, augment_fn2=same)
    fill(learner)
    value = learner(numbers(4, 3, 8, 8))
    value.backward()
    learner.update_moving_average()
    return value, [each.grad for each in net.parameters()]


def adan_pytorch() -> Any:
    from adan_pytorch import Adan

    net = layers()
    return trained(net, loss, Adan(net.parameters(), lr=1e-2))


def adam_atan2_pytorch() -> Any:
    from adam_atan2_pytorch import AdamAtan2

    net = layers()
    return trained(net, loss, AdamAtan2(net.parameters(), lr=1e-2))


def grokfast_pytorch() -> Any:
    from grokfast_pytorch import GrokFastAdamW

    net = layers()
    return trained(net, loss, GrokFastAdamW(net.parameters(), lr=1e-2))


def pytorch_warmup() -> Any:
    import pytorch_warmup as kinds

    net = layers()
    optimizer = torch.optim.AdamW(net.parameters(), 0.1)
    warmup, rates = kinds.UntunedLinearWarmup(optimizer), []
    for _ in range(4):
        optimizer.step()
        with warmup.dampening():
            pass
        rates.append(optimizer.param_groups[0]["lr"])
    return rates


def torchkbnufft() -> Any:
    import torchkbnufft as kinds

    found = kinds.KbNufft(im_size=(16, 16))(
        torch.complex(numbers(1, 1, 16, 16), numbers(1, 1, 16, 16, seed=2)), numbers(2, 20))
    return torch.view_as_real(found)


def effdet() -> Any:
    from effdet import create_model

    net = fill(create_model("tf_efficientdet_lite0", pretrained=False, pretrained_backbone=False,
                            num_classes=3, image_size=(128, 128))).eval()
    return net(numbers(1, 3, 128, 128))


def yolov5() -> Any:
    from pathlib import Path

    import yolov5 as kinds
    from yolov5.models.yolo import Model

    net = fill(Model(str(Path(kinds.__file__).parent / "models" / "yolov5n.yaml"), ch=3, nc=3))
    net.train()
    return net(numbers(1, 3, 64, 64))


def fairscale() -> Any:
    from fairscale.nn.checkpoint import checkpoint_wrapper
    from fairscale.optim import AdaScale  # noqa: F401

    net = layers()
    wrapped = nn.Sequential(checkpoint_wrapper(net[:2]), net[2])
    return trained(wrapped, loss)


def dalle2_pytorch() -> Any:
    from dalle2_pytorch import DiffusionPriorNetwork

    net = fill(DiffusionPriorNetwork(dim=16, depth=1, dim_head=8, heads=2)).eval()
    return net(numbers(2, 16), diffusion_timesteps=torch.tensor([3, 5]),
               text_embed=numbers(2, 16, seed=2))


CASES = {name: function for name, function in list(globals().items())
         if callable(function) and getattr(function, "__module__", "") == __name__}
