"""More libraries in their main use: cases are named after the libraries."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from worker import fill, numbers, trained

from programs.further_used import layers, loss, used


def keras() -> Any:
    import os

    os.environ["KERAS_BACKEND"] = "torch"
    import keras

    keras.utils.set_random_seed(1)
    x, y = numbers(64, 12, 12, 3).numpy(), (torch.arange(64) * 7 % 4).numpy()
    net = keras.Sequential([
        keras.layers.Input((12, 12, 3)), keras.layers.Conv2D(6, 3, activation="relu"),
        keras.layers.BatchNormalization(), keras.layers.MaxPooling2D(), keras.layers.Flatten(),
        keras.layers.Dropout(0.2), keras.layers.Dense(4)])
    net.set_weights([0.1 * numbers(*each.shape).numpy() if "variance" not in each.path else
                     numbers(*each.shape).abs().numpy() + 0.5 for each in net.weights])
    net.compile(optimizer=keras.optimizers.Adam(1e-2), metrics=["accuracy"],
                loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    history = net.fit(x, y, batch_size=16, epochs=3, validation_split=0.25, verbose=0,
                      shuffle=False)
    words = keras.Input((7,), dtype="int32")
    h = keras.layers.Embedding(11, 8)(words)
    h = keras.layers.MultiHeadAttention(2, 4)(h, h)
    h = keras.layers.LayerNormalization()(h)
    h = keras.layers.Bidirectional(keras.layers.LSTM(5, return_sequences=True))(h)
    h = keras.layers.GRU(6)(h)
    reader = keras.Model(words, keras.layers.Dense(1)(h))
    reader.set_weights([0.3 * numbers(*each.shape).numpy() for each in reader.weights])
    reader.compile("rmsprop", "mse")
    ids = (torch.arange(8 * 7).reshape(8, 7) * 5 % 11).numpy()
    lost = reader.fit(ids, numbers(8, 1).numpy(), epochs=3, verbose=0, shuffle=False)
    return (history.history, net.predict(x[:5], verbose=0), net.evaluate(x, y, verbose=0),
            lost.history, reader.predict(ids, verbose=0))


def came_pytorch() -> Any:
    from came_pytorch import CAME

    net = layers()
    return trained(net, loss, CAME(net.parameters(), lr=1e-2, weight_decay=1e-2))


def dadaptation() -> Any:
    import dadaptation

    found = []
    for name in ("DAdaptAdam", "DAdaptSGD", "DAdaptAdan"):
        net = layers()
        found.append(trained(net, loss, getattr(dadaptation, name)(net.parameters(), lr=1.0)))
    return found


def torch_optimi() -> Any:
    import optimi

    found = []
    for name in ("Adam", "AdamW", "Adan", "Lion", "RAdam", "Ranger", "SGD", "StableAdamW"):
        for more in ({}, {"decouple_lr": True, "max_lr": 1e-2}, {"foreach": True}):
            net = layers()
            found.append(trained(net, loss, getattr(optimi, name)(net.parameters(), lr=1e-2,
                                                                 **more)))
    return found


def heavyball() -> Any:
    import heavyball

    heavyball.utils.compile_mode = None
    found = []
    for name in ("AdamW", "NAdam", "RMSprop", "SFAdamW", "ADOPT", "SGD"):
        net = layers()
        found.append(trained(net, loss, getattr(heavyball, name)(net.parameters(), lr=1e-2)))
    return found


def torchcam() -> Any:
    import torchcam.methods as methods

    net = fill(nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Conv2d(4, 5, 3), nn.ReLU(),
                             nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(5, 3))).eval()
    x, found = numbers(2, 3, 12, 12), []
    for name in ("CAM", "GradCAM", "GradCAMpp", "SmoothGradCAMpp", "XGradCAM", "LayerCAM",
                 "ScoreCAM", "SSCAM", "ISCAM"):
        torch.manual_seed(0)
        with getattr(methods, name)(net, input_shape=(3, 12, 12)) as extract:
            found.append(extract([0, 2], net(x)))
    return found


def zennit() -> Any:
    import torchvision
    from zennit.attribution import Gradient, IntegratedGradients, SmoothGrad
    from zennit.composites import EpsilonGammaBox, EpsilonPlusFlat, ExcitationBackprop
    from zennit.torchvision import ResNetCanonizer

    net = fill(torchvision.models.resnet18(num_classes=5)).eval()
    x, eye, found = numbers(2, 3, 48, 48), torch.eye(5)[[1, 3]], []
    for composite in (EpsilonGammaBox(low=-3.0, high=3.0, canonizers=[ResNetCanonizer()]),
                      EpsilonPlusFlat(canonizers=[ResNetCanonizer()]), ExcitationBackprop()):
        with Gradient(net, composite) as attributor:
            found.append(attributor(x, eye))
    torch.manual_seed(0)
    with SmoothGrad(net, noise_level=0.1, n_iter=3) as attributor:
        found.append(attributor(x, eye)[0])
    with IntegratedGradients(net, n_iter=3) as attributor:
        found.append(attributor(x, eye))
    return found


def snac() -> Any:
    from snac import SNAC

    net = SNAC(sampling_rate=24000, encoder_dim=8, encoder_rates=[2, 2], decoder_dim=16,
               decoder_rates=[2, 2], attn_window_size=None, codebook_size=16, codebook_dim=4,
               vq_strides=[2, 1], noise=False)
    fill(net)
    x = 0.3 * numbers(2, 1, 256)
    sound, codes = net(x)
    (sound - x).square().mean().backward()
    return sound, codes, [each.grad for each in net.parameters()], net.decode(codes)


def brevitas() -> Any:
    import brevitas.nn as qnn
    from brevitas.quant import Int8ActPerTensorFloat, Int8WeightPerChannelFloat

    net = nn.Sequential(
        qnn.QuantIdentity(return_quant_tensor=True),
        qnn.QuantConv2d(3, 4, 3, weight_quant=Int8WeightPerChannelFloat, weight_bit_width=4),
        nn.BatchNorm2d(4), qnn.QuantReLU(bit_width=4),
        nn.Flatten(), qnn.QuantLinear(4 * 36, 3, bias=True, weight_bit_width=8,
                                      output_quant=Int8ActPerTensorFloat))
    return used(net, numbers(2, 3, 8, 8))


CASES = {name: value for name, value in list(globals().items())
         if callable(value) and getattr(value, "__module__", "") == __name__}
