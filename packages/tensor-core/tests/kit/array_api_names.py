"""The names of the Python array API standard, version 2025.12, by its chapters."""

NAMES = {
    "constants": "e inf nan newaxis pi",
    "data types": "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 "
                  "complex64 complex128",
    "creation": "arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid "
                "ones ones_like tril triu zeros zeros_like",
    "data type functions": "astype can_cast finfo iinfo isdtype result_type",
    "elementwise": "abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_invert "
                   "bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor ceil clip conj "
                   "copysign cos cosh divide equal exp expm1 floor floor_divide greater "
                   "greater_equal hypot imag isfinite isinf isnan less less_equal log log10 log1p "
                   "log2 logaddexp logical_and logical_not logical_or logical_xor maximum minimum "
                   "multiply negative nextafter not_equal positive pow real reciprocal remainder "
                   "round sign signbit sin sinh sqrt square subtract tan tanh trunc",
    "indexing": "take take_along_axis",
    "inspection": "__array_namespace_info__",
    "linear algebra": "matmul matrix_transpose tensordot vecdot",
    "manipulation": "broadcast_arrays broadcast_shapes broadcast_to concat expand_dims flip "
                    "moveaxis permute_dims repeat reshape roll squeeze stack tile unstack",
    "searching": "argmax argmin count_nonzero nonzero searchsorted where",
    "sets": "isin unique_all unique_counts unique_inverse unique_values",
    "sorting": "argsort sort",
    "statistics": "cumulative_prod cumulative_sum max mean min prod std sum var",
    "utilities": "all any diff",
    "version": "__array_api_version__",
    "extensions": "fft linalg",
}

EXTENSIONS = {
    "linalg": "cholesky cross det diagonal eig eigh eigvals eigvalsh inv matmul matrix_norm "
              "matrix_power matrix_rank matrix_transpose outer pinv qr slogdet solve svd svdvals "
              "tensordot trace vecdot vector_norm",
    "fft": "fft fftfreq fftn fftshift hfft ifft ifftn ifftshift ihfft irfft irfftn rfft rfftfreq "
           "rfftn",
}

ARRAY = ("dtype device mT ndim shape size T to_device __abs__ __add__ __and__ "
         "__array_namespace__ __bool__ __complex__ __dlpack__ __dlpack_device__ __eq__ __float__ "
         "__floordiv__ __ge__ __getitem__ __gt__ __index__ __int__ __invert__ __le__ __lshift__ "
         "__lt__ __matmul__ __mod__ __mul__ __ne__ __neg__ __or__ __pos__ __pow__ __rshift__ "
         "__setitem__ __sub__ __truediv__ __xor__ __radd__ __rsub__ __rmul__ __rtruediv__ "
         "__rfloordiv__ __rpow__ __rmod__ __rand__ __ror__ __rxor__ __rlshift__ __rrshift__ "
         "__rmatmul__ __iadd__ __isub__ __imul__ __itruediv__ __ifloordiv__ __ipow__ __imod__ "
         "__iand__ __ior__ __ixor__ __ilshift__ __irshift__ __imatmul__")
