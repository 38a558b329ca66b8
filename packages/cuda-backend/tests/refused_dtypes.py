"""Dtypes that kernels of the CUDA backend refuse."""

#: Operators whose kernels refuse uint64, whose order and division differ from int64's.
SIGNED_ONLY = {
    "abs", "pow", "amax", "amin", "argmax", "argmin", "bitwise_right_shift", "clamp_both",
    "clamp_max", "clamp_min", "floor_divide", "fmax", "fmin", "fmod", "ge", "gt", "le", "lt",
    "max.dim",
    "maximum", "min.dim", "minimum", "relu", "remainder", "sgn", "sign", "signbit",
    "trunc_divide",
}

#: Operators whose kernels refuse complex numbers.
REAL_ONLY = {"logsumexp"}
