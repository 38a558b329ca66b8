# From Python objects to tensors: flambeau.tensor and its parts.

cdef int _scan(object data, int depth, int64_t *shape, int *ndim, int *code) except -1:
    """Find the shape of nested sequences and the dtype their numbers need."""
    cdef Py_ssize_t n, i
    if isinstance(data, (list, tuple)):
        n = len(data)
        if depth >= FL_MAX_DIMS:
            raise ValueError(f"tensor(): nested deeper than {FL_MAX_DIMS} levels")
        if ndim[0] == -1 or depth >= ndim[0] and code[0] == -1:
            shape[depth] = n
            ndim[0] = depth + 1
        elif depth >= ndim[0] or shape[depth] != n:
            raise ValueError(f"tensor(): expected sequence of length "
                             f"{shape[depth] if depth < ndim[0] else 'one number'} at dim {depth} "
                             f"(got {n}); all rows must be of one length")
        for i in range(n):
            _scan(data[i], depth + 1, shape, ndim, code)
        return 0
    if ndim[0] != -1 and depth != ndim[0]:
        raise ValueError(f"tensor(): found {type(data).__name__} where a sequence was expected at "
                         f"dim {depth}; all rows must be of one length")
    if ndim[0] == -1:
        ndim[0] = 0
    _scan_number(data, code)
    return 0


cdef dict _scalar_codes = {}       # types of NumPy's numbers that were met -> dtype


cdef bint _is_array_scalar(object data):
    """Whether this is a number of NumPy's, some of which are Python's floats and complexes too."""
    if type(data) in _scalar_codes:
        return True
    if isinstance(data, Tensor) or not hasattr(data, "__array_interface__") \
            or getattr(data, "shape", None) != () or data.dtype.kind not in "biufc":
        return False
    if isinstance(data, sys.modules["numpy"].generic):      # not an array without dimensions
        _scalar_codes[type(data)] = (<dtype>_dtype_named(data.dtype.name)).code
    return True


cdef int _scan_number(object data, int *code) except -1:
    cdef int found
    cdef type kind = type(data)
    if kind is not float and kind is not int and kind is not bool and _is_array_scalar(data):
        known = _scalar_codes.get(kind)
        found = known if known is not None else (<dtype>_dtype_named(data.dtype.name)).code
    elif isinstance(data, bool):
        found = FL_BOOL
    elif isinstance(data, int):
        found = FL_I64
    elif isinstance(data, float):
        found = fl_default_dtype
    elif isinstance(data, complex):
        found = FL_C128 if fl_default_dtype == FL_F64 else FL_C64
    elif isinstance(data, Tensor) and (<Tensor>data)._numel == 1:
        found = (<Tensor>data)._dtype
    elif hasattr(data, "__array_interface__") and getattr(data, "shape", ()):
        raise TypeError("tensor(): an array with dimensions is no number")   # read as a list then
    elif hasattr(data, "__index__"):
        found = FL_I64
    elif hasattr(data, "__float__"):
        found = fl_default_dtype
    else:
        raise TypeError(f"tensor(): could not infer dtype of {type(data).__name__}; give numbers, "
                        "nested lists of numbers, an array or a tensor")
    code[0] = found if code[0] == -1 else fl_promote(code[0], found)
    return 0


_ALL_BITS = (1 << 64) - 1


cdef int _write_number(char *p, int code, object value) except -1:
    cdef double wide[2]
    cdef int64_t whole
    cdef int64_t one = 1
    cdef int beyond = 0
    cdef fl_strided src, dst
    if isinstance(value, Tensor):
        value = _item(value, "tensor()")
    if code == FL_F32:
        (<float *>p)[0] = <float><double>value
        return 0
    if code == FL_F64:
        (<double *>p)[0] = value
        return 0
    if code == FL_BOOL:
        p[0] = 1 if value else 0
        return 0
    if code == FL_I64 and type(value) is int:
        (<long long *>p)[0] = PyLong_AsLongLongAndOverflow(value, &beyond)
        if not beyond:
            return 0
    dst.data, dst.dtype, dst.strides = p, code, &one
    src.strides = &one
    if fl_is_int(code):
        if isinstance(value, int) and not isinstance(value, bool):
            _check_range(value, code)
        whole = <int64_t>(<uint64_t>(value & _ALL_BITS)) if code == FL_U64 \
            and isinstance(value, int) else int(value)
        src.data, src.dtype = <char *>&whole, FL_I64
    elif fl_is_complex(code):
        wide[0], wide[1] = complex(value).real, complex(value).imag
        src.data, src.dtype = <char *>wide, FL_C128
    else:
        wide[0] = value
        src.data, src.dtype = <char *>wide, FL_F64
    fl_copy_strided(dst, src, 1, &one)
    return 0


cdef int _check_range(object value, int code) except -1:
    bits = 8 * fl_itemsize(code)
    signed = code <= FL_I64 and code != FL_U8
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    if not signed and -high <= value < 0:       # counts down from the top, as in PyTorch
        return 0
    if not low <= value <= high:
        raise RuntimeError(f"value {value} cannot be converted to {_dtypes[code]} without "
                           f"overflow; its range is {low} to {high}")
    return 0


cdef char *_fill(object data, int depth, int ndim, int code, char *p) except NULL:
    if depth == ndim:
        _write_number(p, code, data)
        return p + fl_itemsize(code)
    for item in data:
        p = _fill(item, depth + 1, ndim, code, p)
    return p


