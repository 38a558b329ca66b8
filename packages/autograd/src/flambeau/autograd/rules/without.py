"""Operators without a derivative, by name: their results are integers, bools or random; and those
whose derivative nobody has written, which refuse to be differentiated."""
from flambeau.autograd._table import no_derivative, rule
from flambeau.autograd.rules._help import zeros_like

# ---- comparisons and logic ---------------------------------------------------------------------
no_derivative("eq", "ne", "lt", "le", "gt", "ge")
no_derivative("logical_and", "logical_or", "logical_xor", "logical_not")
no_derivative("isnan", "isinf", "isfinite", "signbit", "any", "all")
no_derivative("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not")
no_derivative("bitwise_left_shift", "bitwise_right_shift", "gcd", "lcm")

no_derivative("airy_ai", "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l",
              "legendre_polynomial_p", *(f"{shifted}chebyshev_polynomial_{kind}"
                                         for shifted in ("", "shifted_") for kind in "tuvw"))

# ---- places ------------------------------------------------------------------------------------
no_derivative("argmax", "argmin", "nonzero", "one_hot_rows")

# ---- counts ------------------------------------------------------------------------------------
no_derivative("histc", "bincount_of", "histogram_of")

# ---- decompositions whose differentiable form is another row -----------------------------------
no_derivative("lu_permutation", "eigh_values", "eig_values", "svd_values")

# ---- new tensors -------------------------------------------------------------------------------
no_derivative("empty", "empty_strided", "full_of", "filled_like", "arange_of", "linspace", "eye_of")
no_derivative("random_uniform", "random_normal", "random_integers", "random_bernoulli",
              "random_permutation", "multinomial")

# ---- searches, and bytes seen as other numbers -------------------------------------------------
no_derivative("searchsorted", "bucketize", "row_order", "repeat_indices", "isin_of", "amp_unscale",
              "view.dtype", "fractional_indices")

# ---- derivatives that are zero: what is drawn does not follow its parameters ---------------------
rule("bernoulli", self=lambda g: zeros_like(g))
rule("poisson", self=lambda g: zeros_like(g))


# ---- derivatives that are refused: zero would be wrong -------------------------------------------
def _refuse(name, *inputs):
    def refuse(grads):
        raise NotImplementedError(
            f"the derivative for '{name}' is not implemented: if its result is to count as a "
            "constant, give it x.detach()")

    rule(name, **dict.fromkeys(inputs, refuse))


_refuse("binomial", "count", "prob")
_refuse("geqrf", "self")
_refuse("linalg_ldl_factor_ex", "self")
_refuse("linalg_ldl_solve", "LD", "B")
