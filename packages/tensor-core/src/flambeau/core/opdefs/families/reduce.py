"""Reductions and scans."""
from flambeau.core.opdefs.make import composite, kernel, reduction

# What the C++ reduction driver computes; the numbers are shared with native/reduce/reduce.h.
(SUM, PROD, MEAN, AMAX, AMIN, ANY, ALL, ARGMAX, ARGMIN, MAXDIM, MINDIM, VAR,
 LOGSUMEXP, NANSUM, NORM, STD) = range(16)


def _fold(schema, option, **facts):
    return reduction(schema, option=option, infer="reduction", run="reduction", **facts)


OPDEFS = (
    _fold("sum(Tensor self, Dims? dim=None, Bool keepdim=False, *, DType? dtype=None)", SUM,
          doc="Sum over dimensions."),
    _fold("prod(Tensor self, Dims? dim=None, Bool keepdim=False, *, DType? dtype=None)", PROD,
          doc="Product over dimensions."),
    _fold("mean(Tensor self, Dims? dim=None, Bool keepdim=False, *, DType? dtype=None)", MEAN,
          doc="Arithmetic mean over dimensions."),
    _fold("amax(Tensor self, Dims? dim=None, Bool keepdim=False)", AMAX,
          doc="Greatest value over dimensions; NaN wins."),
    _fold("amin(Tensor self, Dims? dim=None, Bool keepdim=False)", AMIN,
          doc="Least value over dimensions; NaN wins."),
    _fold("any(Tensor self, Dims? dim=None, Bool keepdim=False)", ANY, differentiable=False,
          doc="Whether any element is true."),
    _fold("all(Tensor self, Dims? dim=None, Bool keepdim=False)", ALL, differentiable=False,
          doc="Whether all elements are true."),
    _fold("argmax(Tensor self, Dim? dim=None, Bool keepdim=False)", ARGMAX,
          differentiable=False, doc="Index of the greatest value."),
    _fold("argmin(Tensor self, Dim? dim=None, Bool keepdim=False)", ARGMIN,
          differentiable=False, doc="Index of the least value."),
    _fold("max[dim](Tensor self, Dim dim, Bool keepdim=False) -> (Tensor values, Tensor indices)",
          MAXDIM, doc="Greatest values along a dimension, and where they are."),
    _fold("min[dim](Tensor self, Dim dim, Bool keepdim=False) -> (Tensor values, Tensor indices)",
          MINDIM, doc="Least values along a dimension, and where they are."),
    _fold("var(Tensor self, Dims? dim=None, *, Scalar? correction=1, Bool keepdim=False)", VAR,
          doc="Variance over dimensions."),
    _fold("std(Tensor self, Dims? dim=None, *, Scalar? correction=1, Bool keepdim=False)", STD,
          doc="Standard deviation over dimensions."),
    _fold("logsumexp(Tensor self, Dims dim, Bool keepdim=False)", LOGSUMEXP,
          aliases=("special.logsumexp",), doc="``log(sum(exp(x)))`` without overflow."),
    _fold("nansum(Tensor self, Dims? dim=None, Bool keepdim=False, *, DType? dtype=None)", NANSUM,
          doc="Sum over dimensions; NaN counts as zero."),
    _fold("norm_of(Tensor self, Float p, Dims? dim=None, Bool keepdim=False, *,"
          " DType? dtype=None)", NORM, forms=(),
          doc="``sum(|x|**p)**(1/p)`` over dimensions; a maximum or minimum for infinite p."),
    kernel("cumsum(Tensor self, Dim dim, *, DType? dtype=None)", inplace=True,
           doc="Running sum along a dimension."),
    kernel("cumprod(Tensor self, Dim dim, *, DType? dtype=None)", inplace=True,
           doc="Running product along a dimension."),
    kernel("cummax(Tensor self, Dim dim) -> (Tensor values, Tensor indices)",
           doc="Running maximum along a dimension, and where it was last met."),
    kernel("cummin(Tensor self, Dim dim) -> (Tensor values, Tensor indices)",
           doc="Running minimum along a dimension, and where it was last met."),
    kernel("logcumsumexp(Tensor self, Dim dim)",
           doc="Running ``log(sum(exp(x)))`` along a dimension, without overflow."),
    kernel("nanmedian(Tensor self)", out=False, infer="median",
           doc="The lower median of all elements that are not NaN."),
    kernel("nanmedian[dim](Tensor self, Dim dim=-1, Bool keepdim=False)"
           " -> (Tensor values, Tensor indices)", infer="median__dim",
           doc="Lower medians along a dimension of what is not NaN."),
    kernel("softmax(Tensor self, Dim dim, DType? dtype=None)",
           aliases=("special.softmax",), forms=("function", "method"),
           doc="``exp(x) / sum(exp(x))`` along a dimension."),
    kernel("log_softmax(Tensor self, Dim dim, DType? dtype=None)",
           aliases=("special.log_softmax",), forms=("function", "method"),
           doc="``x - logsumexp(x)`` along a dimension."),
    kernel("softmax_grad(Tensor grad, Tensor result, Dim dim)", forms=(),
           doc="``result * (grad - sum(grad * result))``."),
    kernel("log_softmax_grad(Tensor grad, Tensor result, Dim dim)", forms=(),
           doc="``grad - exp(result) * sum(grad)``."),
    composite("max(Tensor self)", call="max", doc="The greatest value."),
    composite("min(Tensor self)", call="min", doc="The least value."),
    composite("max[other](Tensor self, Tensor other)", call="max_other",
              doc="The greater of both."),
    composite("min[other](Tensor self, Tensor other)", call="min_other", doc="The lesser of both."),
)
