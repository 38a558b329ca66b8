/* Calls below the tape that meet tensors of a transform level, or sparse ones; and what C++ that
 * computes needs of Python: references, the lock. */
#include "dispatch/python.h"
#include "overrides/subclass.h"

static_assert(sizeof(PyObject) == FL_OBJECT_WORDS * sizeof(intptr_t),
              "FL_OBJECT_WORDS is what cmake/flags.cmake found for this Python");

void fl_hold(void *object) { Py_INCREF((PyObject *)object); }
void fl_release(void *object) { Py_DECREF((PyObject *)object); }
void *fl_unlock_python(void) { return PyEval_SaveThread(); }
void fl_lock_python(void *unlocked) { PyEval_RestoreThread((PyThreadState *)unlocked); }

/* Tensors of transform levels do not come this far, but for those that left their transform. */
PyObject *fl_level_escaped = nullptr;

static int check_escaped(const fl_op *op, const fl_tensor *t) {
    if (!t || !(t->flags >> FL_LEVEL_SHIFT) || fl_is_shown_below(t))
        return 0;
    PyObject *done = PyObject_CallFunction(fl_level_escaped, "Os", t, op->name);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

static int check_all_escaped(const fl_op *op, const fl_value *in, int n) {
    for (int i = 0; i < n; i++) {
        if (check_escaped(op, fl_t(in[i])) < 0)
            return -1;
        for (uint32_t k = 0; in[i].tag == FL_TENSORS && k < in[i].len; k++)
            if (check_escaped(op, in[i].ts[k]) < 0)
                return -1;
    }
    return 0;
}

int fl_call_leveled(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    int met = fl_dispatch_sparse(op, in, n, out);
    if (met)
        return met;
    return fl_level_escaped ? check_all_escaped(op, in, n) : 0;
}
