# dtype objects, one per code of abi.h.

# The name that dtypes, sizes and the like are printed with; programs of PyTorch parse it.
shown_package = ["flambeau"]


@cython.final
cdef class dtype:
    """The element type of a tensor, such as ``flambeau.float32``."""
    cdef readonly int code
    cdef readonly str name

    def __init__(self, *args, **kwargs):
        raise TypeError("dtypes are not made; use flambeau.float32 and the like")

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        if self.code >= FL_DTYPE_COUNT:
            return quantized_storage(self).itemsize
        return fl_itemsize(self.code)

    @property
    def is_floating_point(self) -> bool:
        return self.code < FL_DTYPE_COUNT and (fl_is_float(self.code) or fl_is_float8(self.code))

    @property
    def is_complex(self) -> bool:
        return self.code < FL_DTYPE_COUNT and fl_is_complex(self.code)

    @property
    def is_signed(self) -> bool:
        return self.code not in (FL_BOOL, FL_U8, FL_U16, FL_U32, FL_U64, FL_F8_E8M0) \
            and not self.name.startswith("quint")

    def to_real(self):
        """The dtype of the real part."""
        if not self.is_complex:
            return self
        return _dtypes[fl_real_dtype(self.code)]

    def to_complex(self):
        """The complex dtype of this precision."""
        if self.is_complex:
            return self
        if self.code >= FL_DTYPE_COUNT:
            raise TypeError(f"{self} has no complex dtype: it is of quantized tensors")
        if self.code == FL_F16:
            return _dtypes[FL_C32]
        return _dtypes[FL_C128 if self.code == FL_F64 else FL_C64]

    def __repr__(self):
        return f"{shown_package[0]}.{self.name}"

    def __reduce__(self):
        return _dtype_named, (self.name,)

    def __hash__(self):
        return self.code + 1000


cdef list _dtypes = []
cdef list _quantized = []
cdef dict _QUANTIZED = {"qint8": "int8", "quint8": "uint8", "qint32": "int32",
                        "quint4x2": "uint8", "quint2x4": "uint8"}


def all_dtypes() -> list:
    """Every dtype, in the order of their codes."""
    return list(_dtypes)


def quantized_dtypes() -> list:
    """The dtypes of quantized tensors, which no memory has: their codes are above all others."""
    return list(_quantized)


def quantized_storage(dtype d not None):
    """The integer dtype in which the elements of a quantized dtype lie; None for other dtypes."""
    return _dtype_named(_QUANTIZED[d.name]) if d.name in _QUANTIZED else None


def _dtype_named(str name):
    for d in (*_dtypes, *_quantized):
        if d.name == name:
            return d
    raise ValueError(f"no dtype named {name!r}")


def _make_dtypes():
    cdef dtype d
    for code in range(FL_DTYPE_COUNT):
        d = dtype.__new__(dtype)
        d.code = code
        d.name = fl_dtype_name(code).decode()
        _dtypes.append(d)
    for code, name in enumerate(_QUANTIZED, FL_DTYPE_COUNT):
        d = dtype.__new__(dtype)
        d.code, d.name = code, name
        _quantized.append(d)


_make_dtypes()

cdef dict _python_types = {bool: FL_BOOL, int: FL_I64, float: FL_F64, complex: FL_C128}


cdef PyObject *_box_dtype(int code) except NULL:
    d = _dtypes[code]
    Py_INCREF(d)
    return <PyObject *>d


cdef int _unbox_dtype(PyObject *o) except -1:
    value = <object>o
    if type(value) is dtype:
        if (<dtype>value).code >= FL_DTYPE_COUNT:
            raise RuntimeError(f"{value} is the dtype of quantized tensors: write "
                               "quantize_per_tensor(x, scale, zero_point, dtype) or "
                               "quantize_per_channel, and int_repr() for its integers")
        return (<dtype>value).code
    if value in _python_types:
        return _python_types[value]
    raise TypeError(f"dtype must be a flambeau.dtype such as flambeau.float32, not {value!r}")


def _as_dtype(d):
    """The dtype that a dtype or a Python type stands for."""
    return _dtypes[_unbox_dtype(<PyObject *>d)]


def set_default_dtype(d):
    """Set the dtype of new floating tensors and of promoted integers.

    Args:
        d: ``flambeau.float32`` or ``flambeau.float64`` (float16 and bfloat16 also work).
    """
    global fl_default_dtype
    cdef int code = _unbox_dtype(<PyObject *>d)
    if not fl_is_float(code):
        raise TypeError(f"set_default_dtype(): only floating-point dtypes can be the default, "
                        f"got {d!r}")
    fl_default_dtype = code


