/* Calls that are shown to `__torch_function__` of an argument's class, or of a mode, before they
 * run. A process in which no class and no mode asks for it pays for one test of a flag. */
#pragma once
#include "flambeau/abi.h"

/* Whether anybody in this process ever asked: a class that defines or inherits the method, or a
 * mode that was entered. It is never taken back. */
extern bool fl_overriding;

struct fl_override_state {
    int32_t classes_off, all_off;   /* blocks that are open: without classes, without modes too */
    int32_t modes;                  /* modes that are entered */
    int32_t skip_next;              /* the next call that would be shown runs at once */
};
extern __thread fl_override_state fl_overrides __attribute__((tls_model("initial-exec")));

/* Whether a call that would be shown is the one to run at once. */
static inline bool fl_is_skipped() {
    const bool skipped = fl_overrides.skip_next;
    fl_overrides.skip_next = 0;
    return skipped;
}

/* The function that stands for "not overridden" in a class. */
extern PyObject *fl_no_override;
/* Called with (function, arguments, keywords or None); set by the Cython module. */
extern PyObject *fl_show_call;

/* The class's `__torch_function__`, borrowed, or NULL where calls are none of its business. */
PyObject *fl_class_override(PyTypeObject *type);
/* Whether a call with these arguments is to be shown; `n` counts the values of keywords, too. */
bool fl_is_shown(PyObject *const *args, Py_ssize_t n);
static inline bool fl_is_shown_pair(PyObject *a, PyObject *b) {
    PyObject *pair[2] = {a, b};
    return fl_is_shown(pair, 2);
}
PyObject *fl_shown(PyObject *function, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
/* After a call's error: one of its arguments may be of a class that asks for calls and is no
 * tensor, such as a proxy of flambeau.fx. NULL with the error where there is none. */
PyObject *fl_ask_arguments(PyObject *callable, PyObject *const *args, Py_ssize_t nargs,
                           PyObject *kwnames);
/* For operators of Python's syntax: `b` is NULL where there is one operand. NotImplemented where
 * nobody has an answer. */
PyObject *fl_show_operator(const fl_op *op, PyObject *a, PyObject *b, bool inplace);
/* Called with (operator's name, a, b or None, inplace); set by the Cython module. */
extern PyObject *fl_show_syntax;

static inline Py_ssize_t fl_count_arguments(Py_ssize_t nargs, PyObject *kwnames) {
    return nargs + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
}
