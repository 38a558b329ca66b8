"""Special functions."""
from flambeau.core.opdefs.make import composite, kernel, pointwise


def _real(name, doc, *aliases, formula="", domain=(-3.0, 3.0), **facts):
    """A function of one real number whose derivative is a rule, which costs no kernel."""
    facts.setdefault("derive", False)
    facts.setdefault("inplace", facts.get("forms") is None)
    spaced = tuple(f"special.{alias}" for alias in aliases)
    return pointwise(f"{name}(Tensor self)", float=formula or f"{name}(self)", rule="float",
                     domain=domain, aliases=spaced, doc=doc, **facts)


def _pair(name, doc, **facts):
    return pointwise(f"{name}(Operand self, Operand other)", float=f"{name}(self, other)",
                     rule="float", domain=(0.2, 3.0), doc=doc, **facts)


def _bessel(name, doc, domain=(0.2, 3.0), **facts):
    """A function of one number that is computed in double precision."""
    return kernel(f"{name}(Tensor self)", infer="special_one", forms=(), domain=domain,
                  batching="pointwise",
                  aliases=(f"special.{name}",), doc=doc, **facts)


def _polynomial(name, doc):
    return kernel(f"{name}(Operand input, Operand n)", infer="special_pair", forms=(),
                  aliases=(f"special.{name}",), differentiable=False, batching="pointwise",
                  doc=f"{doc}, of degree ``n``.")


def _kernel(schema, run, doc, **facts):
    return kernel(schema, infer="special_pair", run=run, inplace=True, batching="pointwise",
                  doc=doc, **facts)


OPDEFS = (
    # ---- gamma and zeta
    _real("lgamma", "Logarithm of the size of the gamma function.", "gammaln",
          domain=(0.2, 4.0)),
    _real("digamma", "Derivative of the logarithm of the gamma function.", "digamma", "psi",
          domain=(0.2, 4.0)),
    _real("trigamma", "Second derivative of the logarithm of the gamma function.", forms=(),
          domain=(0.2, 4.0)),
    composite("polygamma(Int n, Tensor self)", inplace=True, aliases=("special.polygamma",),
              doc="The derivative of digamma of order ``n``.", overlap="partial"),
    composite("polygamma[tensor](Tensor self, Int n)", inplace=True,
              aliases=("special.polygamma",), doc="The derivative of digamma of order ``n``.",
              overlap="partial"),
    composite("mvlgamma(Tensor self, Int p)", inplace=True, aliases=("special.multigammaln",),
              doc="Logarithm of the gamma function of ``p`` by ``p`` matrices."),
    _kernel("igamma(Tensor self, Tensor other)", "igamma",
            "Regularized lower incomplete gamma function of ``other``, with parameter ``self``.",
            aliases=("special.gammainc",)),
    _kernel("igammac(Tensor self, Tensor other)", "igammac",
            "Regularized upper incomplete gamma function of ``other``, with parameter ``self``.",
            aliases=("special.gammaincc",)),
    kernel("zeta(Operand self, Operand other)", infer="special_pair", forms=(),
           aliases=("special.zeta",), batching="pointwise",
           doc="Hurwitz zeta function, the sum of ``(other + k)**-self``."),
    # ---- Bessel
    _real("i0", "Modified Bessel function of the first kind, order 0.", "i0",
          "modified_bessel_i0"),
    _real("i0e", "``exp(-|x|)`` times the modified Bessel function of order 0.", "i0e", forms=()),
    _real("i1", "Modified Bessel function of the first kind, order 1.", "i1",
          "modified_bessel_i1", forms=()),
    _real("i1e", "``exp(-|x|)`` times the modified Bessel function of order 1.", "i1e", forms=()),
    _bessel("modified_bessel_k0", "Modified Bessel function of the second kind, order 0."),
    _bessel("modified_bessel_k1", "Modified Bessel function of the second kind, order 1."),
    _bessel("scaled_modified_bessel_k0",
            "``exp(x)`` times the modified Bessel function of the second kind, order 0."),
    _bessel("scaled_modified_bessel_k1",
            "``exp(x)`` times the modified Bessel function of the second kind, order 1."),
    _bessel("bessel_j0", "Bessel function of the first kind, order 0.", (-9.0, 9.0)),
    _bessel("bessel_j1", "Bessel function of the first kind, order 1.", (-9.0, 9.0)),
    _bessel("bessel_y0", "Bessel function of the second kind, order 0."),
    _bessel("bessel_y1", "Bessel function of the second kind, order 1."),
    _bessel("spherical_bessel_j0", "Spherical Bessel function of the first kind, order 0: "
            "``sin(x) / x``.", (-9.0, 9.0)),
    _bessel("airy_ai", "Airy function.", (-3.0, 3.0), differentiable=False),
    # ---- orthogonal polynomials
    *(_polynomial(f"chebyshev_polynomial_{k.lower()}", f"Chebyshev polynomial {k}")
      for k in "TUVW"),
    *(_polynomial(f"shifted_chebyshev_polynomial_{k.lower()}",
                  f"Chebyshev polynomial {k} of ``2 * input - 1``") for k in "TUVW"),
    _polynomial("hermite_polynomial_h", "Hermite polynomial of physics"),
    _polynomial("hermite_polynomial_he", "Hermite polynomial of probability"),
    _polynomial("laguerre_polynomial_l", "Laguerre polynomial"),
    _polynomial("legendre_polynomial_p", "Legendre polynomial"),
    # ---- error function and normal distribution
    _real("erfinv", "Inverse of the error function.", "erfinv", domain=(-0.9, 0.9),
          autocast="float32 on gpu"),
    _real("erfcx", "``exp(x**2) * erfc(x)``.", "erfcx", forms=()),
    _real("ndtr", "Normal distribution function.", "ndtr", forms=()),
    _real("ndtri", "Inverse of the normal distribution function.", "ndtri", forms=(),
          domain=(0.05, 0.95)),
    _real("log_ndtr", "Logarithm of the normal distribution function.", "log_ndtr", forms=()),
    _real("entr", "``-x * log(x)``.", "entr", forms=(), domain=(0.2, 3.0), derive=True),
    # ---- logarithms with care
    _pair("xlogy", "``self * log(other)``, 0 where ``self`` is 0.", inplace=True,
          aliases=("special.xlogy",)),
    _pair("xlog1py", "``self * log(1 + other)``, 0 where ``self`` is 0.", forms=(),
          aliases=("special.xlog1py",)),
    pointwise("logaddexp(Tensor self, Tensor other)", float="logaddexp(self, other)",
              complex="logaddexp(self, other)", doc="``log(exp(self) + exp(other))``."),
    pointwise("logaddexp2(Tensor self, Tensor other)", float="logaddexp2(self, other)",
              doc="``log2(2**self + 2**other)``."),
    _real("logit_of", "``log(x / (1 - x))``.", forms=(), domain=(0.05, 0.95), derive=True,
          formula="logit(self)"),
    composite("logit(Tensor self, Float? eps=None)", inplace=True, aliases=("special.logit",),
              doc="``log(x / (1 - x))``, of values first restricted to ``[eps, 1 - eps]``.",
              overlap="partial"),
    _real("sinc", "``sin(pi * x) / (pi * x)``.", "sinc", derive=True, complex="sinc(self)"),
)