def get_default_dtype():
    """The dtype of new floating tensors."""
    return _dtypes[fl_default_dtype]


cdef extern from *:
    "extern bool fl_fill_uninitialized;"
    bint fl_fill_uninitialized


def set_fill_uninitialized(bint fill) -> None:
    """Say whether memory that ``empty`` and the like hand out is filled (utils.deterministic)."""
    global fl_fill_uninitialized
    fl_fill_uninitialized = fill


def set_promotion(rule):
    """Choose how operators find the dtype of a result.

    Args:
        rule: ``"pytorch"``, where a tensor without dimensions does not widen another of its kind,
            or ``"array_api"``, the rule of the Python array API standard, where dtypes alone
            count, and where ``x[::-1]`` gives a flipped copy in place of an error. It holds for
            the whole process.

    Example:
        >>> import flambeau
        >>> x, y = flambeau.zeros(2), flambeau.tensor(1.0, dtype=flambeau.float64)
        >>> (x + y).dtype
        flambeau.float32
        >>> flambeau.set_promotion("array_api")
        >>> (x + y).dtype
        flambeau.float64
        >>> flambeau.set_promotion("pytorch")
    """
    global fl_promote_by_dtype
    if rule not in ("pytorch", "array_api"):
        raise ValueError(f"set_promotion(): expected 'pytorch' or 'array_api', got {rule!r}")
    fl_promote_by_dtype = rule == "array_api"


def get_promotion() -> str:
    """The rule that ``set_promotion`` chose: ``"pytorch"`` or ``"array_api"``."""
    return "array_api" if fl_promote_by_dtype else "pytorch"


cdef dtype _expect_dtype(str what, str name, object given):
    if not isinstance(given, dtype):
        raise TypeError(f"{what}(): argument '{name}' must be flambeau.dtype such as "
                        f"flambeau.float32, not {type(given).__name__}")
    _unbox_dtype(<PyObject *>given)
    return given


def promote_types(type1, type2):
    """The smallest dtype both convert to without loss of kind."""
    first = _expect_dtype("promote_types", "type1", type1)
    second = _expect_dtype("promote_types", "type2", type2)
    if fl_check_promotion(first.code, second.code) < 0:
        fl_raise()
    return _dtypes[fl_promote(first.code, second.code)]


def can_cast(from_, to):
    """Whether an in-place operator may store ``from_`` results in ``to``."""
    given = _expect_dtype("can_cast", "from_", from_)
    return fl_can_cast(given.code, _expect_dtype("can_cast", "to", to).code)


cdef tuple _operand_names = ("tensor1", "tensor2", "tensor", "other", "scalar", "scalar1",
                             "scalar2")


def result_type(*operands, **named):
    """The dtype of ``tensor1 + tensor2``, which have PyTorch's names as well."""
    cdef fl_value va, vb
    cdef const fl_value *both[2]
    for name in named:
        if name not in _operand_names:
            raise TypeError(f"result_type() got an unexpected keyword argument '{name}'")
    operands = (*operands, *named.values())
    if len(operands) != 2:
        raise TypeError("result_type() takes two arguments, tensor1 and tensor2, not "
                        f"{len(operands)}")
    _operand_value(operands[0], &va)
    _operand_value(operands[1], &vb)
    both[0] = &va
    both[1] = &vb
    if va.tag == FL_TENSOR and vb.tag == FL_TENSOR and fl_check_promotion(va.t.dtype,
                                                                          vb.t.dtype) < 0:
        fl_raise()
    return _dtypes[fl_result_type(both, 2)]


cdef int _operand_value(object o, fl_value *v) except -1:
    if isinstance(o, Tensor):
        v.tag = FL_TENSOR
        v.t = <fl_tensor *><PyObject *>o
    elif isinstance(o, bool):
        v.tag = FL_BOOLEAN
        v.i = o
    elif isinstance(o, int):
        v.tag = FL_INT
        v.i = 0
    elif isinstance(o, float):
        v.tag = FL_FLOAT
        v.d = o
    elif isinstance(o, complex):
        v.tag = FL_COMPLEX
        v.c[0] = o.real
        v.c[1] = o.imag
    else:
        raise TypeError(f"expected a tensor or a number, got {type(o).__name__}")
    return 0
