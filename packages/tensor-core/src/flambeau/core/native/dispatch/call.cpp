/* Calls from Python: arguments are read for the form that fits, results become objects. */
#include "dispatch/caller.h"
#include "dispatch/older_order.h"
#include "dispatch/python.h"
#include "overrides/override.h"
#include "op_index.h"
#include <cmath>

PyObject *fl_results(const fl_op *op, fl_value *out) {
    if (op->nouts == 1)
        return out[0].o;
    PyTypeObject *named = (PyTypeObject *)op->reserved[0];
    PyObject *tuple = named ? named->tp_alloc(named, op->nouts) : PyTuple_New(op->nouts);
    for (int i = 0; i < op->nouts; i++) {
        if (tuple)
            PyTuple_SET_ITEM(tuple, i, out[i].o);
        else
            Py_DECREF(out[i].o);
    }
    return tuple;
}

static int preset_out(const fl_op *op, PyObject *out, fl_value *results) {
    if (op->nouts == 1 && fl_tensor_check(out)) {
        results[0].tag = FL_TENSOR;
        results[0].t = (fl_tensor *)out;
        return 0;
    }
    if (op->nouts > 1 && (PyTuple_Check(out) || PyList_Check(out)) &&
        PySequence_Fast_GET_SIZE(out) == op->nouts) {
        for (int i = 0; i < op->nouts; i++) {
            PyObject *o = PySequence_Fast_GET_ITEM(out, i);
            if (!fl_tensor_check(o))
                goto wrong;
            results[i].tag = FL_TENSOR;
            results[i].t = (fl_tensor *)o;
        }
        return 0;
    }
wrong:
    PyErr_Format(PyExc_TypeError, "%s(): out must be %s, not %.100s", fl_op_called(op),
                 op->nouts == 1 ? "a Tensor" : "a tuple of Tensors", Py_TYPE(out)->tp_name);
    return -1;
}

/* split_copy() and the like take a tensor for each piece. */
static PyObject *copy_pieces(const fl_op *op, PyObject *pieces, PyObject *out) {
    Py_ssize_t n = PyTuple_GET_SIZE(pieces);
    if ((!PyTuple_Check(out) && !PyList_Check(out)) || PySequence_Fast_GET_SIZE(out) != n) {
        PyErr_Format(PyExc_RuntimeError, "%s() expected an out= argument of size %zd, one tensor "
                     "for each of the pieces", fl_op_called(op), n);
        return nullptr;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *target = PySequence_Fast_GET_ITEM(out, i);
        PyObject *done = PyObject_CallMethod(target, "copy_", "O", PyTuple_GET_ITEM(pieces, i));
        if (!done)
            return nullptr;
        Py_DECREF(done);
    }
    Py_INCREF(out);
    return out;
}

static PyObject *call_with_pieces(const fl_op *op, const fl_value *values, PyObject *out) {
    fl_value results[FL_MAX_OUTS];
    results[0].tag = FL_NONE;
    if (fl_dispatch(op, values, op->nparams, results) < 0)
        return nullptr;
    PyObject *pieces = fl_results(op, results);
    PyObject *copied = copy_pieces(op, pieces, out);
    Py_DECREF(pieces);
    return copied;
}

/* Sums, products and means are accumulated in the dtype of out=, and a dtype named beside it must
 * be that one. Integers have no mean, whatever out is. */
static int accumulate_in_out(const fl_op *op, fl_value *values, const fl_tensor *out) {
    switch (op->index) {
    case FL_OP_sum: case FL_OP_nansum: case FL_OP_prod: case FL_OP_cumsum: case FL_OP_cumprod:
    case FL_OP_mean:
        break;
    default:
        return 0;
    }
    fl_value &dtype = values[op->nparams - 1];
    if (dtype.tag == FL_DTYPE && dtype.i != out->dtype) {
        PyErr_Format(PyExc_RuntimeError, "%s(): dtype=%s but out is %s; leave out dtype, or give "
                     "out= a tensor of that dtype", fl_op_called(op), fl_dtype_name((int)dtype.i),
                     fl_dtype_name(out->dtype));
        return -1;
    }
    int given = values[0].t->dtype;
    bool has_result = op->index != FL_OP_mean || fl_is_float(given) || fl_is_complex(given);
    if (dtype.tag == FL_NONE && has_result && fl_can_cast(given, out->dtype)) {
        dtype.tag = FL_DTYPE;
        dtype.i = out->dtype;
    }
    return 0;
}

/* A parsed call. */
struct Parsed {
    fl_value values[FL_MAX_PARAMS];
    fl_arena arena;
    PyObject *out = nullptr;
};

/* Two numbers make a tensor in the five operations of arithmetic alone, as in PyTorch: elsewhere
 * they show that a tensor was forgotten, or that Python's own operator is meant. */
static bool takes_numbers_alone(const fl_op *op) {
    static const uint32_t arithmetic[] = {FL_OP_add, FL_OP_sub, FL_OP_mul, FL_OP_div,
                                          FL_OP_div__mode, FL_OP_floor_divide};
    for (uint32_t index : arithmetic)
        if (op->index == index)
            return true;
    return op->flags & FL_O_HELPER;
}

