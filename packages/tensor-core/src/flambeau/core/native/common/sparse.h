/* Tensors that are not dense memory: instances of flambeau.sparse's classes. They carry the last
 * number that a transform level can have, so that no fast path takes them for memory, and arguments
 * are not read as them: what is called with one goes to Python's flambeau.sparse from where the
 * reading failed. Calls without one meet none of this. */
#pragma once
#include "flambeau/abi.h"

enum { FL_SPARSE_LEVEL = 255 };

static inline bool fl_is_sparse(const fl_tensor *t) {
    return t->flags >> FL_LEVEL_SHIFT == FL_SPARSE_LEVEL;
}

/* Called with (name, overload, in place or not, arguments, keywords), and with a tensor. */
extern PyObject *fl_sparse_called;
extern PyObject *fl_sparse_alias;

/* Whether an argument, or an element of a list among them, is sparse. */
bool fl_any_sparse(PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
/* Run a call from Python that has a sparse argument. */
PyObject *fl_call_sparse(const fl_op *op, bool inplace, PyObject *const *args, Py_ssize_t nargs,
                         PyObject *kwnames);
/* The same for a call from C++, whose tensors may be of transform levels instead: 1 after it was
 * run, 0 when nothing is sparse, -1 after an error. */
int fl_dispatch_sparse(const fl_op *op, const fl_value *in, int n, fl_value *out);
