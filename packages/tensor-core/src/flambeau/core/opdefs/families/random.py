"""Random numbers and dropout."""
from flambeau.core.opdefs.make import composite, helper, kernel

_NN = ("nn",)
_G = "Generator? generator=None"
_FUNCTION_AND_NN = ("function", "nn")


def _draw(schema, differentiable=False, **facts):
    return kernel(schema, out=False, differentiable=differentiable, **facts)


def _fill(schema, **facts):
    """A distribution that a tensor is filled with: ``x.name_(...)``."""
    return composite(schema, forms=("inplace",), inplace=True, differentiable=False, **facts)


def _drop(name, training, doc, forms=_FUNCTION_AND_NN, call=""):
    return composite(f"{name}(Tensor input, Float p=0.5, Bool training={training},"
                     " Bool inplace=False)", forms=forms, call=call, doc=doc)


OPDEFS = (
    _draw("random_uniform(Tensor self, Float low=0.0, Float high=1.0, *,"
          " Generator? generator=None)", forms=(), inplace=True, doc="Uniform numbers.",
          rows="drawn"),
    _draw("random_normal(Tensor self, Float mean=0.0, Float std=1.0, *,"
          " Generator? generator=None)", forms=(), inplace=True, doc="Normal numbers.",
          rows="drawn"),
    _draw("random_integers(Tensor self, Int low=0, Int? high=None, *, Generator? generator=None)",
          forms=(), inplace=True, doc="Integers from low to high, high excluded; without it"
          " as far as the dtype holds all of them.", rows="drawn"),
    _draw("random_distribution(Tensor self, Int kind, Float a, Float b=0.0, *,"
          " Generator? generator=None)", forms=(), inplace=True,
          doc="Numbers of a distribution, one by one as PyTorch draws them (mt19937 alone)."),
    _draw("random_bernoulli(Tensor self, Float p=0.5, *, Generator? generator=None)",
          forms=(), inplace=True, doc="Ones with probability p, else zeros.", rows="drawn"),
    _draw("random_permutation(Int n, *, Generator? generator=None)", forms=(),
          doc="A random order of the numbers 0 to n - 1."),
    # ---- parameters that are tensors
    _draw(f"bernoulli(Tensor self, *, {_G})", differentiable=True,
          doc="Ones with the probabilities in ``self``.", jvp="rule", raises_on_values=True,
          overlap="partial"),
    composite(f"bernoulli[p](Tensor self, Float p, *, {_G})", differentiable=False,
              doc="Ones with probability p, in the shape and dtype of ``self``."),
    _draw(f"poisson(Tensor self, {_G})", forms=("function",), differentiable=True,
          doc="Poisson numbers with the rates in ``self``.", jvp="rule", raises_on_values=True),
    _draw(f"binomial(Tensor count, Tensor prob, {_G})", forms=("function",), differentiable=True,
          doc="How many of ``count`` tries succeed with probability ``prob``.",
          raises_on_values=True),
    _draw(f"standard_gamma(Tensor self, {_G})", forms=(), differentiable=True, jvp="elementwise",
          doc="Gamma numbers of rate 1 with the concentrations in ``self``."),
    kernel("standard_gamma_grad(Tensor self, Tensor output)", infer="special_pair", forms=(),
           batching="pointwise", domain=(0.2, 3.0),
           doc="The derivative of ``standard_gamma(self)``, which gave ``output``, by ``self``."),
    _draw(f"sample_dirichlet(Tensor self, {_G})", forms=(), differentiable=True,
          doc="Dirichlet numbers with the concentrations in the rows of ``self``."),
    kernel("dirichlet_grad(Tensor self, Tensor alpha, Tensor total)", forms=(),
           batching="pointwise", domain=(0.2, 0.8),
           doc="The derivative of ``self``, from a beta distribution of ``alpha`` and ``total - "
               "alpha``, by ``alpha``, divided by ``1 - self``."),
    _draw(f"multinomial(Tensor self, Int num_samples, Bool replacement=False, *, {_G})",
          doc="Indices drawn with the weights in each row.", exact_out=True, raises_on_values=True),
    composite(f"normal(Tensor mean, Operand std=1.0, *, {_G})", forms=("function",),
              differentiable=False, doc="Normal numbers, each with a mean of its own.",
              raises_on_values=True, overlap="partial"),
    composite(f"normal[std](Scalar mean, Tensor std, *, {_G})", forms=("function",),
              differentiable=False, doc="Normal numbers, each with a deviation of its own.",
              raises_on_values=True, overlap="partial"),
    composite(f"normal[size](Float mean, Float std, Shape size, *, {_G},"
              " DType? dtype=None, Device? device=None, Object layout=None, Bool pin_memory=False,"
              " Bool requires_grad=False)", forms=("function",), differentiable=False,
              doc="Normal numbers."),
    # ---- distributions
    _fill(f"exponential(Tensor self, Float lambd=1.0, *, {_G})",
          doc="Exponential numbers of rate lambd."),
    _fill(f"cauchy(Tensor self, Float median=0.0, Float sigma=1.0, *, {_G})",
          doc="Cauchy numbers."),
    _fill(f"log_normal(Tensor self, Float mean=1.0, Float std=2.0, *, {_G})",
          doc="Numbers whose logarithm is normal."),
    _fill(f"geometric(Tensor self, Float p, *, {_G})", doc="Tries until the first success."),
    # ---- dropout
    helper("native_dropout(Tensor input, Float p, Float scale, *, Generator? generator=None)"
           " -> (Tensor result, Tensor kept)",
           doc="dropout as one operator: products with ``scale``, or with 0 at probability p, and"
               " which elements were kept.", decomposes=True),
    _drop("dropout1d", True, "Zeroes whole channels with probability p.", ("nn",), "dropout1d"),
    _drop("dropout2d", True, "Zeroes whole channels with probability p.", ("nn",), "dropout2d"),
    _drop("dropout3d", True, "Zeroes whole channels with probability p.", ("nn",), "dropout3d"),
    _drop("alpha_dropout", False, "Dropout that keeps mean and variance of selu's outputs."),
    _drop("feature_alpha_dropout", False, "Alpha dropout of whole channels."),
    composite("dropout(Tensor input, Float p=0.5, Bool training=True, Bool inplace=False)",
              forms=_NN, call="dropout",
              doc="Zeroes elements with probability p and rescales the rest."),
)
