# x[...] for reading and writing. Integers, slices, None and Ellipsis are views; tensors, lists
# and masks are NumPy's advanced indexing.

cdef object _view_call(int op, Tensor t, int64_t a, int64_t b, int64_t c, int64_t d, int count):
    """A view operator with integer arguments."""
    cdef fl_value v[5]
    cdef fl_value out[1]
    v[0].tag, v[0].t = FL_TENSOR, <fl_tensor *><PyObject *>t
    v[1].tag, v[1].i = FL_INT, a
    v[2].tag, v[2].i = FL_INT, b
    v[3].tag, v[3].i = FL_INT, c
    v[4].tag, v[4].i = FL_INT, d
    out[0].tag = FL_NONE
    fl_dispatch(&fl_builtin_ops[op], v, count, out)
    return fl_steal(out[0].t)


cdef inline bint _is_integer(object i):
    return type(i) is int or (not isinstance(i, (bool, Tensor, list, tuple, slice)) and
                              i is not None and i is not Ellipsis and hasattr(i, "__index__") and
                              not hasattr(i, "__len__"))


cdef object _slice_view(Tensor t, int dim, object s):
    cdef Py_ssize_t start, stop, step
    if t._ndim <= dim:
        raise IndexError(f"too many indices for a tensor of dimension {t._ndim}")
    step = 1 if s.step is None else s.step
    if step <= 0:
        raise ValueError(f"step must be greater than zero, got {step}; reverse with "
                         f"x.flip({dim})")
    start = 0 if s.start is None else s.start
    stop = t._shape[dim] if s.stop is None else s.stop
    return _view_call(FL_OP_slice, t, dim, start, stop, step, 5)


cdef object _integer_view(Tensor t, int dim, object i):
    cdef int64_t index = i if type(i) is int else PyNumber_Index(i)
    if t._ndim == 0:
        raise IndexError("invalid index of a 0-dim tensor. Use `tensor.item()` to convert a 0-dim "
                         "tensor to a number")
    if not -t._shape[dim] <= index < t._shape[dim]:
        raise IndexError(f"index {index} is out of bounds for dimension {dim} with size "
                         f"{t._shape[dim]}")
    return _view_call(FL_OP_select, t, dim, index, 0, 0, 3)


cdef object _get_item(Tensor t, object index):
    if fl_promote_by_dtype and _runs_backwards(index):
        return _read_backwards(t, index)
    if type(index) is slice:
        return _slice_view(t, 0, index)
    if type(index) is int:
        return _integer_view(t, 0, index)
    view, advanced = _basic(t, index)
    if advanced is None:
        return view if view is not t else _whole_view(t)
    if _shows_masks(view, advanced):
        return method_below("index.Tensor", view, [i for i in advanced if i is not Ellipsis])
    mask = _only_mask(view, advanced)
    if mask is not None and (<Tensor>mask)._ndim == (<Tensor>view)._ndim:
        return _operators["masked_select"](view, mask)
    return _operators["index"](view, _spread(view, advanced))


cdef bint _shows_masks(Tensor view, list advanced) except -1:
    """Whether a class is shown this call with its masks, not with the positions that they choose:
    where none of it is recorded."""
    if not fl_showing_below or fl_below_off or not any([_is_mask(i) for i in advanced]):
        return False
    return any([is_dispatched(i) for i in (view, *advanced)]) and \
        not (fl_thread.mode & <uint32_t>FL_M_GRAD and view.requires_grad)


cdef object _whole_view(Tensor t):
    """x[...] is a tensor of its own: what changes its shape or history leaves x alone."""
    return _slice_view(t, 0, slice(None)) if t._ndim else _operators["view"](t, ())


cdef object _only_mask(Tensor view, list advanced):
    """The bool mask over the first dimensions that is the whole index, or None."""
    first = advanced[0]
    if not isinstance(first, Tensor) or (<Tensor>first)._dtype != FL_BOOL or \
            (<Tensor>first)._ndim == 0:
        return None
    for i in advanced[1:]:
        if isinstance(i, Tensor):
            return None
    if _check_mask(view, first, 0):
        return first
    return _operators["full_of"](tuple(view.shape)[:(<Tensor>first)._ndim], False,
                                 device=view.device)


cdef object _as_index_tuple(object index):
    """A list that holds more than numbers and bools stands for a tuple, as in PyTorch."""
    if type(index) is tuple:
        return index
    if isinstance(index, list) and len(index) < 32 and \
            any([isinstance(i, (slice, list, tuple, Tensor)) or i is None or i is Ellipsis
                 for i in index]):
        return tuple(index)
    return (index,)


cdef int _warn_of_bytes() except -1:
    import warnings
    warnings.warn("indexing with dtype uint8 is now deprecated, please use a dtype bool instead: "
                  "x[mask.bool()]", stacklevel=1)
    return 0


cdef inline bint _is_mask(object i):
    """Bool tensors, and uint8 ones for old times' sake."""
    return isinstance(i, Tensor) and ((<Tensor>i)._dtype == FL_BOOL or (<Tensor>i)._dtype == FL_U8)


