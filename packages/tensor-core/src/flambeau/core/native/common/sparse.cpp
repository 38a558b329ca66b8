/* The way of calls with sparse tensors to flambeau.sparse; see sparse.h. */
#include "common/sparse.h"
#include "dispatch/python.h"

PyObject *fl_sparse_called = nullptr;
PyObject *fl_sparse_alias = nullptr;

static bool is_sparse_object(PyObject *o) {
    return PyObject_TypeCheck(o, fl_tensor_type) && fl_is_sparse((fl_tensor *)o);
}

static bool holds_sparse(PyObject *o) {
    if (is_sparse_object(o))
        return true;
    if (!PyTuple_Check(o) && !PyList_Check(o))
        return false;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); i++)
        if (is_sparse_object(PySequence_Fast_GET_ITEM(o, i)))
            return true;
    return false;
}

bool fl_any_sparse(PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    if (!fl_sparse_called)
        return false;
    Py_ssize_t total = nargs + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
    for (Py_ssize_t i = 0; i < total; i++)
        if (holds_sparse(args[i]))
            return true;
    return false;
}

static PyObject *keywords_of(PyObject *const *values, PyObject *kwnames) {
    PyObject *keywords = PyDict_New();
    for (Py_ssize_t i = 0; keywords && kwnames && i < PyTuple_GET_SIZE(kwnames); i++)
        if (PyDict_SetItem(keywords, PyTuple_GET_ITEM(kwnames, i), values[i]) < 0)
            Py_CLEAR(keywords);
    return keywords;
}

static PyObject *call_with(const fl_op *op, bool inplace, PyObject *positional,
                           PyObject *keywords) {
    PyObject *result = nullptr;
    if (positional && keywords)
        result = PyObject_CallFunction(fl_sparse_called, "ssiOO", fl_op_called(op), op->overload,
                                       (int)inplace, positional, keywords);
    Py_XDECREF(positional);
    Py_XDECREF(keywords);
    return result;
}

PyObject *fl_call_sparse(const fl_op *op, bool inplace, PyObject *const *args, Py_ssize_t nargs,
                         PyObject *kwnames) {
    PyErr_Clear();      /* of the reading, which knows dense tensors alone */
    PyObject *positional = PyTuple_New(nargs);
    for (Py_ssize_t i = 0; positional && i < nargs; i++)
        PyTuple_SET_ITEM(positional, i, Py_NewRef(args[i]));
    return call_with(op, inplace, positional, keywords_of(args + nargs, kwnames));
}

static bool is_sparse_value(const fl_value &v) {
    if (v.tag == FL_TENSOR)
        return v.t && fl_is_sparse(v.t);
    for (uint32_t k = 0; v.tag == FL_TENSORS && k < v.len; k++)
        if (v.ts[k] && fl_is_sparse(v.ts[k]))
            return true;
    return false;
}

/* The arguments up to the last that is no default, as a call would have them. */
static PyObject *given_arguments(const fl_op *op, const fl_value *in, int n) {
    while (n > 0 && op->params[n - 1].flags & FL_P_DEFAULT &&
           !memcmp(&in[n - 1], &op->params[n - 1].fallback, sizeof(fl_value)))
        n--;
    PyObject *positional = PyTuple_New(n);
    for (int i = 0; positional && i < n; i++) {
        PyObject *value = fl_box(&in[i]);
        if (value)
            PyTuple_SET_ITEM(positional, i, value);
        else
            Py_CLEAR(positional);
    }
    return positional;
}

/* The result of a call with one output, which is preset or not. */
static int take_sparse(const fl_op *op, PyObject *result, fl_value *out) {
    if (!result)
        return -1;
    if (op->nouts != 1 || !PyObject_TypeCheck(result, fl_tensor_type) ||
        (out[0].tag == FL_TENSOR && result != (PyObject *)out[0].t)) {
        PyErr_Format(PyExc_NotImplementedError, "%s: gives no sparse result here; write "
                     "x.to_dense() first", fl_op_title(op));
        Py_DECREF(result);
        return -1;
    }
    out[0].tag = FL_TENSOR;
    out[0].t = (fl_tensor *)result;
    return 1;
}

int fl_dispatch_sparse(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    bool found = false;
    for (int i = 0; i < n; i++)
        found |= is_sparse_value(in[i]);
    if (!found || !fl_sparse_called)
        return 0;
    bool inplace = out[0].tag == FL_TENSOR;
    if (inplace && !(in[0].tag == FL_TENSOR && in[0].t == out[0].t)) {
        PyErr_Format(PyExc_NotImplementedError, "%s: out= is not taken with sparse tensors; write "
                     "x.copy_(...) after it", fl_op_title(op));
        return -1;
    }
    PyObject *keywords = PyDict_New();
    return take_sparse(op, call_with(op, inplace, given_arguments(op, in, n), keywords), out);
}