static int check_has_tensor(const fl_op *op, const fl_value *values) {
    for (int i = 0; i < op->nparams; i++)
        if (values[i].tag == FL_TENSOR)
            return 0;
    if (takes_numbers_alone(op))
        return 0;
    PyErr_Format(PyExc_TypeError, "%s(): argument '%s' must be Tensor where '%s' is a number; for "
                 "numbers alone use Python's own operators, or write flambeau.tensor(number)",
                 fl_op_called(op), op->params[0].name, op->params[1].name);
    return -1;
}

/* A view has the memory of its input, and what writes to its first argument has no other result. */
static int refuse_out(const fl_op *op, bool inplace) {
    if (!inplace && (op->flags & FL_O_LIST || op->category != FL_VIEW_OP))
        return 0;
    PyErr_Format(PyExc_TypeError, "%s%s() got an unexpected keyword argument 'out'; write "
                 "out.copy_(...) with its result", fl_op_called(op), inplace ? "_" : "");
    return -1;
}

static PyObject *call_parsed(const fl_op *op, bool inplace, Parsed &call) {
    fl_value results[FL_MAX_OUTS];
    fl_value *values = call.values;
    for (int i = 0; i < op->nouts; i++)
        results[i].tag = FL_NONE;
    if (FL_UNLIKELY(op->params[0].role == FL_R_OPERAND && values[0].tag != FL_TENSOR) &&
        check_has_tensor(op, values) < 0)
        return nullptr;
    if (FL_UNLIKELY(call.out != nullptr) && refuse_out(op, inplace) < 0)
        return nullptr;
    if (FL_UNLIKELY(call.out != nullptr) && op->flags & FL_O_LIST)
        return call_with_pieces(op, values, call.out);
    if (inplace)
        results[0] = values[0];
    else if (call.out && preset_out(op, call.out, results) < 0)
        return nullptr;
    else if (call.out && accumulate_in_out(op, values, results[0].t) < 0)
        return nullptr;
    if (inplace && values[0].tag != FL_TENSOR) {
        PyErr_Format(PyExc_TypeError, "%s_() writes to its first argument, which must be a Tensor",
                     fl_op_called(op));
        return nullptr;
    }
    if (fl_dispatch(op, values, op->nparams, results) < 0)
        return nullptr;
    return fl_results(op, results);
}

/* Read a call that failed to be read in the order that PyTorch deprecated; else the error stays. */
static PyObject *call_older(const fl_op *op, bool inplace, PyObject *const *args, Py_ssize_t nargs,
                            PyObject *kwnames) {
    if (!PyErr_ExceptionMatches(PyExc_TypeError))
        return nullptr;
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *result = fl_call_older(op, inplace, args, nargs, kwnames);
    if (!result && !PyErr_Occurred()) {
        PyErr_Restore(type, value, trace);
        return nullptr;
    }
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return result;
}

static PyObject *call_one(const fl_op *op, bool inplace, PyObject *const *args, Py_ssize_t nargs,
                          PyObject *kwnames) {
    Parsed call;
    if (fl_parse(op, args, nargs, kwnames, call.values, &call.arena, &call.out) < 0) {
        if (fl_any_sparse(args, nargs, kwnames))
            return fl_call_sparse(op, inplace, args, nargs, kwnames);
        return call_older(op, inplace, args, nargs, kwnames);
    }
    return call_parsed(op, inplace, call);
}

/* Append "view.dtype(self, dtype)" to a text, which is NULL after an error. */
static void append_form(PyObject **text, const fl_op *op) {
    const char *dot = op->overload[0] ? "." : "";
    PyUnicode_AppendAndDel(text, PyUnicode_FromFormat("%s%s%s(", fl_op_called(op), dot,
                                                      op->overload));
    for (int i = 0; i < op->nparams; i++)
        PyUnicode_AppendAndDel(text, PyUnicode_FromFormat("%s%s", i ? ", " : "",
                                                          op->params[i].name));
    PyUnicode_AppendAndDel(text, PyUnicode_FromString(")"));
}

/* Raise the error that is set as one that also names the forms there are. */
static PyObject *none_fits(fl_op *const *overloads, int count) {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *text = PyUnicode_FromFormat("%S; its forms:", value ? value : Py_None);
    for (int i = 0; i < count; i++) {
        PyUnicode_AppendAndDel(&text, PyUnicode_FromString(i ? ", " : " "));
        append_form(&text, overloads[i]);
    }
    if (text)
        PyErr_SetObject(PyExc_TypeError, text);
    Py_XDECREF(text);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return nullptr;
}