cdef int _consumed(object i) except -1:
    """How many dimensions an index entry uses up."""
    if i is None or i is Ellipsis or i is True or i is False:
        return 0
    return (<Tensor>i)._ndim if _is_mask(i) else 1


cdef object _index_entry(object i, Tensor like):
    """Lists, ranges and arrays as index tensors; everything else as it is."""
    if i is None or i is Ellipsis or isinstance(i, (slice, bool)) or _is_integer(i):
        return i
    if isinstance(i, Tensor):
        result = i
    elif isinstance(i, (str, bytes, float, complex, dict)):
        raise IndexError("only integers, slices (`:`), ellipsis (`...`), None and integer or bool "
                         f"tensors are valid indices (got {type(i).__name__} {i!r:.40})")
    elif isinstance(i, (list, tuple)) and not i:
        result = tensor([], dtype=_dtypes[FL_I64], device="cpu")
    else:
        result = tensor(list(i) if isinstance(i, range) else i, device="cpu")
    if (<Tensor>result)._dtype == FL_U8:
        _warn_of_bytes()
    if (<Tensor>result)._dtype >= FL_F16:
        raise IndexError(f"tensors used as indices must be integer or bool tensors, got "
                         f"{result.dtype} of shape {list(result.shape)}; write i.long()")
    if (<Tensor>result)._device_type != like._device_type and \
            (<Tensor>result)._device_type == FL_CPU:
        result = result.to(like.device)
    return result


cdef object _basic(Tensor t, object index):
    """Apply the view part of an index. Returns the view, and per dimension an index tensor or
    None; or None when there are no index tensors."""
    entries = [_index_entry(i, t) for i in _as_index_tuple(index)]
    used = 0
    for i in entries:
        used += _consumed(i)
    if used > t._ndim:
        raise IndexError(f"too many indices for tensor of dimension {t._ndim}: {used} given")
    advanced = []
    has_advanced = False
    dim = 0
    view = t
    seen_ellipsis = False
    for i in entries:
        if i is Ellipsis:
            if seen_ellipsis:
                raise IndexError("an index can only have a single ellipsis ('...')")
            seen_ellipsis = True
            for _ in range(t._ndim - used):
                advanced.append(None)
                dim += 1
        elif i is None:
            view = _operators["unsqueeze"](view, dim)
            advanced.append(None)
            dim += 1
        elif isinstance(i, slice):
            if not (i.start is None and i.stop is None and i.step is None):
                view = _slice_view(view, dim, i)
            advanced.append(None)
            dim += 1
        elif _is_integer(i):
            view = _integer_view(view, dim, i)
        elif isinstance(i, Tensor) and (<Tensor>i)._ndim == 0 and not _is_mask(i) \
                and not (<Tensor>i)._flags >> FL_LEVEL_SHIFT:   # of a batch: no single number
            view = _integer_view(view, dim, _item(i, "index"))
        else:
            if isinstance(i, bool):
                i = tensor(i, device=t.device)
            if (<Tensor>i)._ndim == 0 and _is_mask(i):
                view = _operators["unsqueeze"](view, dim)
            has_advanced = True
            advanced.append(i)
            covered = max(_consumed(i), 1)
            advanced.extend([Ellipsis] * (covered - 1))
            dim += covered
    return view, (advanced if has_advanced else None)


cdef object _spread(Tensor view, list advanced):
    """Masks become integer indices, one per dimension they cover."""
    result = []
    cdef int dim = 0
    for i in advanced:
        if i is Ellipsis:
            dim += 1
            continue
        if _is_mask(i):
            _check_mask(view, i, dim)
            if (<Tensor>i)._ndim == 0:
                count = 1 if _item(i, "index") else 0
                result.append(tensor([0] * count, dtype=_dtypes[FL_I64], device="cpu"))
            else:
                result.extend(_operators["unbind"](_operators["nonzero"](i), 1))
        elif i is not None and (<Tensor>i)._dtype != FL_I64:
            result.append(_operators["cast"](i, _dtypes[FL_I64]))
        else:
            result.append(i)
        dim += 1
    return result


def spread_indices(Tensor x not None, indices):
    """Index tensors for index_put: masks, lists and bools as integer tensors, None as it is."""
    advanced = []
    for i in indices:
        i = _index_entry(i, x)
        if i is not None and not isinstance(i, Tensor):
            i = tensor(i, device=x.device)
        advanced.append(i)
        advanced.extend([Ellipsis] * (max(_consumed(i), 1) - 1))
    if len(advanced) > x._ndim:
        raise IndexError(f"too many indices for tensor of dimension {x._ndim} (got "
                         f"{len(advanced)})")
    return _spread(x, advanced)


