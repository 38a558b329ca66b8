"""Sorting and searching."""
from flambeau.core.opdefs.make import composite, kernel

_FUNCTION = ("function",)
_SEVERAL = "tuple[Tensor, ...] if return_inverse or return_counts else Tensor"

OPDEFS = (
    kernel("median(Tensor self)", out=False, doc="The lower median of all elements; NaN wins.",
           batching="rule", decomposes=True),
    kernel("median[dim](Tensor self, Dim dim=-1, Bool keepdim=False)"
           " -> (Tensor values, Tensor indices)",
           doc="Lower medians along a dimension, and where they are.", exact_out=True, jvp="rule",
           batching="dims", decomposes=True),
    kernel("kthvalue(Tensor self, Int k, Dim dim=-1, Bool keepdim=False)"
           " -> (Tensor values, Tensor indices)",
           doc="The k-th least values along a dimension, counted from 1.", exact_out=True,
           jvp="rule", batching="dims", decomposes=True),
    kernel("mode(Tensor self, Dim dim=-1, Bool keepdim=False) -> (Tensor values, Tensor indices)",
           doc="The values that occur most often along a dimension.", exact_out=True, jvp="rule",
           batching="dims", decomposes=True),
    composite("msort(Tensor self)", call="msort", doc="Sorted along the first dimension.",
              exact_out=True, overlap="partial"),
    kernel("sort(Tensor self, Dim dim=-1, Bool descending=False, Bool stable=False)"
           " -> (Tensor values, Tensor indices)", doc="Sorts along a dimension.", exact_out=True,
           jvp="rule", batching="dims"),
    kernel("topk(Tensor self, Int k, Dim dim=-1, Bool largest=True, Bool sorted=True)"
           " -> (Tensor values, Tensor indices)", doc="The k greatest or least values.",
           exact_out=True, jvp="rule", batching="dims"),
    kernel("searchsorted(Tensor sorted_sequence, Operand input, *, Bool out_int32=False,"
           " Bool right=False, Str? side=None, Tensor? sorter=None)", forms=_FUNCTION,
           differentiable=False, doc="Where numbers belong in sorted sequences.", exact_out=True,
           batching="rule", raises_on_values=True, decomposes=True),
    kernel("bucketize(Operand input, Tensor boundaries, *, Bool out_int32=False,"
           " Bool right=False)", forms=_FUNCTION, differentiable=False,
           doc="Between which sorted boundaries numbers lie.", exact_out=True, batching="rule",
           decomposes=True),
    kernel("row_order(Tensor self)", forms=(), differentiable=False, out=False,
           doc="The order that sorts the rows of a matrix, compared from the first column; "
               "NaN is neither less nor greater than any number.", decomposes=True),
    composite("unique(Tensor self, Bool sorted=True, Bool return_inverse=False,"
              " Bool return_counts=False, Dim? dim=None)", differentiable=False,
              returns=_SEVERAL,
              doc="The different elements or slices, sorted; also where each went and how many.",
              dynamic_shape=True),
    composite("unique_consecutive(Tensor self, Bool return_inverse=False,"
              " Bool return_counts=False, Dim? dim=None)", differentiable=False,
              returns=_SEVERAL,
              doc="Elements or slices without those that equal their predecessor.",
              dynamic_shape=True),
    composite("isin(Operand elements, Operand test_elements, *, Bool assume_unique=False,"
              " Bool invert=False)", forms=_FUNCTION, differentiable=False,
              doc="Whether each element is among the test elements.", exact_out=True),
    composite("argsort(Tensor self, Dim dim=-1, Bool descending=False, Bool stable=False)",
              call="argsort", doc="The order that sorts along a dimension."),
)
