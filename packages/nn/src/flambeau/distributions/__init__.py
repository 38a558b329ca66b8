# ruff: noqa: F401
"""Probability distributions, with PyTorch's names.

A distribution has parameters, which are tensors of one batch, and gives samples, densities,
moments, entropies and divergences. Samples drawn with ``rsample()`` carry gradients to the
parameters, ``log_prob()`` carries them for scores, and ``transform_to`` reaches constrained
parameters from all numbers.
"""

from . import constraints, kl, transforms, utils
from ._modules import register_modules
from .combined.independent import Independent
from .combined.mixture_same_family import MixtureSameFamily
from .combined.transformed_distribution import TransformedDistribution
from .constraint_registry import ConstraintRegistry, biject_to, transform_to
from .continuous.beta import Beta
from .continuous.cauchy import Cauchy
from .continuous.chi2 import Chi2
from .continuous.continuous_bernoulli import ContinuousBernoulli
from .continuous.exponential import Exponential
from .continuous.fisher_snedecor import FisherSnedecor
from .continuous.gamma import Gamma
from .continuous.generalized_pareto import GeneralizedPareto
from .continuous.gumbel import Gumbel
from .continuous.half_cauchy import HalfCauchy
from .continuous.half_normal import HalfNormal
from .continuous.inverse_gamma import InverseGamma
from .continuous.kumaraswamy import Kumaraswamy
from .continuous.laplace import Laplace
from .continuous.log_normal import LogNormal
from .continuous.normal import Normal
from .continuous.pareto import Pareto
from .continuous.student_t import StudentT
from .continuous.uniform import Uniform
from .continuous.von_mises import VonMises
from .continuous.weibull import Weibull
from .discrete.bernoulli import Bernoulli
from .discrete.binomial import Binomial
from .discrete.categorical import Categorical
from .discrete.geometric import Geometric
from .discrete.multinomial import Multinomial
from .discrete.negative_binomial import NegativeBinomial
from .discrete.one_hot_categorical import OneHotCategorical, OneHotCategoricalStraightThrough
from .discrete.poisson import Poisson
from .discrete.relaxed_bernoulli import RelaxedBernoulli
from .discrete.relaxed_categorical import RelaxedOneHotCategorical
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .kl import kl_divergence, register_kl
from .multivariate.dirichlet import Dirichlet
from .multivariate.lkj_cholesky import LKJCholesky
from .multivariate.logistic_normal import LogisticNormal
from .multivariate.lowrank_multivariate_normal import LowRankMultivariateNormal
from .multivariate.multivariate_normal import MultivariateNormal
from .multivariate.wishart import Wishart
from .transforms import (
    AbsTransform,
    AffineTransform,
    CatTransform,
    ComposeTransform,
    CorrCholeskyTransform,
    CumulativeDistributionTransform,
    ExpTransform,
    IndependentTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    PowerTransform,
    ReshapeTransform,
    SigmoidTransform,
    SoftmaxTransform,
    SoftplusTransform,
    StackTransform,
    StickBreakingTransform,
    TanhTransform,
    Transform,
    identity_transform,
)

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "Bernoulli",
    "Beta",
    "Binomial",
    "CatTransform",
    "Categorical",
    "Cauchy",
    "Chi2",
    "ComposeTransform",
    "ConstraintRegistry",
    "ContinuousBernoulli",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "Dirichlet",
    "Distribution",
    "ExpTransform",
    "Exponential",
    "ExponentialFamily",
    "FisherSnedecor",
    "Gamma",
    "GeneralizedPareto",
    "Geometric",
    "Gumbel",
    "HalfCauchy",
    "HalfNormal",
    "Independent",
    "IndependentTransform",
    "InverseGamma",
    "Kumaraswamy",
    "LKJCholesky",
    "Laplace",
    "LogNormal",
    "LogisticNormal",
    "LowRankMultivariateNormal",
    "LowerCholeskyTransform",
    "MixtureSameFamily",
    "Multinomial",
    "MultivariateNormal",
    "NegativeBinomial",
    "Normal",
    "OneHotCategorical",
    "OneHotCategoricalStraightThrough",
    "Pareto",
    "Poisson",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "RelaxedBernoulli",
    "RelaxedOneHotCategorical",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StackTransform",
    "StickBreakingTransform",
    "StudentT",
    "TanhTransform",
    "Transform",
    "TransformedDistribution",
    "Uniform",
    "VonMises",
    "Weibull",
    "Wishart",
    "biject_to",
    "identity_transform",
    "kl_divergence",
    "register_kl",
    "transform_to",
]

register_modules(__name__)