PyObject *fl_call_python(fl_op *const *overloads, int count, bool inplace, PyObject *const *args,
                         Py_ssize_t nargs, PyObject *kwnames) {
    if (FL_LIKELY(count == 1))
        return call_one(overloads[0], inplace, args, nargs, kwnames);
    for (int i = 0; i < count; i++) {
        const fl_op *op = overloads[i];
        if (!fl_may_fit(op, args, nargs, kwnames))
            continue;
        Parsed call;
        call.arena.choosing = true;
        if (fl_parse(op, args, nargs, kwnames, call.values, &call.arena, &call.out) == 0)
            return call_parsed(op, inplace, call);
        if (!PyErr_ExceptionMatches(PyExc_TypeError))
            return nullptr;
        PyErr_Clear();
    }
    if (fl_any_sparse(args, nargs, kwnames))
        return fl_call_sparse(overloads[0], inplace, args, nargs, kwnames);
    Parsed nearest;
    nearest.arena.choosing = true;
    fl_parse(fl_nearest_form(overloads, count, args, nargs, kwnames), args, nargs, kwnames,
             nearest.values, &nearest.arena, &nearest.out);
    return none_fits(overloads, count);
}

static int operand(PyObject *o, const fl_op *op, int i, fl_value *v, fl_arena *arena) {
    if (FL_LIKELY(fl_tensor_check(o))) {
        v->tag = FL_TENSOR;
        v->t = (fl_tensor *)o;
        return 1;
    }
    if (op->params[i].role != FL_R_OPERAND)
        return 0;
    if (PyFloat_CheckExact(o)) {
        v->tag = FL_FLOAT;
        v->d = PyFloat_AS_DOUBLE(o);
        return 1;
    }
    if (fl_unbox(o, op, &op->params[i], v, arena) == 0)
        return 1;
    if (!PyErr_ExceptionMatches(PyExc_TypeError))
        return -1;
    PyErr_Clear();
    return 0;
}

/* Under the array API's rule x // y, x % y and x ** 0.5 of floats are its own: what it wants of
 * infinities and of the sign of zero is not what PyTorch gives. */
static bool standard_differs(const fl_op *op, const fl_value *v, bool inplace) {
    if (FL_LIKELY(!fl_promote_by_dtype))
        return false;
    if (op->index == FL_OP_pow)
        return v[1].tag == FL_FLOAT && fabs(v[1].d) == 0.5;
    if (op->index != FL_OP_floor_divide && op->index != FL_OP_remainder)
        return false;
    bool floats[2];
    for (int i = 0; i < 2; i++)
        floats[i] = v[i].tag == FL_TENSOR ? fl_is_float(v[i].t->dtype) : v[i].tag == FL_FLOAT;
    return inplace ? floats[0] : floats[0] || floats[1];
}

static PyObject *by_the_standard(const fl_op *op, PyObject *a, PyObject *b, bool inplace) {
    PyObject *module = PyImport_ImportModule("flambeau.array_api");
    PyObject *result = module ? PyObject_CallMethod(module, op->name, "OO", a, b) : nullptr;
    Py_XDECREF(module);
    if (!result || !inplace)
        return result;
    PyObject *written = PyObject_CallMethod(a, "copy_", "O", result);
    Py_DECREF(result);
    return written;
}

/* An operand is neither a dense tensor nor a number. */
static PyObject *binary_of_others(const fl_op *op, PyObject *a, PyObject *b, bool inplace) {
    PyObject *args[] = {a, b};
    if (fl_any_sparse(args, 2, nullptr))
        return fl_call_sparse(op, inplace, args, 2, nullptr);
    Py_RETURN_NOTIMPLEMENTED;
}

PyObject *fl_binary(const fl_op *op, PyObject *a, PyObject *b, bool inplace) {
    fl_value values[FL_MAX_PARAMS], results[1];
    fl_arena arena;
    if (FL_UNLIKELY(fl_overriding) && fl_is_shown_pair(a, b))
        return fl_show_operator(op, a, b, inplace);
    int status = operand(a, op, 0, &values[0], &arena);
    if (status == 1)
        status = operand(b, op, 1, &values[1], &arena);
    if (status == 0 && fl_is_shown_pair(a, b))
        return fl_show_operator(op, a, b, inplace);
    if (status == 0)
        return binary_of_others(op, a, b, inplace);
    if (status < 0)
        return nullptr;
    if (standard_differs(op, values, inplace))
        return by_the_standard(op, a, b, inplace);
    for (int i = 2; i < op->nparams; i++)
        values[i] = op->params[i].fallback;
    results[0].tag = FL_NONE;
    if (inplace)
        results[0] = values[0];
    if (fl_dispatch(op, values, op->nparams, results) < 0)
        return nullptr;
    return results[0].o;
}

PyObject *fl_unary(const fl_op *op, PyObject *a) {
    fl_value values[FL_MAX_PARAMS], results[1];
    if (FL_UNLIKELY(fl_overriding) && fl_is_shown(&a, 1))
        return fl_show_operator(op, a, nullptr, false);
    values[0].tag = FL_TENSOR;
    values[0].t = (fl_tensor *)a;
    for (int i = 1; i < op->nparams; i++)
        values[i] = op->params[i].fallback;
    results[0].tag = FL_NONE;
    if (fl_dispatch(op, values, op->nparams, results) < 0)
        return nullptr;
    return results[0].o;
}