cdef object _from_numbers(object data, int code, int device):
    cdef int64_t shape[32]
    cdef int ndim = -1, found = -1
    try:
        _scan(data, 0, shape, &ndim, &found)
    except (TypeError, ValueError):
        other = []
        data = _all_lists(data, [], other)
        if not other:
            raise
        ndim = found = -1
        _scan(data, 0, shape, &ndim, &found)
    if ndim == -1:
        ndim = 0
    if code < 0:
        code = found if found >= 0 else fl_default_dtype
    cdef fl_tensor *t = fl_tensor_empty(code, 0, ndim, shape)
    result = fl_steal(t)
    if t.numel:
        _fill(data, 0, ndim, code, t.data)
    return result if device == 0 else _operators["to_device"](result, fl_python_device(device))


def tensor(data, *, dtype=None, device=None, requires_grad=False, bint pin_memory=False):
    """A new tensor that holds a copy of ``data``.

    Args:
        data: A number, nested sequences of numbers, an array or a tensor.
        dtype: Element type; found from the data by default.
        device: Where to put it; the CPU by default.
        requires_grad: Whether operations on it are recorded.
        pin_memory: Accepted for compatibility; pinning is the backend's business.

    Returns:
        A tensor with memory of its own.

    Raises:
        ValueError: rows of different lengths.
        TypeError: something that is not a number.

    Example:
        >>> import flambeau
        >>> flambeau.tensor([[1, 2], [3, 4]])
        tensor([[1, 2],
                [3, 4]])
    """
    cdef int code = -1 if dtype is None else _unbox_dtype(<PyObject *>dtype)
    cdef int device_code = -1 if device is None else _unbox_device(<PyObject *>device)
    cdef fl_tensor *t
    if device_code < 0 and fl_default_device and not isinstance(data, Tensor):
        device, device_code = get_default_device(), fl_default_device
    if type(data) is float and code < 0 and device_code <= 0 and fl_default_dtype == FL_F32:
        t = fl_tensor_empty(FL_F32, 0, 0, NULL)
        (<float *>t.data)[0] = <float><double>data
        result = fl_steal(t)
    elif isinstance(data, Tensor):
        result = _operators["clone"](data.detach())
        if code >= 0 or device_code >= 0:
            result = result.to(device=device, dtype=dtype)
    elif not isinstance(data, (list, tuple, int, float, complex)) and _is_array(data):
        result = _operators["clone"](_from_array(data))
        if code >= 0 or device_code >= 0:
            result = result.to(device=device, dtype=dtype)
    elif not isinstance(data, (list, tuple, int, float, complex)) and hasattr(data, "_as_tensor"):
        result = _operators["clone"](data._as_tensor(dtype))    # a storage
        if device_code >= 0:
            result = result.to(device=device)
    else:
        result = _from_numbers(_listed(data), code, 0 if device_code < 0 else device_code)
    if _change_hooks:
        about_to_change(result, "made")
    if requires_grad:
        requiring(result, requires_grad)
    return result


cdef object _scalars(object data):
    """An array as nested lists of NumPy's numbers, which keep its dtype. A tensor of one element,
    whatever its shape, is a number."""
    if isinstance(data, Tensor) and (<Tensor>data)._numel == 1:
        return data
    if isinstance(data, Tensor) or not hasattr(data, "__array_interface__"):
        return data.tolist() if hasattr(data, "tolist") else data
    return [_scalars(x) for x in data] if getattr(data, "shape", ()) else data


cdef object _listed(object data):
    """Sequences of arrays or of tensors with dimensions become nested lists."""
    if isinstance(data, (list, tuple)):
        for item in data:
            if isinstance(item, Tensor) and (<Tensor>item)._numel != 1 or \
                    not isinstance(item, (list, tuple, int, float, complex, Tensor)) and \
                    type(item) not in _scalar_codes and \
                    _is_array(item) and not _is_array_scalar(item):
                return [_scalars(x) for x in data]
        return data
    return _as_list(data)


cdef object _as_list(object data):
    """A sequence of another kind than those of Python as a list; all else as it is."""
    if not hasattr(data, "__len__") or not (hasattr(data, "__iter__") or
                                            hasattr(data, "__getitem__")):
        return data
    try:
        return list(data)
    except Exception as error:
        raise ValueError(f"tensor(): could not determine the shape of object type "
                         f"{type(data).__name__!r}: {error!r}; give a list") from error


cdef object _all_lists(object data, list above, list other):
    """Nested sequences of any kind as lists of numbers; those of another kind go to ``other``."""
    for x in above:
        if x is data:
            raise TypeError("tensor(): self-referential lists are incompatible with tensors: a "
                            "list that contains itself has no shape")
    if not isinstance(data, (list, tuple)):
        if isinstance(data, (str, bytes, dict, set)) or hasattr(data, "_as_tensor"):
            return data
        if isinstance(data, Tensor) or hasattr(data, "__array_interface__"):
            plain = _scalars(data)
        else:
            plain = _as_list(data)
        if plain is not data:
            other.append(data)
        if not isinstance(plain, list) or hasattr(data, "__array_interface__"):
            return plain
        data = plain
    above = [*above, data]
    return [_all_lists(x, above, other) for x in data]


def as_tensor(data, dtype=None, device=None):
    """``data`` as a tensor, sharing memory where it can.

    Args:
        data: A tensor, an array, a number or nested sequences of numbers.
        dtype: Wanted element type.
        device: Wanted device.
    """
    if isinstance(data, Tensor):
        result = data
    elif _is_array(data) and not isinstance(data, (list, tuple, int, float, complex)):
        result = _from_array(data)
    else:
        return tensor(data, dtype=dtype, device=device)
    if dtype is not None or device is not None:
        return result.to(device=device, dtype=dtype)
    return result


def is_tensor(obj) -> bool:
    """Whether ``obj`` is a Tensor."""
    return isinstance(obj, Tensor)
