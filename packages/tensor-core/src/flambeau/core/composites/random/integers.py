"""Which integers a dtype holds all of: those that random numbers are drawn among."""
import warnings

#: One past the greatest integer up to which a dtype holds all of them.
EXACT_INTEGERS_BELOW = {
    "bool": 2, "uint8": 1 << 8, "int8": 1 << 7, "int16": 1 << 15, "int32": 1 << 31,
    "uint16": 1 << 16, "uint32": 1 << 32, "float16": (1 << 11) + 1, "bfloat16": (1 << 8) + 1,
    "float32": (1 << 24) + 1, "float64": (1 << 53) + 1}


def expect_permutation(n, dtype):
    """Refuse a permutation whose numbers the dtype would round or wrap."""
    most = EXACT_INTEGERS_BELOW.get("int64" if dtype is None else dtype.name)
    if most is not None and n > most:
        raise RuntimeError(f"randperm(): n cannot be greater than {most} for {dtype}, which does "
                           f"not hold all integers below {n}; write dtype=flambeau.int64")


def warn_of_rounding(low, to, dtype):
    """Warn of bounds beyond which a floating dtype has gaps, as PyTorch does."""
    most = EXACT_INTEGERS_BELOW[dtype.name] - 1
    for name, bound in (("from", low), ("to - 1", to - 1)):
        if abs(bound) > most:
            warnings.warn(f"{name} is out of bounds [-{most}, {most}] of random_(): {dtype} does "
                          f"not hold all integers up to {bound}, so that some are never drawn",
                          stacklevel=3)
