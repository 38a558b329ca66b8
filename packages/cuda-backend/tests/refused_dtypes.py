"""Dtypes that kernels of the CUDA backend refuse."""

#: Operators whose kernels refuse uint64, whose order and division differ from int64's.
SIGNED_ONLY = {
    "abs", "pow", "bitwise_right_shift", "clamp_both",
    "clamp_max", "clamp_min", "floor_divide", "fmax", "fmin", "fmod", "ge", "gt", "le", "lt",
    "maximum", "minimum", "relu", "remainder", "sgn", "sign", "signbit",
    "trunc_divide",
}

#: Operators whose kernels refuse bytes, which have weights of sixteen bits on the CPU.
NO_BYTES = {"resample", "resample_grad"}
