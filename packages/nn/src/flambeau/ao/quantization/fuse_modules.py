"""Fusing: layers that follow each other become one, which quantization replaces."""
from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import flambeau.ao.nn.intrinsic.fused as fused
from flambeau import nn as layers
from flambeau.nn import Module
from flambeau.nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval
from flambeau.nn.utils.parametrize import type_before_parametrizations as kind_of

__all__ = ["fuse_conv_bn", "fuse_conv_bn_relu", "fuse_convtranspose_bn", "fuse_known_modules",
           "fuse_linear_bn", "fuse_modules", "fuse_modules_qat"]

_CONV_RELU: dict[Any, Any] = {
    layers.Conv1d: fused.ConvReLU1d, layers.Conv2d: fused.ConvReLU2d,
    layers.Conv3d: fused.ConvReLU3d}
_CONV_BN: dict[Any, Any] = {
    layers.Conv1d: fused.ConvBn1d, layers.Conv2d: fused.ConvBn2d, layers.Conv3d: fused.ConvBn3d}
_CONV_BN_RELU: dict[Any, Any] = {
    layers.Conv1d: fused.ConvBnReLU1d, layers.Conv2d: fused.ConvBnReLU2d,
    layers.Conv3d: fused.ConvBnReLU3d}


def _expect_mode(is_qat: bool, *modules: Module) -> None:
    if any(module.training != modules[0].training for module in modules):
        raise AssertionError("layers that are fused must all be in training, or all not: write "
                             "network.train() or network.eval() before")
    if is_qat and not modules[0].training:
        raise AssertionError("fuse_modules_qat(): the layers are in eval mode: write "
                             "network.train() before, or fuse_modules()")
    if not is_qat and modules[0].training:
        raise AssertionError("fuse_modules(): a batch norm is fused in eval mode alone: write "
                             "network.eval() before, or fuse_modules_qat()")


def fuse_conv_bn(is_qat: bool, conv: Any, bn: Any) -> Module:
    """A convolution with the batch norm in its weight; for training both in a row.

    Args:
        is_qat: Whether the network is trained with rounding.
        conv: The convolution.
        bn: The batch norm.

    Raises:
        AssertionError: The mode of the layers is another.
    """
    _expect_mode(is_qat, conv, bn)
    return _CONV_BN[kind_of(conv)](conv, bn) if is_qat else fuse_conv_bn_eval(conv, bn)


def fuse_conv_bn_relu(is_qat: bool, conv: Any, bn: Any, relu: Any) -> Module:
    """`fuse_conv_bn` with a ReLU behind.

    Args:
        is_qat: Whether the network is trained with rounding.
        conv: The convolution.
        bn: The batch norm.
        relu: The ReLU.

    Raises:
        AssertionError: The mode of the layers is another.
    """
    _expect_mode(is_qat, conv, bn, relu)
    if is_qat:
        return _CONV_BN_RELU[kind_of(conv)](conv, bn, relu)
    return _CONV_RELU[kind_of(conv)](fuse_conv_bn_eval(conv, bn), relu)


def fuse_linear_bn(is_qat: bool, linear: Any, bn: Any) -> Module:
    """A linear layer with the batch norm in its weight; for training both in a row.

    Args:
        is_qat: Whether the network is trained with rounding.
        linear: The linear layer.
        bn: The batch norm.

    Raises:
        AssertionError: The mode of the layers is another.
    """
    _expect_mode(is_qat, linear, bn)
    return fused.LinearBn1d(linear, bn) if is_qat else fuse_linear_bn_eval(linear, bn)


def fuse_convtranspose_bn(is_qat: bool, convt: Any, bn: Any) -> Module:
    """A transposed convolution with the batch norm in its weight.

    Args:
        is_qat: False.
        convt: The convolution.
        bn: The batch norm.

    Raises:
        AssertionError: The mode of the layers is another.
        NotImplementedError: It is for training.
    """
    _expect_mode(is_qat, convt, bn)
    if is_qat:
        raise NotImplementedError("fuse_modules_qat(): transposed convolutions are not fused for "
                                  "training: leave them out of the list")
    return fuse_conv_bn_eval(convt, bn, transpose=True)


def _in_row(kind: Any) -> Callable[..., Module]:
    return lambda is_qat, *modules: kind(*modules)


