/* Calling composites in Python: arguments become objects, results go where the caller wants them. */
#include "dispatch/caller.h"
#include "dispatch/history.h"
#include "replay/replay.h"

/* The tensor itself, or a clone: what a composite's operators save must not be written to. */
static PyObject *box_apart(const fl_value *v) {
    static const fl_op *clone = nullptr;
    if (!clone)
        clone = fl_find_op("clone");
    fl_value out;
    out.tag = FL_NONE;
    return fl_dispatch(clone, v, 1, &out) < 0 ? nullptr : (PyObject *)out.t;
}

/* Write a result to the tensor that the caller gave for it. */
static int write_result(const fl_op *op, const fl_value *in, int n, fl_value *out, PyObject *o) {
    static const fl_op *copy = nullptr;
    if (!copy)
        copy = fl_find_op("copy");
    if (!fl_any_tensor_check(o)) {
        PyErr_Format(PyExc_TypeError, "%s(): the result is a %.100s, which out= cannot take",
                     op->name, Py_TYPE(o)->tp_name);
        return -1;
    }
    fl_spec spec;
    fl_spec_like(&spec, (fl_tensor *)o);
    if ((fl_tensor *)o != out->t && fl_check_write(op, in, n, &spec, out->t) < 0)
        return -1;
    fl_value pair[2];
    pair[0].tag = pair[1].tag = FL_TENSOR;
    pair[0].t = out->t;
    pair[1].t = (fl_tensor *)o;
    return fl_dispatch(copy, pair, 2, out);
}

/* A view of a tensor that nothing else holds, such as a copy in another shape, stands for itself:
 * there is no base that a write to it would have to tell. */
static void leave_base(fl_tensor *t) {
    PyObject *base = ((fl_tensor_full *)t)->base;
    if (base == Py_None || Py_REFCNT(base) != 1 || t->flags >> FL_LEVEL_SHIFT)
        return;
    t->flags &= ~(uint32_t)(FL_VIEW | FL_CONSTANT_VIEW | FL_MULTI_VIEW);
    Py_INCREF(Py_None);
    Py_SETREF(((fl_tensor_full *)t)->base, Py_None);
}

static int take_result(const fl_op *op, const fl_value *in, int n, fl_value *out, PyObject *o) {
    if (out->tag == FL_TENSOR)
        return write_result(op, in, n, out, o);
    if (fl_any_tensor_check(o) && ((fl_tensor *)o)->flags & FL_VIEW)
        leave_base((fl_tensor *)o);
    Py_INCREF(o);
    out->tag = fl_any_tensor_check(o) ? FL_TENSOR : FL_OBJECT;
    out->o = o;
    return 0;
}

/* Whether the operators that a composite calls save what its target holds now. */
static bool saves_target(const fl_value *in, int n, const fl_value *out) {
    return out[0].tag == FL_TENSOR && fl_the_tape && (fl_thread.mode & FL_M_GRAD) &&
           fl_any_requires_grad(in, n);
}

int fl_compose_for_target(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    fl_value args[FL_MAX_PARAMS], result[1];
    PyObject *clone = nullptr;
    memcpy(args, in, sizeof(fl_value) * (size_t)n);
    for (int i = 0; saves_target(in, n, out) && i < n; i++) {
        if (in[i].tag != FL_TENSOR || in[i].t != out[0].t)
            continue;
        if (!clone && !(clone = box_apart(&in[i])))
            return -1;
        args[i].o = clone;
    }
    result[0].tag = FL_NONE;
    int status = op->call(op, args, n, result);
    Py_XDECREF(clone);
    if (status < 0)
        return -1;
    status = write_result(op, in, n, out, result[0].o);
    Py_DECREF(result[0].o);
    return status;
}

/* A composite with several outputs gives a tuple of them. */
static int take_results(const fl_op *op, const fl_value *in, int n, fl_value *out, PyObject *o) {
    if (!PyTuple_Check(o) || PyTuple_GET_SIZE(o) != op->nouts) {
        PyErr_Format(PyExc_SystemError, "%s(): the composite must return a tuple of %d", op->name,
                     op->nouts);
        return -1;
    }
    for (int i = 0; i < op->nouts; i++)
        if (take_result(op, in, n, &out[i], PyTuple_GET_ITEM(o, i)) < 0) {
            for (int k = 0; k < i; k++)
                Py_CLEAR(out[k].o);
            return -1;
        }
    return 0;
}

int fl_compose_result(const fl_op *op, const fl_value *in, int n, fl_value *out, PyObject *result) {
    if (!result)
        return -1;
    int status = take_result(op, in, n, out, result);
    Py_DECREF(result);
    return status;
}

/* Found at the first call, kept forever. */
static PyObject *composite_function(const fl_op *op) {
    if (FL_UNLIKELY(!op->reserved[1]))
        const_cast<fl_op *>(op)->reserved[1] = (uint64_t)(uintptr_t)fl_python.find_composite(op);
    return (PyObject *)(uintptr_t)op->reserved[1];
}

/* Python objects of the arguments; how many were made is counted in `made`. */
static int box_arguments(const fl_value *in, int n, const fl_tensor *apart, PyObject **args,
                         int *made) {
    for (int i = 0; i < n; i++) {
        bool copied = apart && in[i].tag == FL_TENSOR && in[i].t == apart;
        args[i] = copied ? box_apart(&in[i]) : fl_box(&in[i]);
        if (!args[i])
            return -1;
        *made = i + 1;
    }
    return 0;
}

int fl_call_composite(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    PyObject *args[FL_MAX_PARAMS + 1], *result = nullptr;   /* the first is the callee's to use */
    fl_tensor *target = out[0].tag == FL_TENSOR ? out[0].t : nullptr;
    PyObject *function = composite_function(op);
    int made = 0;
    fl_record_python();
    if (function && box_arguments(in, n, saves_target(in, n, out) ? target : nullptr, args + 1,
                                  &made) == 0)
        result = PyObject_Vectorcall(function, args + 1,
                                     (size_t)n | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
    for (int i = 1; i <= made; i++)
        Py_DECREF(args[i]);
    if (!result)
        return -1;
    int status = op->nouts == 1 ? take_result(op, in, n, out, result)
                                : take_results(op, in, n, out, result);
    Py_DECREF(result);
    return status;
}
