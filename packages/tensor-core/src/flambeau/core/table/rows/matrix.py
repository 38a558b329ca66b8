"""Matrix products."""
from flambeau.core.table.make import kernel

ROWS = (
    kernel("matmul(Tensor self, Tensor other)", dunder="matmul", aliases=("linalg.matmul",),
           doc="Matrix product, with batch dimensions broadcast."),
    kernel("linear(Tensor input, Tensor weight, Tensor? bias=None)", forms=("nn",), out=False,
           doc="``input @ weight.T + bias`` in one pass."),
)