#: Kinds of layers in a row -> what fuses them.
FUSERS: dict[tuple[type, ...], Callable[..., Module]] = {
    **{(getattr(layers, f"Conv{n}d"), getattr(layers, f"BatchNorm{n}d")): fuse_conv_bn
       for n in (1, 2, 3)},
    **{(getattr(layers, f"Conv{n}d"), getattr(layers, f"BatchNorm{n}d"), layers.ReLU):
       fuse_conv_bn_relu for n in (1, 2, 3)},
    **{(conv, layers.ReLU): _in_row(kind) for conv, kind in _CONV_RELU.items()},
    (layers.Linear, layers.BatchNorm1d): fuse_linear_bn,
    (layers.Linear, layers.ReLU): _in_row(fused.LinearReLU),
    (layers.BatchNorm2d, layers.ReLU): _in_row(fused.BNReLU2d),
    (layers.BatchNorm3d, layers.ReLU): _in_row(fused.BNReLU3d),
    **{(getattr(layers, f"ConvTranspose{n}d"), getattr(layers, f"BatchNorm{n}d")):
       fuse_convtranspose_bn for n in (1, 2, 3)}}


def fuse_known_modules(mod_list: list[Any], is_qat: bool,
                       additional_fuser_method_mapping: Any = None) -> list[Module]:
    """What stands for layers in a row: the fused one, then identities.

    Args:
        mod_list: The layers.
        is_qat: Whether the network is trained with rounding.
        additional_fuser_method_mapping: Kinds of layers -> a function, beside those known.

    Raises:
        NotImplementedError: These layers are not fused.
    """
    kinds = tuple(map(kind_of, mod_list))
    fuser = {**FUSERS, **(additional_fuser_method_mapping or {})}.get(kinds)
    if fuser is None:
        raise NotImplementedError(
            f"Cannot fuse modules: {', '.join(kind.__name__ for kind in kinds)}. These are "
            "fused: a convolution or a linear layer with a batch norm, a ReLU, or both behind")
    made = fuser(is_qat, *mod_list)
    # What was to run before the first layer and after the last runs so still.
    for hook in mod_list[0]._forward_pre_hooks.values():
        made.register_forward_pre_hook(hook)
    mod_list[0]._forward_pre_hooks.clear()
    for hook in mod_list[-1]._forward_hooks.values():
        made.register_forward_hook(hook)
    mod_list[-1]._forward_hooks.clear()
    rest = []
    for _ in mod_list[1:]:
        rest.append(layers.Identity())
        rest[-1].training = mod_list[0].training
    return [made, *rest]


def _fuse(model: Module, names: list[str], is_qat: bool, fuser: Any, mapping: Any) -> None:
    parents = [model.get_submodule(name.rpartition(".")[0]) for name in names]
    lasts = [name.rpartition(".")[2] for name in names]
    found = [getattr(parent, last) for parent, last in zip(parents, lasts, strict=True)]
    new = fuser(found, is_qat, mapping)
    for parent, last, module in zip(parents, lasts, new, strict=True):
        setattr(parent, last, module)


def _fused_network(model: Module, modules_to_fuse: Any, is_qat: bool, inplace: bool, fuser: Any,
                   custom: Any) -> Module:
    if not inplace:
        model = copy.deepcopy(model)
    several = all(isinstance(entry, (list, tuple)) for entry in modules_to_fuse)
    mapping = (custom or {}).get("additional_fuser_method_mapping")
    for names in modules_to_fuse if several else [modules_to_fuse]:
        _fuse(model, list(names), is_qat, fuser, mapping)
    return model


def fuse_modules(model: Module, modules_to_fuse: Any, inplace: bool = False,
                 fuser_func: Any = fuse_known_modules,
                 fuse_custom_config_dict: Any = None) -> Module:
    """A network in which layers that follow each other are one.

    Args:
        model: The network, in eval mode.
        modules_to_fuse: Names of layers in a row, or a list of such lists.
        inplace: Whether ``model`` itself changes.
        fuser_func: What fuses a list of layers.
        fuse_custom_config_dict: ``{"additional_fuser_method_mapping": {kinds: function}}``.

    Returns:
        The network; the first layer of a row is the fused one, the others are identities.

    Raises:
        NotImplementedError: Layers of these kinds are not fused.

    Example:
        >>> from flambeau import nn
        >>> from flambeau.ao.quantization import fuse_modules
        >>> network = nn.Sequential(nn.Linear(3, 2), nn.ReLU()).eval()
        >>> type(fuse_modules(network, ["0", "1"])[0]).__name__
        'LinearReLU'
    """
    return _fused_network(model, modules_to_fuse, False, inplace, fuser_func,
                          fuse_custom_config_dict)


def fuse_modules_qat(model: Module, modules_to_fuse: Any, inplace: bool = False,
                     fuser_func: Any = fuse_known_modules,
                     fuse_custom_config_dict: Any = None) -> Module:
    """`fuse_modules` for a network that is trained with rounding: batch norms stay.

    Args:
        model: The network, in training mode.
        modules_to_fuse: as in `fuse_modules`.
        inplace: as in `fuse_modules`.
        fuser_func: as in `fuse_modules`.
        fuse_custom_config_dict: as in `fuse_modules`.
    """
    return _fused_network(model, modules_to_fuse, True, inplace, fuser_func,
                          fuse_custom_config_dict)
