"""Parameters of every distribution, as arrays: name, keywords."""

from contextlib import contextmanager

import numpy as np

_FACTOR = np.array([[1.5, 0.0, 0.0], [0.3, 0.8, 0.0], [-0.4, 0.2, 1.1]])
_COVARIANCE = _FACTOR @ _FACTOR.T
_ODDS = np.array([[0.2, 0.5, 0.3], [0.6, 0.3, 0.1]])
_LOC, _SCALE = np.array([[0.3, -1.2, 2.0], [0.1, 0.7, -0.1]]), np.array([0.5, 1.3, 2.2])
_CHANCE = np.array([0.1, 0.45, 0.8])
_LOW_RANK = np.array([[0.5, 1.0], [-0.3, 0.2], [0.8, -0.6]])

#: Name of the class, parameters: numbers, integers and tensors of several shapes.
EXAMPLES = [
    ("Bernoulli", {"probs": _CHANCE}), ("Bernoulli", {"logits": _LOC}),
    ("Bernoulli", {"probs": 0.3}),
    ("Beta", {"concentration1": _SCALE, "concentration0": _SCALE[::-1].copy()}),
    ("Beta", {"concentration1": 2.0, "concentration0": 0.5}),
    ("Binomial", {"total_count": 7, "probs": _CHANCE}),
    ("Binomial", {"total_count": np.array([3.0, 7.0, 5.0]), "logits": _LOC}),
    ("Categorical", {"probs": _ODDS}), ("Categorical", {"logits": _LOC}),
    ("Cauchy", {"loc": _LOC, "scale": _SCALE}), ("Cauchy", {"loc": 0.0, "scale": 2.0}),
    ("Chi2", {"df": _SCALE}),
    ("ContinuousBernoulli", {"probs": np.array([0.1, 0.4995, 0.8])}),
    ("ContinuousBernoulli", {"logits": _LOC}),
    ("Dirichlet", {"concentration": _SCALE}), ("Dirichlet", {"concentration": _ODDS}),
    ("Exponential", {"rate": _SCALE}), ("Exponential", {"rate": 1.5}),
    ("FisherSnedecor", {"df1": _SCALE * 3, "df2": np.array([1.5, 3.0, 9.0])}),
    ("Gamma", {"concentration": _SCALE, "rate": np.array([[0.5], [3.0]])}),
    ("GeneralizedPareto",
     {"loc": _LOC, "scale": _SCALE, "concentration": np.array([-0.7, 0.0, 0.3])}),
    ("Geometric", {"probs": _CHANCE}), ("Geometric", {"logits": _LOC}),
    ("Gumbel", {"loc": _LOC, "scale": _SCALE}),
    ("HalfCauchy", {"scale": _SCALE}), ("HalfNormal", {"scale": _SCALE}),
    ("InverseGamma", {"concentration": np.array([0.7, 1.5, 3.0]), "rate": _SCALE}),
    ("Kumaraswamy", {"concentration1": _SCALE, "concentration0": _SCALE[::-1].copy()}),
    ("LKJCholesky", {"dim": 3, "concentration": np.array([0.5, 1.0, 3.0])}),
    ("Laplace", {"loc": _LOC, "scale": _SCALE}),
    ("LogNormal", {"loc": _LOC, "scale": _SCALE * 0.5}),
    ("LogisticNormal", {"loc": _LOC, "scale": _SCALE}),
    ("LowRankMultivariateNormal",
     {"loc": _LOC, "cov_factor": _LOW_RANK, "cov_diag": np.array([0.5, 1.5, 0.9])}),
    ("Multinomial", {"total_count": 5, "probs": _ODDS}),
    ("Multinomial", {"total_count": 3, "logits": _LOC}),
    ("MultivariateNormal", {"loc": _LOC, "covariance_matrix": _COVARIANCE}),
    ("MultivariateNormal", {"loc": _LOC, "precision_matrix": _COVARIANCE}),
    ("MultivariateNormal", {"loc": _LOC[0], "scale_tril": np.stack([_FACTOR, 2 * _FACTOR])}),
    ("NegativeBinomial", {"total_count": np.array([1.0, 3.5, 9.0]), "probs": _CHANCE}),
    ("NegativeBinomial", {"total_count": 4.0, "logits": _LOC}),
    ("Normal", {"loc": _LOC, "scale": _SCALE}), ("Normal", {"loc": 0.5, "scale": 2}),
    ("OneHotCategorical", {"probs": _ODDS}),
    ("OneHotCategoricalStraightThrough", {"logits": _LOC}),
    ("Pareto", {"scale": _SCALE, "alpha": np.array([0.5, 1.5, 4.0])}),
    ("Poisson", {"rate": _SCALE * 3}),
    ("RelaxedBernoulli", {"temperature": np.array(0.7), "probs": _CHANCE}),
    ("RelaxedOneHotCategorical", {"temperature": np.array(1.7), "probs": _ODDS}),
    ("StudentT", {"df": np.array([0.5, 1.5, 4.0]), "loc": _LOC, "scale": _SCALE}),
    ("Uniform", {"low": _LOC, "high": _LOC + _SCALE}),
    ("VonMises", {"loc": _LOC, "concentration": _SCALE}),
    ("Weibull", {"scale": _SCALE, "concentration": np.array([1.0, 1.5, 4.0])}),
    ("Wishart", {"df": np.array([3.5, 7.0]), "covariance_matrix": _COVARIANCE}),
    ("Wishart", {"df": 5.0, "scale_tril": _FACTOR}),
]


@contextmanager
def default_dtype(dtype, *libraries):
    """Numbers among the parameters become tensors of this dtype."""
    for library in libraries:
        library.set_default_dtype(getattr(library, dtype))
    try:
        yield
    finally:
        for library in libraries:
            library.set_default_dtype(library.float32)


def made(library, name, parameters, dtype, requires_grad=False):
    """The distribution, and its parameters that are tensors."""
    tensors = {key: library.tensor(value, dtype=dtype, requires_grad=requires_grad)
               for key, value in parameters.items() if isinstance(value, np.ndarray)}
    distribution = getattr(library.distributions, name)(**{**parameters, **tensors})
    return distribution, tensors
