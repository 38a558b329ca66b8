"""Dtypes that kernels of the CUDA backend refuse."""

#: Operators whose kernels refuse uint64 beside a number of Python's, or altogether (`pow`).
SIGNED_ONLY = {
    "bitwise_right_shift", "clamp_both", "floor_divide", "pow", "remainder", "trunc_divide",
}

#: Operators whose kernels refuse bytes, which have weights of sixteen bits on the CPU.
NO_BYTES = {"resample", "resample_grad"}