cdef int _check_mask(Tensor view, Tensor mask, int dim) except -1:
    """Refuse masks of other sizes; 0 for one that selects nothing, with sizes of 0, as in NumPy."""
    cdef bint same = True
    for k in range(mask._ndim):
        same = same and mask._shape[k] == view._shape[dim + k]
        if mask._shape[k] != view._shape[dim + k] and mask._shape[k] != 0:
            raise IndexError(f"The shape of the mask {list(mask.shape)} at index {k} does not "
                             f"match the shape of the indexed tensor {list(view.shape)} at index "
                             f"{dim + k}")
    return same


cdef bint _runs_backwards(object index):
    """Whether there is a slice with a negative step."""
    if type(index) is not tuple:
        return type(index) is slice and index.step is not None and index.step < 0
    for i in index:
        if type(i) is slice and i.step is not None and i.step < 0:
            return True
    return False


cdef object _read_backwards(Tensor t, object index):
    """A flipped copy, by the rule of the array API standard, which lets copies be."""
    forwards, dims = _forwards(t, index)
    if not dims:                        # beside index tensors: refused as ever
        return _basic(t, forwards)
    return _operators["flip"](_get_item(t, forwards), dims)


cdef object _forwards(Tensor t, object index):
    """The same indices in forward order, and the dimensions, from the last, that run backwards."""
    entries = _as_index_tuple(index)
    if any([not (i is None or i is Ellipsis or isinstance(i, slice) or _is_integer(i))
            for i in entries]):
        return index, []                # beside index tensors it is refused, as in reading
    rest = t._ndim - sum([_consumed(i) for i in entries])
    result, turned, kept = [], [], 0
    dim = 0
    for i in entries:
        if isinstance(i, slice) and dim < t._ndim and i.step is not None and i.step < 0:
            positions = range(*i.indices(t._shape[dim]))[::-1]
            i = slice(positions.start, positions.stop,
                      positions.step) if len(positions) else slice(0, 0)
            turned.append(kept)
        result.append(i)
        dim += rest if i is Ellipsis else _consumed(i)
        kept += rest if i is Ellipsis else 0 if _is_integer(i) else 1
    ndim = kept + (0 if Ellipsis in entries else rest)
    return tuple(result), [k - ndim for k in turned]


cdef object _turned(object value, list dims, Tensor t):
    """A value flipped along dimensions counted from the last, where it has them."""
    if isinstance(value, (int, float, complex)):
        return value
    value = value if isinstance(value, Tensor) else as_tensor(value, dtype=t.dtype)
    return _operators["flip"](value, [d for d in dims if -d <= (<Tensor>value)._ndim])


cdef int _set_item(Tensor t, object index, object value) except -1:
    cdef fl_value v[2]
    cdef fl_value out[1]
    if _runs_backwards(index):
        index, dims = _forwards(t, index)
        value = _turned(value, dims, t)
    view, advanced = _basic(t, index)
    if advanced is None:
        if isinstance(value, Tensor):
            _write_into(view, value)
        elif isinstance(value, (int, float, complex)):
            _operators["fill_"](view, value)
        else:
            _write_into(view, as_tensor(value, dtype=t.dtype))
        return 0
    mask = _only_mask(view, advanced)
    if mask is not None and (isinstance(value, (int, float)) or
                             (isinstance(value, Tensor) and (<Tensor>value)._ndim == 0)):
        shape = tuple(mask.shape) + (1,) * ((<Tensor>view)._ndim - (<Tensor>mask)._ndim)
        _operators["masked_fill_"](view, _operators["reshape"](mask, shape), value)
        return 0
    if not isinstance(value, Tensor):
        value = tensor(value, dtype=t.dtype, device=t.device) \
            if isinstance(value, (int, float, complex)) else as_tensor(value, dtype=t.dtype)
    elif value.dtype is not t.dtype or (<Tensor>value)._device_type != t._device_type:
        value = value.to(device=t.device, dtype=t.dtype)
    while (<Tensor>value)._ndim > 1 and (<Tensor>value)._shape[0] == 1 and \
            (<Tensor>value)._ndim > _shown_ndim(view, advanced):
        value = _operators["select"](value, 0, 0)
    _operators["index_put_"](view, _spread(view, advanced), value)
    return 0


cdef int _shown_ndim(Tensor view, list advanced) except -1:
    """How many dimensions an index with tensors shows of a view."""
    cdef int used = 0, shown = 0
    for i in advanced:
        used += i is not None       # an ellipsis stands for a further dimension of a mask
        if isinstance(i, Tensor):
            shown = max(shown, 1 if _is_mask(i) else (<Tensor>i)._ndim)
    return view._ndim - used + shown


cdef int _write_into(Tensor view, Tensor value) except -1:
    """copy_, where extra leading dimensions of size 1 are allowed."""
    while value._ndim > view._ndim and value._shape[0] == 1:
        value = _operators["select"](value, 0, 0)
    if value._device_type != view._device_type:
        value = value.to(view.device)
    if value._numel != view._numel:     # of the same memory it may be: x[:] = x[0]
        value = _operators["expand"](value, view.shape)
    _operators["copy_"](view, value)
    return 0
