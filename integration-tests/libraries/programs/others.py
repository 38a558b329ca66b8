"""The main use of smaller libraries: each case is named after the library that it needs."""

from __future__ import annotations

from typing import Any

import torch
from worker import fill, gradients, numbers


def accelerate() -> Any:
    import accelerate

    model = fill(torch.nn.Linear(4, 3))
    helper = accelerate.Accelerator(cpu=True)
    data = torch.utils.data.TensorDataset(numbers(16, 4), numbers(16, 3, seed=2))
    optimizer = torch.optim.AdamW(model.parameters(), 0.05)
    model, optimizer, loader = helper.prepare(model, optimizer,
                                              torch.utils.data.DataLoader(data, 4))
    losses = []
    for x, y in loader:
        optimizer.zero_grad()
        loss = (model(x) - y).square().mean()
        helper.backward(loss)
        helper.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses


def peft() -> Any:
    import peft
    import transformers

    base = transformers.GPT2LMHeadModel(transformers.GPT2Config(
        vocab_size=99, n_positions=32, n_embd=32, n_layer=2, n_head=4))
    model = fill(peft.get_peft_model(base, peft.LoraConfig(
        r=4, target_modules=["c_attn"], fan_in_fan_out=True, task_type="CAUSAL_LM"))).eval()
    words = (90 * numbers(2, 8).sigmoid()).long()
    found = model(input_ids=words, labels=words)
    found.loss.backward()
    return found.loss, gradients(model), model.merge_and_unload()(words).logits


def einops() -> Any:
    from einops import einsum, rearrange, reduce, repeat
    from einops.layers.torch import Rearrange

    x = numbers(2, 6, 4)
    return [rearrange(x, "a (b c) d -> a c (b d)", b=2), reduce(x, "a b c -> a c", "mean"),
            repeat(x, "a b c -> a (r b) c", r=2), einsum(x, x, "a b c, a d c -> a b d"),
            Rearrange("a b c -> c (a b)")(x)]


def torchinfo() -> Any:
    from torchinfo import summary

    network = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(),
                                  torch.nn.LazyLinear(5))
    found = summary(network, input_size=(2, 3, 8, 8), verbose=0)
    return str(found), found.total_params, found.total_mult_adds


def torchdiffeq() -> Any:
    from torchdiffeq import odeint, odeint_adjoint

    field = fill(torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.Tanh(),
                                     torch.nn.Linear(16, 2)))

    class Field(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = field

        def forward(self, t: Any, y: Any) -> Any:
            return self.inner(y)

    times = torch.linspace(0.0, 1.0, 5)
    results = [odeint(Field(), numbers(3, 2), times, method=method)
               for method in ("dopri5", "rk4", "euler")]
    odeint_adjoint(Field(), numbers(3, 2), times).square().sum().backward()
    return results, gradients(field)


def x_transformers() -> Any:
    from x_transformers import Decoder, TransformerWrapper

    model = fill(TransformerWrapper(num_tokens=99, max_seq_len=32, attn_layers=Decoder(
        dim=32, depth=2, heads=4, rotary_pos_emb=True))).eval()
    scores = model((90 * numbers(2, 8).sigmoid()).long())
    scores.square().mean().backward()
    return scores, gradients(model)


def stable_baselines3() -> Any:
    from stable_baselines3 import PPO

    model = PPO("MlpPolicy", "CartPole-v1", n_steps=64, batch_size=32, n_epochs=2, seed=3,
                device="cpu")
    model.learn(256)
    return {name: value.double().norm() for name, value in model.policy.state_dict().items()}


def sentence_transformers() -> Any:
    from sentence_transformers import losses, util

    a, b = numbers(3, 8), numbers(4, 8, seed=2)
    return util.cos_sim(a, b), util.semantic_search(a, b, top_k=2), losses.__name__


CASES = {each.__name__: each for each in (
    accelerate, peft, einops, torchinfo, torchdiffeq, x_transformers, stable_baselines3,
    sentence_transformers)}
