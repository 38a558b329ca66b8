/* Composites in C++: operators called one after the other, as the Python functions in
 * `composites/` do it, without a Python object for every size and number. For operators that do so
 * little that the objects would be most of their time. An operator names its function with `call=`.
 *
 * These functions run with the GIL; an error is a Python exception and -1 or NULL. */
#pragma once
#include "dispatch/history.h"
#include "op_index.h"

/* ---- values ------------------------------------------------------------------------------------ */
static inline fl_value fl_none_value() {
    fl_value v;
    v.tag = FL_NONE;
    v.len = 0;
    v.i = 0;
    return v;
}
static inline fl_value fl_tensor_value(fl_tensor *t) {
    fl_value v = fl_none_value();
    v.tag = FL_TENSOR;
    v.t = t;
    return v;
}
static inline fl_value fl_int_value(int64_t i) {
    fl_value v = fl_none_value();
    v.tag = FL_INT;
    v.i = i;
    return v;
}
static inline fl_value fl_float_value(double d) {
    fl_value v = fl_none_value();
    v.tag = FL_FLOAT;
    v.d = d;
    return v;
}
static inline fl_value fl_ints_value(const int64_t *p, int n) {
    fl_value v = fl_none_value();
    v.tag = FL_INTS;
    v.len = (uint32_t)n;
    v.is = const_cast<int64_t *>(p);
    return v;
}
static inline fl_value fl_shape_value(const fl_tensor *t) {
    return fl_ints_value(t->shape, t->ndim);
}
static inline fl_value fl_tensors_value(fl_tensor **ts, Py_ssize_t n) {
    fl_value v = fl_none_value();
    v.tag = FL_TENSORS;
    v.len = (uint32_t)n;
    v.ts = ts;
    return v;
}
static inline fl_value fl_dtype_value(int dtype) {
    fl_value v = fl_none_value();
    v.tag = FL_DTYPE;
    v.i = dtype;
    return v;
}
static inline fl_value fl_device_value(const fl_tensor *t) {
    fl_value v = fl_none_value();
    v.tag = FL_DEVICE;
    v.i = fl_device_code(t);
    return v;
}
static inline fl_value fl_object_value(PyObject *o) {
    fl_value v = fl_none_value();
    v.tag = FL_OBJECT;
    v.o = o;
    return v;
}

static inline fl_value fl_bool_value(bool b) {
    fl_value v = fl_none_value();
    v.tag = FL_BOOLEAN;
    v.i = b;
    return v;
}

/* ---- results ----------------------------------------------------------------------------------- */

/* A tensor that is released unless it is given away; NULL after an error. */
class Made {
  public:
    explicit Made(fl_tensor *t) : t_(t) {}
    ~Made() { Py_XDECREF(t_); }
    Made(const Made &) = delete;
    explicit operator bool() const { return t_ != nullptr; }
    fl_tensor *get() const { return t_; }
    void swap(Made &other) {
        fl_tensor *t = t_;
        t_ = other.t_;
        other.t_ = t;
    }
    fl_tensor *give() {
        fl_tensor *t = t_;
        t_ = nullptr;
        return t;
    }
  private:
    fl_tensor *t_;
};

/* Call an operator; parameters that are left out have their defaults. The first output, or NULL. */
template <class... Values> fl_tensor *fl_compose(int number, Values... values) {
    fl_value in[] = {values...}, out[1];
    out[0].tag = FL_NONE;
    return fl_dispatch(&fl_builtin_ops[number], in, (int)sizeof...(values), out) < 0 ? nullptr
                                                                                  : out[0].t;
}
/* Call an operator of several outputs, of which the first is wanted. */
template <class... Values> fl_tensor *fl_compose_first(int number, Values... values) {
    const fl_op *op = &fl_builtin_ops[number];
    fl_value in[] = {values...}, out[FL_MAX_OUTS];
    for (int i = 0; i < op->nouts; i++)
        out[i].tag = FL_NONE;
    if (fl_dispatch(op, in, (int)sizeof...(values), out) < 0)
        return nullptr;
    for (int i = 1; i < op->nouts; i++)
        if (out[i].tag == FL_TENSOR)
            Py_DECREF(out[i].t);
    return out[0].t;
}
/* Call an operator that writes to its first argument. */
template <class... Values> int fl_compose_into(int number, fl_tensor *target, Values... values) {
    fl_value in[] = {fl_tensor_value(target), values...}, out[1];
    out[0] = in[0];
    if (fl_dispatch(&fl_builtin_ops[number], in, 1 + (int)sizeof...(values), out) < 0)
        return -1;
    Py_DECREF(out[0].t);
    return 0;
}
/* ---- composites of several outputs that are one node of the graph ------------------------------- */

