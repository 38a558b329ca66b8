"""Names that PyTorch's modules have, and programs call, replace or use for their own."""

import pytest

import flambeau
from flambeau import nn


class Names(nn.Module):
    """A program's names, which a base class should not need for itself."""

    def __init__(self):
        super().__init__()
        self._hooks, self._members, self._put, self._forget = [], 1, 2, 3
        self._handles = self._replace = self._names = self._add_hook = None
        self.layer = nn.Linear(2, 2)
        self.layer.register_forward_hook(lambda module, args, output: self._hooks.append(output))
        self.register_buffer("seen", flambeau.zeros(1))

    def forward(self, x):
        return self.layer(x)


def test_names_of_programs_are_free():
    net = Names()
    net.register_forward_hook(lambda module, args, output: output * 2)
    net(flambeau.ones(1, 2))
    assert len(net._hooks) == 1 and len(list(net.state_dict())) == 3
    del net.seen
    net.seen = nn.Parameter(flambeau.ones(1))
    assert [name for name, _ in net.named_parameters()][0] == "seen"


class Doubled(nn.TransformerEncoderLayer):
    def _sa_block(self, x, attn_mask, key_padding_mask, is_causal=False):
        return super()._sa_block(x, attn_mask, key_padding_mask, is_causal) * 2

    def _ff_block(self, x):
        return super()._ff_block(x) * 3


class Crossed(nn.TransformerDecoderLayer):
    def _mha_block(self, x, mem, attn_mask, key_padding_mask, is_causal=False):
        return super()._mha_block(x, mem, attn_mask, key_padding_mask, is_causal) * 2


def test_blocks_of_a_layer_are_called_and_replaced():
    flambeau.manual_seed(0)
    x = flambeau.randn(5, 2, 8)
    layer = Doubled(8, 2, 16, dropout=0.0, norm_first=True)
    y = x + layer.self_attn(layer.norm1(x), layer.norm1(x), layer.norm1(x))[0] * 2
    inner = layer.linear2(layer.linear1(layer.norm2(y)).relu())
    assert flambeau.allclose(layer(x), y + 3 * inner, atol=1e-5)
    decoder, plain = Crossed(8, 2, 16, dropout=0.0), nn.TransformerDecoderLayer(8, 2, 16, 0.0)
    plain.load_state_dict(decoder.state_dict())
    assert not flambeau.allclose(decoder(x, x), plain(x, x))


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
def test_flat_weights_are_assigned(kind):
    rnn, x = kind(2, 3), flambeau.randn(4, 1, 2)
    before = rnn(x)[0]
    rnn._flat_weights = [weight * 0 for weight in rnn._flat_weights]
    assert rnn(x)[0].abs().sum() == 0
    rnn.weight_hh_l0 = nn.Parameter(rnn.weight_hh_l0.detach())      # its entry is the new one now
    assert rnn._flat_weights[1] is rnn.weight_hh_l0
    rnn._flat_weights = [rnn._parameters[name] for name in rnn._flat_weights_names]
    assert flambeau.equal(rnn(x)[0], before)
    with pytest.raises(ValueError, match="4 weights"):
        rnn._flat_weights = []


@pytest.mark.oracle
@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
@pytest.mark.parametrize("given", [(4, 3, 2), (4, 3, 5), (4, 2), (3, 4, 2)])
def test_checks_of_recurrent_layers(kind, given):
    torch = pytest.importorskip("torch")

    def checked(library):
        rnn = getattr(library.nn, kind)(2, 6, num_layers=2, bidirectional=True)
        state = library.zeros(4, 3, 6)
        hidden = (state, state) if kind == "LSTM" else state
        try:
            rnn.check_forward_args(library.zeros(given), hidden, None)
        except RuntimeError:
            return "RuntimeError"
        moved = rnn.permute_hidden(hidden, library.tensor([2, 0, 1]))
        return rnn.get_expected_hidden_size(library.zeros(given), None), len(moved)

    assert checked(flambeau) == checked(torch)


@pytest.mark.oracle
def test_further_names_of_layers():
    torch = pytest.importorskip("torch")

    def found(library):
        up = library.nn.ConvTranspose2d(1, 1, 3, stride=2)
        table = library.nn.Embedding(3, 2, padding_idx=1)
        library.nn.init.ones_(table.weight)
        table._fill_padding_idx_with_zero()
        return (tuple(up._output_padding(library.zeros(1, 1, 2, 2), [6, 5], [2, 2], [0, 0], [3, 3],
                                         2)),
                table.weight.tolist(), library.nn.ModuleList([up])._get_abs_string_index(-1),
                tuple(up._call_impl(library.zeros(1, 1, 2, 2)).shape))

    assert found(flambeau) == found(torch)


def test_modules_with_other_parameters_in_a_block():
    layer = nn.Linear(2, 1, bias=False)
    own, given = layer.weight, {"weight": flambeau.ones(1, 2)}
    with nn.utils.stateless._reparametrize_module(layer, given):
        assert layer(flambeau.ones(2)) == 2 and layer.weight is given["weight"]
        layer.weight = nn.Parameter(flambeau.zeros(1, 2))
    assert layer.weight is own and given["weight"].tolist() == [[0.0, 0.0]]
    with (
        pytest.raises(ValueError, match="inside"),
        nn.utils.stateless._reparametrize_module(layer, given, tie_weights=True, strict=True),
    ):
        raise ValueError("inside")
    assert layer.weight is own
    with (
        pytest.raises(RuntimeError, match="missing key"),
        nn.utils.stateless._reparametrize_module(layer, {}, strict=True),
    ):
        pass
