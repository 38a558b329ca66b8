/* Expanded tensors that are written to through an index: one element after the other. */
#include "dispatch/overlap.h"
#include "dispatch/python.h"

static bool has_zero_stride(const fl_tensor *t) {
    for (int i = 0; i < t->ndim; i++)
        if (t->strides[i] == 0 && t->shape[i] > 1)
            return true;
    return false;
}

static PyObject *boxed(const fl_value *in, int n) {
    PyObject *args = PyTuple_New(n);
    for (int i = 0; args && i < n; i++) {
        PyObject *each = fl_box(&in[i]);
        if (!each)
            Py_CLEAR(args);
        else
            PyTuple_SET_ITEM(args, i, each);
    }
    return args;
}

/* Below the tape, which knows of this write already. */
static PyObject *call_unrecorded(const char *name, const fl_value *in, int n) {
    PyObject *module = PyImport_ImportModule("flambeau.core.composites.index.expanded");
    PyObject *function = module ? PyObject_GetAttrString(module, name) : nullptr;
    PyObject *args = function ? boxed(in, n) : nullptr;
    uint32_t mode = fl_thread.mode;
    fl_thread.mode &= ~(uint32_t)FL_M_GRAD;
    PyObject *done = args ? PyObject_CallObject(function, args) : nullptr;
    fl_thread.mode = mode;
    Py_XDECREF(args);
    Py_XDECREF(function);
    Py_XDECREF(module);
    return done;
}

int fl_write_expanded(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    const char *name = fl_indexed_write(op)->name;
    if (has_zero_stride(out[0].t) &&
        PyErr_WarnFormat(PyExc_UserWarning, 1, "Use of %s_ on expanded tensors is deprecated: elements "
                         "that are one in memory are written one after the other, and the last value "
                         "stays. Please clone() the tensor before, or write x = x.%s(...)", name,
                         name) < 0)
        return -1;
    PyObject *done = call_unrecorded(name, in, n);
    Py_XDECREF(done);
    if (done)
        Py_INCREF(out[0].t);
    return done ? 0 : -1;
}
