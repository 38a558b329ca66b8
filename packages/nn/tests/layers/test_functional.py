"""Every public function of nn.functional computes with operators of the operator table."""

import pickle

import pytest

import flambeau
from flambeau.core import namespaces, ops
from flambeau.nn import functional as F

#: Functions written in Python for an implicit `dim`, which the operator of the same name does not
#: have.
ADAPTED = {"softmax", "log_softmax"}
#: The same, without an operator.
WRITTEN = {"gumbel_softmax", "softmin", "multi_head_attention_forward", "linear_cross_entropy",
           "conv_tbc", "grouped_mm", "scaled_mm"}
#: Second names, and the operators they are of.
RENAMED = {"native_channel_shuffle": "channel_shuffle"}


def test_every_function_has_a_row():
    operators = namespaces["nn.functional"]
    plain = set(F.__all__) - ADAPTED - WRITTEN - RENAMED.keys()
    assert plain
    for name in plain:
        assert getattr(F, name) is (operators[name] if name in operators else getattr(ops, name))
    for name in ADAPTED:
        assert callable(getattr(ops, name))
    for name, name in RENAMED.items():
        assert getattr(F, name) is getattr(ops, name)


#: Activations that PyTorch lets overwrite their input, with their other arguments.
INPLACE = {"relu": (), "relu6": (), "silu": (), "mish": (), "selu": (), "hardswish": (),
           "hardsigmoid": (), "elu": (0.5,), "celu": (2.0,), "leaky_relu": (0.1,),
           "hardtanh": (-0.5, 0.5), "threshold": (0.1, 20.0), "rrelu": (0.1, 0.3, False)}


@pytest.mark.parametrize("name", INPLACE)
def test_inplace_is_the_last_argument_or_a_keyword(name):
    function, rest = getattr(F, name), INPLACE[name]
    start = [-2.0, -0.25, 0.0, 0.75, 5.0]
    expected = function(flambeau.tensor(start), *rest)
    by_position, by_keyword = flambeau.tensor(start), flambeau.tensor(start)
    assert function(by_position, *rest, True) is by_position
    assert function(by_keyword, *rest, inplace=True) is by_keyword
    assert by_position.tolist() == by_keyword.tolist() == expected.tolist()
    untouched = flambeau.tensor(start)
    assert function(untouched, *rest, False).tolist() == expected.tolist()
    assert function(input=untouched, inplace=False).shape == (5,) if not rest else True
    assert untouched.tolist() == start
    assert getattr(flambeau.core.ops, name + "_")(untouched, *rest) is untouched


def test_inplace_is_recorded():
    x = flambeau.tensor([-1.0, 2.0], requires_grad=True)
    F.celu(F.elu(x * 1.0, 2.0, True), inplace=True).sum().backward()
    y = flambeau.tensor([-1.0, 2.0], requires_grad=True)
    F.celu(F.elu(y, 2.0)).sum().backward()
    assert x.grad.tolist() == y.grad.tolist()


def test_inplace_is_shown_and_pickled():
    assert "elu(self, alpha=1.0, inplace=False)" in F.elu.__doc__
    x = flambeau.tensor([-1.0])
    assert pickle.loads(pickle.dumps(F.elu))(x, inplace=True) is x
    with pytest.raises(TypeError, match="unexpected keyword argument 'inplace'"):
        F.gelu(x, inplace=True)
    with pytest.raises(TypeError, match="at most 2 positional arguments"):
        F.elu(x, 1.0, 0.5)


def test_gumbel_softmax_draws_classes_in_proportion():
    flambeau.manual_seed(0)
    logits = flambeau.tensor([0.2, 0.5, 0.3]).log().expand(20000, 3)
    shares = F.gumbel_softmax(logits, tau=0.5)
    assert (shares.sum(-1) - 1).abs().max().item() < 1e-5
    chosen = F.gumbel_softmax(logits, hard=True)
    assert chosen.round(decimals=5).unique().tolist() == [0, 1]
    assert chosen.mean(0).tolist() == pytest.approx([0.2, 0.5, 0.3], abs=0.02)


def test_gumbel_softmax_has_the_gradient_of_the_shares():
    pytest.importorskip("flambeau.autograd")
    weights, grads = flambeau.tensor([[1.0], [2.0], [5.0]]), []
    for hard in (False, True):
        logits = flambeau.tensor([[0.1], [0.2], [0.3]], requires_grad=True)
        flambeau.manual_seed(3)
        (F.gumbel_softmax(logits, 0.7, hard, dim=0) * weights).sum().backward()
        grads.append(logits.grad.flatten().tolist())
    assert grads[0] == pytest.approx(grads[1])
    assert max(grads[0]) > 0.1


HELPERS = "a helper of PyTorch's own functions"
GPU = "a product in formats of eight and four bits in groups, of PyTorch's GPU kernels"
#: Names of torch.nn.functional that are not here -> why.
ABSENT = {
    **dict.fromkeys(("assert_int_or_pair", "boolean_dispatch", "handle_torch_function"), HELPERS),
    **dict.fromkeys(("has_torch_function", "has_torch_function_unary"), HELPERS),
    "has_torch_function_variadic": HELPERS,
    "scaled_grouped_mm": GPU,
}
#: Parameters that are not here -> why.
LACKING = {
    **dict.fromkeys(
        (f"{kind}max_pool{d}d_with_indices" for kind in ("", "adaptive_") for d in (1, 2, 3)),
        {"return_indices"},  # which they do in any case
    ),
    "normalize": {"out"},  # copy the result instead
}


def _functions(torch):
    """Public functions of torch.nn.functional by name."""
    import inspect
    import typing

    here = vars(torch.nn.functional).items()
    return {
        name: value
        for name, value in here
        if callable(value) and name[0] != "_" and not inspect.isclass(value)
        and not hasattr(typing, name)
    }


@pytest.mark.oracle
def test_every_name_of_torch():
    functions = _functions(pytest.importorskip("torch"))
    assert len(functions) > 120
    assert {name for name in functions if not hasattr(F, name)} == set(ABSENT)


def _parameters(function):
    """Names of the parameters of a Python function, or of an operator, which has a text."""
    import inspect
    import re

    text = getattr(function, "__text_signature__", None)
    if text is None:
        return list(inspect.signature(function).parameters)
    plain = re.sub(r"\([^()]*\)|\[[^\]]*\]", "", text[1:-1])
    names = [part.split("=")[0].strip() for part in plain.split(",")]
    return [name for name in names if name not in ("*", "/", "")]


@pytest.mark.oracle
def test_parameters_are_those_of_torch():
    """Names and order, but for the first, as far as PyTorch shows them."""
    import inspect

    compared = 0
    for name, function in _functions(pytest.importorskip("torch")).items():
        try:
            theirs = list(inspect.signature(function).parameters)
        except ValueError:
            continue
        if name in ABSENT or theirs == ["args", "kwargs"]:
            continue
        mine = _parameters(getattr(F, name))
        wanted = [p for p in theirs if p not in LACKING.get(name, ())]
        assert mine[1:] == wanted[1:], name
        compared += 1
    assert compared > 80
