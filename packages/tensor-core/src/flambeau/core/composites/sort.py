"""Sets: elements without repeats, and membership."""
from flambeau.core import _core
from flambeau.core.composites.refusals import refusing
from flambeau.core.composites.shape.shapes import _wrap

_op = _core.operators()
Tensor = _core.Tensor


def unique(x, sorted, return_inverse, return_counts, dim):
    return refusing("unique", _unique(x.detach(), return_inverse, return_counts, dim), x)


def _unique(x, return_inverse, return_counts, dim):
    if x.is_complex():
        raise NotImplementedError(f"unique(): complex numbers have no order, got {x.dtype}")
    if dim is not None:
        return _unique_slices(x, return_inverse, return_counts, dim, True)
    if x.dtype is _core._dtype_named("bool"):
        return _unique_bools(x, return_inverse, return_counts)
    flat, order = _op["sort"](_op["reshape"](x, (-1,)), 0, False, True)
    return _without_repeats(flat, 0, order, x.shape, return_inverse, return_counts)


def _unique_bools(x, return_inverse, return_counts):
    """Nothing to sort: which of the two are there."""
    def pair(no, yes):
        return _op["stack"]([no, yes], 0)

    has_false = _op["logical_not"](_op["all"](x))
    there = pair(has_false, _op["any"](x))
    values = pair(*(_op["full_of"]((), each, device=x.device) for each in (False, True)))
    results = [_op["masked_select"](values, there)]
    if return_inverse:
        results.append(_op["logical_and"](x, has_false).to(_core._dtype_named("int64")))
    if return_counts:
        yes = _op["sum"](x)
        results.append(_op["masked_select"](pair(_op["rsub"](yes, x.numel()), yes), there))
    return results[0] if len(results) == 1 else tuple(results)


def unique_consecutive(x, return_inverse, return_counts, dim):
    results = _unique_consecutive(x.detach(), return_inverse, return_counts, dim)
    return refusing("unique_consecutive", results, x)


def _unique_consecutive(x, return_inverse, return_counts, dim):
    if dim is not None:
        return _unique_slices(x, return_inverse, return_counts, dim, False)
    return _without_repeats(_op["reshape"](x, (-1,)), 0, None, x.shape, return_inverse,
                            return_counts)


def _unique_slices(x, return_inverse, return_counts, dim, order_them):
    if x.ndim == 0:
        raise IndexError(f"unique(): Dimension specified as {dim} but tensor has no dimensions; "
                         f"leave out dim")
    dim = _wrap(dim, x.ndim, "unique")
    size = x.shape[dim]
    if x.numel() == 0 and (size or 0 in x.shape[:dim] + x.shape[dim + 1:]):
        raise RuntimeError(f"unique(): There are 0 sized dimensions, and they aren't selected, so "
                           f"unique cannot be applied (shape {list(x.shape)}, dim {dim})")
    order = None
    if order_them and size:
        rows = _op["reshape"](_op["movedim"](x, (dim,), (0,)), (size, -1))
        order = _op["row_order"](rows)
        x = _op["index_select"](x, dim, order)
    return _without_repeats(x, dim, order, (size,), return_inverse, return_counts)


def _without_repeats(x, dim, order, shape, return_inverse, return_counts):
    """Slices that differ from the one before; order: where each stood in the caller's tensor."""
    n = x.shape[dim]
    firsts = _first_flags(x, dim, n)
    if x.ndim == 1 and not (return_inverse or return_counts):
        return _op["masked_select"](x, firsts)
    starts = _op["view"](_op["nonzero"](firsts), (-1,))
    is_quick = x.ndim == 1 and x.is_cpu     # elsewhere a mask is read by the host once more
    results = [_op["masked_select"](x, firsts) if is_quick else
               _op["index_select"](x, dim, starts)]
    if return_inverse:
        numbers = _op["sub"](_op["cumsum"](firsts, 0), 1)
        if order is not None:
            numbers = _op["index_put"](_op["empty"]((n,), dtype=numbers.dtype, device=x.device),
                                       [order], numbers)
        results.append(_op["view"](numbers, shape))
    if return_counts:
        end = _op["full_of"]((1,), n, dtype=starts.dtype, device=x.device)
        rest = _op["narrow"](starts, 0, 1, starts.numel() - 1) if n else starts
        results.append(_op["sub"](_op["cat"]([rest, end]), starts) if n else starts)
    return results[0] if len(results) == 1 else tuple(results)


def _first_flags(x, dim, n):
    """Which slices differ from their predecessor."""
    if n == 0:
        return _op["full_of"]((0,), True, device=x.device)
    changed = _op["ne"](_op["narrow"](x, dim, 1, n - 1), _op["narrow"](x, dim, 0, n - 1))
    if x.ndim > 1:
        changed = _op["any"](changed, [d for d in range(x.ndim) if d != dim])
    return _op["cat"]([_op["full_of"]((1,), True, device=x.device), changed])


#: Up to so many test elements are compared one by one with more than so many elements; else the
#: test elements stand in a table.
_MAX_TESTS, _MIN_ELEMENTS = 4, 1 << 10


def isin(elements, test_elements, assume_unique, invert):
    if not isinstance(elements, Tensor) and not isinstance(test_elements, Tensor):
        raise TypeError("isin(): one of elements and test_elements must be a tensor")
    x, tests = elements, test_elements
    if not isinstance(x, Tensor):
        x = _core.tensor(x, device=tests.device)
    elif not isinstance(tests, Tensor):
        tests = _core.tensor(tests, device=x.device)
    if tests.ndim != 1:
        tests = _op["reshape"](tests, (-1,))
    one_by_one = tests.numel() == 0 or (tests.numel() <= _MAX_TESTS and x.numel() > _MIN_ELEMENTS)
    if one_by_one or x.is_complex() or tests.is_complex():
        found = _equal_to_any(x, tests)
    else:
        found = _in_table(x, tests)
    return _op["logical_not"](found) if invert else found


def _equal_to_any(x, tests):
    found = _op["full_of"](x.shape, False, device=x.device)
    for i in range(tests.numel()):
        found = _op["logical_or"](found, _op["eq"](x, _op["select"](tests, 0, i)))
    return found


def _in_table(x, tests):
    if x.dtype is not tests.dtype:
        dtype = _core.promote_types(x.dtype, tests.dtype)
        x, tests = x.to(dtype), tests.to(dtype)
    return _op["isin_of"](x, tests)
