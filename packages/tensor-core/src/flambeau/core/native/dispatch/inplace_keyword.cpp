/* Functions of flambeau.nn.functional that take `inplace`, as their last argument or by name: one
 * object for an operator and its in-place form. */
#include "dispatch/python.h"

static const char NAME[] = "inplace";

/* Where `inplace` is among the keywords, or -1. */
static Py_ssize_t find_keyword(PyObject *kwnames) {
    Py_ssize_t n = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    for (Py_ssize_t i = 0; i < n; i++)
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, i), NAME) == 0)
            return i;
    return -1;
}

static PyObject *without(PyObject *kwnames, Py_ssize_t skip) {
    Py_ssize_t n = PyTuple_GET_SIZE(kwnames);
    PyObject *rest = PyTuple_New(n - 1);
    for (Py_ssize_t i = 0; rest && i < n; i++)
        if (i != skip)
            PyTuple_SET_ITEM(rest, i - (i > skip), Py_NewRef(PyTuple_GET_ITEM(kwnames, i)));
    return rest;
}

/* Call without argument number `at`, which decides the form. */
static PyObject *call_without(fl_op *const *overloads, int count, PyObject *const *args,
                              Py_ssize_t nargs, PyObject *kwnames, Py_ssize_t at) {
    PyObject *kept[2 * FL_MAX_PARAMS];
    Py_ssize_t total = nargs + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0), n = 0;
    int inplace = PyObject_IsTrue(args[at]);
    if (inplace < 0)
        return nullptr;
    if (total > 2 * FL_MAX_PARAMS) {
        PyErr_Format(PyExc_TypeError, "%s() takes fewer than %zd arguments", overloads[0]->name,
                     total);
        return nullptr;
    }
    for (Py_ssize_t i = 0; i < total; i++)
        if (i != at)
            kept[n++] = args[i];
    PyObject *names = at < nargs ? Py_XNewRef(kwnames) : without(kwnames, at - nargs);
    if (!names && at >= nargs)
        return nullptr;
    Py_ssize_t positional = at < nargs ? nargs - 1 : nargs;
    PyObject *result = fl_call_python(overloads, count, inplace, kept, positional, names);
    Py_XDECREF(names);
    return result;
}

PyObject *fl_call_choosing(fl_op *const *overloads, int count, PyObject *const *args,
                           Py_ssize_t nargs, PyObject *kwnames) {
    Py_ssize_t last = fl_count_positional(overloads[0]);
    if (nargs == last + 1 && PyBool_Check(args[last]))
        return call_without(overloads, count, args, nargs, kwnames, last);
    Py_ssize_t keyword = find_keyword(kwnames);
    if (keyword >= 0)
        return call_without(overloads, count, args, nargs, kwnames, nargs + keyword);
    return fl_call_python(overloads, count, false, args, nargs, kwnames);
}
