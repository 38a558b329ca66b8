/* Whether what a call reads or writes has a history, so that the tape must hear of it. */
#pragma once
#include "dispatch/python.h"

/* A view made before its base got a history has that history too. */
static inline bool fl_requires_grad(const fl_tensor *t) {
    if (t->flags & FL_REQUIRES_GRAD)
        return true;
    if (FL_LIKELY((t->flags & (FL_VIEW | FL_CONSTANT_VIEW)) != FL_VIEW))
        return false;
    const PyObject *base = ((const fl_tensor_full *)t)->base;
    return base != Py_None && (((const fl_tensor *)base)->flags & FL_REQUIRES_GRAD);
}

/* A view taken without recording has no history, but a write to it changes its base. */
static inline bool fl_write_concerns_tape(const fl_tensor *t) {
    if (FL_LIKELY(!(t->flags & FL_CONSTANT_VIEW)))
        return fl_requires_grad(t);
    const PyObject *base = ((const fl_tensor_full *)t)->base;
    return base != Py_None && (((const fl_tensor *)base)->flags & FL_REQUIRES_GRAD);
}

static inline bool fl_list_requires_grad(const fl_value &v) {
    for (uint32_t k = 0; k < v.len; k++)
        if (v.ts[k] && fl_requires_grad(v.ts[k]))
            return true;
    return false;
}

static inline bool fl_any_requires_grad(const fl_value *in, int n) {
    for (int i = 0; i < n; i++) {
        if (in[i].tag == FL_TENSOR && fl_requires_grad(in[i].t))
            return true;
        if (FL_UNLIKELY(in[i].tag == FL_TENSORS) && fl_list_requires_grad(in[i]))
            return true;
    }
    return false;
}