/* Whether the tape is to get one node for all outputs: their parts are called by
 * fl_compose_unrecorded(), and fl_record_as_one() comes last. Watchers see the parts. */
static inline bool fl_is_recorded_as_one(const fl_tensor *x) {
    const fl_thread_state &T = fl_thread;
    return fl_the_tape && (T.mode & FL_M_GRAD) && T.level >= T.watchers &&
           !(x->flags >> FL_LEVEL_SHIFT) && fl_requires_grad(x);
}
/* fl_compose, below the tape. */
template <class... Values> fl_tensor *fl_compose_unrecorded(int number, Values... values) {
    const fl_op *op = &fl_builtin_ops[number];
    fl_value given[] = {values...}, in[FL_MAX_PARAMS], out[1];
    for (int i = 0; i < op->nparams; i++)
        in[i] = i < (int)sizeof...(values) ? given[i] : op->params[i].fallback;
    out[0].tag = FL_NONE;
    return op->call(op, in, op->nparams, out) < 0 ? nullptr : out[0].t;
}
/* Hang the outputs on one node of an operator, which has a rule although it is a composite. */
static inline int fl_record_as_one(int number, const fl_value *in, int n, fl_value *out,
                                   int count) {
    return fl_the_tape->record(&fl_builtin_ops[number], in, n, out, count);
}
/* fl_compose of tensors that own results. */
static inline fl_value fl_tensor_value(const Made &made) { return fl_tensor_value(made.get()); }

/* Memory of a shape (and strides, or none) that results of x can be written to: where transforms
 * are at work, of the levels that x is of. */
fl_tensor *fl_compose_blank(const fl_tensor *x, const fl_value &shape, const fl_value &strides,
                            const fl_value &dtype, const fl_value &device);

/* A result in the memory format of the input, channels_last or none. Takes the reference; NULL
 * stays NULL. */
fl_tensor *fl_in_format_of(const fl_tensor *input, fl_tensor *result);

/* Hand a composite's result over: as the output, or copied to the target that the caller gave.
 * Takes the reference; NULL is an error that was raised. */
int fl_compose_result(const fl_op *op, const fl_value *in, int n, fl_value *out, PyObject *result);
static inline int fl_compose_result(const fl_op *op, const fl_value *in, int n, fl_value *out,
                                    fl_tensor *result) {
    return fl_compose_result(op, in, n, out, (PyObject *)result);
}

/* The result of a composite for the target that the caller gave: computed without one, then written
 * to it. Where a gradient is recorded, what the target held before is read from a clone. */
int fl_compose_for_target(const fl_op *op, const fl_value *in, int n, fl_value *out);

/* Whether a composite that has a function in Python too may take its fast path: results that go to
 * a given tensor, and uncommon arguments, fall back to that function (fl_call_composite). */
static inline bool fl_is_short(const fl_value *out, bool ordinary) {
    return out[0].tag != FL_TENSOR && ordinary;
}
static inline bool fl_same_shape(const fl_tensor *a, const fl_tensor *b) {
    return a->ndim == b->ndim &&
           !memcmp(a->shape, b->shape, sizeof(int64_t) * (size_t)a->ndim);
}

/* The name of a memory format given as any object; NULL for None, or with an exception. */
const char *fl_format_name(const fl_value &v);
