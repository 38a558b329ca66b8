/* Orders of arguments that PyTorch deprecates. */
#pragma once
#include "dispatch/python.h"

/* A call in such an order; NULL, without an error where it is none. */
PyObject *fl_call_older(const fl_op *op, bool inplace, PyObject *const *args, Py_ssize_t nargs,
                        PyObject *kwnames);
