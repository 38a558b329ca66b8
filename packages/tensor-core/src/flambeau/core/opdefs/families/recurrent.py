"""Recurrent networks."""
from flambeau.core.opdefs.make import composite, kernel

_LAYER = ("Tensor input, Tensor hx, Tensor? cx, Tensor weight_ih, Tensor weight_hh,"
          " Tensor? bias_ih, Tensor? bias_hh, Tensor? weight_hr=None, Ints? batch_sizes=None,"
          " Str mode='lstm', Bool reverse=False, Bool keep=True")
_OPTIONS = "Bool has_biases, Int num_layers, Float dropout, Bool train, Bool bidirectional"
_CELL = "Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None"
_STEPS = ("result", "hidden", "cell")


def _network(name, states, outputs, what):
    """A network over sequences of one length, and over packed ones."""
    outputs = ", ".join([f"Tensor {output}" for output in outputs])
    return (
        composite(f"{name}[input](Tensor input, {states} hx, Tensors params, {_OPTIONS},"
                  f" Bool batch_first) -> ({outputs})", forms=("function",),
                  doc=f"{what} over sequences of one length."),
        composite(f"{name}[data](Tensor data, Tensor batch_sizes, {states} hx, Tensors params,"
                  f" {_OPTIONS}) -> ({outputs})", forms=("function",), raises_on_values=True,
                  doc=f"{what} over packed sequences."),
    )


OPDEFS = (
    *_network("lstm", "Tensors", _STEPS, "A long short-term memory network"),
    *_network("gru", "Tensor", _STEPS[:2], "A network of gated recurrent units"),
    *_network("rnn_tanh", "Tensor", _STEPS[:2], "An Elman network with tanh"),
    *_network("rnn_relu", "Tensor", _STEPS[:2], "An Elman network with relu"),
    composite(f"lstm_cell(Tensor input, Tensors hx, {_CELL}) -> (Tensor hidden, Tensor cell)",
              forms=("function",), doc="A step of an LSTM."),
    composite(f"gru_cell(Tensor input, Tensor hx, {_CELL})", forms=("function",),
              doc="A step of gated recurrent units."),
    composite(f"rnn_tanh_cell(Tensor input, Tensor hx, {_CELL})", forms=("function",),
              doc="A step of an Elman network with tanh."),
    composite(f"rnn_relu_cell(Tensor input, Tensor hx, {_CELL})", forms=("function",),
              doc="A step of an Elman network with relu."),
    kernel(f"recurrent({_LAYER}) -> (Tensor result, Tensor hidden, Tensor cell, Tensor gates,"
           " Tensor cells)", out=False, forms=(),
           doc="One direction of one recurrent layer over all steps; the last two outputs are what"
               " its gradient reads, empty without ``keep``.", autocast="lower", batching="rule",
           decomposes=True),
    kernel("recurrent_grad(Tensor? grad, Tensor? grad_hidden, Tensor? grad_cell, Tensor input,"
           " Tensor hx, Tensor? cx, Tensor weight_ih, Tensor weight_hh, Tensor? weight_hr,"
           " Ints? batch_sizes, Str mode, Bool reverse, Tensor result, Tensor gates, Tensor cells,"
           " Int needs) -> (Tensor input, Tensor hx, Tensor cx, Tensor weight_ih,"
           " Tensor weight_hh, Tensor bias_ih, Tensor bias_hh, Tensor weight_hr)", out=False,
           forms=(),
           doc="Gradients of ``recurrent``; ``needs`` is 1 for that of the input, plus 2 for those"
               " of the weights, plus 4 for those of the biases.", batching="rule",
           decomposes=True),
)
