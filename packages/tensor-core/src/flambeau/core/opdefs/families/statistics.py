"""Statistics."""
from flambeau.core.opdefs.make import composite, kernel


def _moments(name, outputs, doc):
    """The three ways to ask for a variance: a correction, or PyTorch's older ``unbiased``."""
    facts = {"doc": doc, "returns": "tuple[Tensor, Tensor]" if outputs else ""}
    every = [composite(f"{name}[unbiased](Tensor self, Bool unbiased){outputs}", **facts),
             composite(f"{name}[dim](Tensor self, Dims? dim, Bool unbiased=True,"
                       f" Bool keepdim=False){outputs}", **facts)]
    if outputs:     # var and std are kernels
        every.insert(0, composite(f"{name}(Tensor self, Dims? dim=None, *, Scalar? correction=1,"
                                  f" Bool keepdim=False){outputs}", call=name, **facts))
    return every


OPDEFS = (
    # ---- moments
    *_moments("var", "", "Variance over dimensions."),
    *_moments("std", "", "Standard deviation over dimensions."),
    *_moments("var_mean", " -> (Tensor var, Tensor mean)", "Variance and mean over dimensions."),
    *_moments("std_mean", " -> (Tensor std, Tensor mean)",
              "Standard deviation and mean over dimensions."),
    composite("nanmean(Tensor self, Dims? dim=None, Bool keepdim=False, *, DType? dtype=None)",
              doc="Mean of the elements that are not NaN."),
    composite("cov(Tensor self, *, Int correction=1, Tensor? fweights=None,"
              " Tensor? aweights=None)", doc="Covariances of variables, one per row.",
              raises_on_values=True),
    composite("corrcoef(Tensor self)",
              doc="Correlation coefficients of variables, one per row."),
    # ---- counts and extremes
    composite("count_nonzero(Tensor self, Dims? dim=None)", differentiable=False,
              call="count_nonzero", doc="How many elements are not zero."),
    composite("aminmax(Tensor self, *, Dim? dim=None, Bool keepdim=False)"
              " -> (Tensor min, Tensor max)", call="aminmax", doc="Least and greatest values.",
              exact_out=True),
    # ---- norms and distances
    composite("norm(Tensor self, Object p='fro', Dims? dim=None, Bool keepdim=False,"
              " DType? dtype=None)", call="norm",
              doc="The p-norm over dimensions; ``'nuc'`` of matrices.", autocast="float32 on gpu",
              exact_out=True, raises_on_values=True),
    composite("dist(Tensor self, Tensor other, Scalar p=2)",
              doc="The p-norm of the difference.", autocast="float32 on gpu"),
    composite("renorm(Tensor self, Scalar p, Dim dim, Scalar maxnorm)", inplace=True,
              doc="Slices along a dimension scaled down to a greatest p-norm.",
              autocast="float32 on gpu", exact_out=True, overlap="partial"),
    composite("trace(Tensor self)", call="trace", doc="Sum of the diagonal of a matrix.",
              autocast="float32"),
    # ---- quantiles
    *(composite(f"{name}(Tensor self, Operand q, Dim? dim=None, Bool keepdim=False, *,"
                " Str interpolation='linear')", doc=doc, autocast="float32", exact_out=True,
                raises_on_values=True)
      for name, doc in (
        ("quantile", "Quantiles along a dimension; NaN wins."),
        ("nanquantile", "Quantiles along a dimension of what is not NaN."))),
    # ---- differences and integrals
    composite("diff(Tensor self, Int n=1, Dim dim=-1, Tensor? prepend=None,"
              " Tensor? append=None)", call="diff", doc="Differences of neighbours, n times.",
              exact_out=True),
    composite("trapezoid(Tensor y, *, Scalar dx=1, Dim dim=-1)", aliases=("trapz",),
              forms=("function",), call="trapezoid", doc="Integral by the trapezoidal rule."),
    composite("trapezoid[x](Tensor y, Tensor x, *, Dim dim=-1)", aliases=("trapz",),
              forms=("function",), doc="Integral by the trapezoidal rule over points."),
    composite("cumulative_trapezoid(Tensor y, *, Scalar dx=1, Dim dim=-1)", forms=("function",),
              call="cumulative_trapezoid", doc="Running integral by the trapezoidal rule."),
    composite("cumulative_trapezoid[x](Tensor y, Tensor x, *, Dim dim=-1)", forms=("function",),
              doc="Running integral by the trapezoidal rule over points."),
    composite("gradient(Tensor self, *, Object spacing=1, Ints? dim=None, Int edge_order=1)"
              " -> Tensors", forms=("function",),
              doc="Derivatives along dimensions, estimated from neighbours."),
    # ---- histograms
    kernel("histc(Tensor self, Int bins=100, Scalar min=0, Scalar max=0)", differentiable=False,
           doc="Counts in bins of equal width.", exact_out=True, raises_on_values=True,
           decomposes=True),
    kernel("bincount_of(Tensor self, Tensor? weights, Int size)", forms=(), out=False,
           differentiable=False, doc="How often each number from 0 occurs.", raises_on_values=True,
           decomposes=True),
    composite("bincount(Tensor self, Tensor? weights=None, Int minlength=0)",
              differentiable=False, doc="How often each number from 0 occurs.",
              raises_on_values=True, dynamic_shape=True),
    kernel("histogram_of(Tensor points, Tensors edges, Tensor? weight)", forms=(), out=False,
           differentiable=False, doc="Weights of points in the bins of a grid.", decomposes=True),
    composite("histogram(Tensor self, Tensor bins, *, Tensor? weight=None, Bool density=False)"
              " -> (Tensor hist, Tensor bin_edges)", differentiable=False,
              doc="Counts in bins with given edges.", exact_out=True),
    composite("histogram[count](Tensor self, Int bins=100, *, Floats? range=None,"
              " Tensor? weight=None, Bool density=False) -> (Tensor hist, Tensor bin_edges)",
              differentiable=False, doc="Counts in bins of equal width, and their edges.",
              exact_out=True, raises_on_values=True),
    composite("histogramdd(Tensor self, Object bins, *, Floats? range=None, Tensor? weight=None,"
              " Bool density=False)", forms=("function",), differentiable=False, returns="Any",
              doc="Counts of points in the bins of a grid, and the edges.", raises_on_values=True),
)
