/* Comparing what Python read with what it would read now. */
#include "replay/guards.h"

static bool same_items(PyObject *a, PyObject *b) {
    if (PyTuple_GET_SIZE(a) != PyTuple_GET_SIZE(b))
        return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(a); i++)
        if (!fl_same_value(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i)))
            return false;
    return true;
}

static bool same_bits(double a, double b) { return memcmp(&a, &b, sizeof a) == 0; }

bool fl_same_value(PyObject *a, PyObject *b) {
    if (a == b)
        return true;
    if (!a || !b || Py_TYPE(a) != Py_TYPE(b))
        return false;
    if (PyFloat_CheckExact(a))
        return same_bits(PyFloat_AS_DOUBLE(a), PyFloat_AS_DOUBLE(b));
    if (PyComplex_CheckExact(a)) {
        Py_complex x = PyComplex_AsCComplex(a), y = PyComplex_AsCComplex(b);
        return same_bits(x.real, y.real) && same_bits(x.imag, y.imag);
    }
    if (PyTuple_CheckExact(a))
        return same_items(a, b);
    if (!PyLong_CheckExact(a) && !PyUnicode_CheckExact(a) && !PyBytes_CheckExact(a))
        return false;
    int same = PyObject_RichCompareBool(a, b, Py_EQ);
    if (same < 0)
        PyErr_Clear();
    return same == 1;
}

bool fl_same_dict(PyObject *dict, PyObject *keys, PyObject *values) {
    if (PyDict_GET_SIZE(dict) != PyTuple_GET_SIZE(keys))
        return false;
    PyObject *key, *value;
    Py_ssize_t at = 0;
    for (Py_ssize_t i = 0; PyDict_Next(dict, &at, &key, &value); i++)
        if (!fl_same_value(key, PyTuple_GET_ITEM(keys, i)) ||
            !fl_same_value(value, PyTuple_GET_ITEM(values, i)))
            return false;
    return true;
}

bool fl_same_answer(PyObject *ask, PyObject *answer) {
    PyObject *now = PyObject_CallNoArgs(ask);
    if (!now)
        PyErr_Clear();
    bool same = fl_same_value(now, answer);
    Py_XDECREF(now);
    return same;
}
