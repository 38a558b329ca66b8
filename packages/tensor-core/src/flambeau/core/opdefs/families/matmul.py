"""Matrix products."""
from flambeau.core.opdefs.make import composite, kernel

_SCALED = "*, Scalar beta=1, Scalar alpha=1"


def _add(schema, doc, call=""):
    return composite(f"{schema[:-1]}, {_SCALED})", inplace=True, out=True, call=call,
                     doc=doc)


OPDEFS = (
    kernel("matmul(Tensor self, Tensor other)", dunder="matmul", aliases=("linalg.matmul",),
           doc="Matrix product, with batch dimensions broadcast."),
    kernel("linear(Tensor input, Tensor weight, Tensor? bias=None)", forms=("nn",), out=False,
           doc="``input @ weight.T + bias`` in one pass."),
    composite("mm(Tensor self, Tensor mat2)", out=True, call="mm", doc="Product of two matrices."),
    composite("bmm(Tensor self, Tensor mat2)", out=True,
              call="bmm", doc="Products of two stacks of matrices."),
    composite("mv(Tensor self, Tensor vec)", out=True,
              call="mv", doc="Product of a matrix and a vector."),
    composite("dot(Tensor self, Tensor tensor)", out=True,
              call="dot", doc="Inner product of two vectors."),
    composite("vdot(Tensor self, Tensor other)", out=True,
              call="dot", doc="Inner product of two vectors, the first conjugated."),
    composite("inner(Tensor self, Tensor other)", out=True,
              call="inner", doc="Inner products over the last dimension."),
    composite("outer(Tensor self, Tensor vec2)", out=True, aliases=("ger",),
              call="outer", doc="Outer product of two vectors."),
    composite("kron(Tensor self, Tensor other)", out=True, call="kron", doc="Kronecker product."),
    _add("addmm(Tensor self, Tensor mat1, Tensor mat2)",
         "``beta * self + alpha * (mat1 @ mat2)``.", "addmm"),
    _add("addmv(Tensor self, Tensor mat, Tensor vec)", "``beta * self + alpha * (mat @ vec)``.",
         "addmv"),
    _add("addr(Tensor self, Tensor vec1, Tensor vec2)",
         "``beta * self + alpha * outer(vec1, vec2)``.", "addr"),
    _add("baddbmm(Tensor self, Tensor batch1, Tensor batch2)",
         "``beta * self + alpha * (batch1 @ batch2)``.", "baddbmm"),
    _add("addbmm(Tensor self, Tensor batch1, Tensor batch2)",
         "``beta * self + alpha * sum(batch1 @ batch2)``, summed over the stack.",
         "addbmm"),
    composite("tensordot(Tensor self, Tensor other, Object dims=2)", out=True, forms=("function",),
              doc="Contracts several dimensions of two tensors."),
    composite("linalg_multi_dot(Tensors tensors)", out=True, forms=(),
              aliases=("linalg.multi_dot",), doc="Product of several matrices in the best order."),
    composite("linalg_vecdot(Tensor x, Tensor y, *, Dim dim=-1)", out=True, forms=(),
              aliases=("linalg.vecdot",), doc="Inner products along a dimension."),
    composite("cross(Tensor self, Tensor other, Dim? dim=None)", out=True,
              call="cross", doc="Cross product of vectors of three elements."),
    composite("linalg_cross(Tensor self, Tensor other, *, Dim dim=-1)", out=True, forms=(),
              aliases=("linalg.cross",),
              call="cross", doc="Cross product of vectors of three elements."),
    composite("linalg_diagonal(Tensor A, *, Int offset=0, Dim dim1=-2, Dim dim2=-1)", forms=(),
              aliases=("linalg.diagonal",), doc="The diagonal of matrices, as the last dimension."),
    composite("bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None)",
              forms=("function", "nn"),
              doc="``input1 @ weight @ input2 + bias``."),
)
