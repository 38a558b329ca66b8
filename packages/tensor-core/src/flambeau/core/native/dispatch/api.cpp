/* The function table handed to sibling packages (abi.h). */
#include "dispatch/python.h"

static int api_unbox(PyObject *o, int role, fl_value *out, int64_t *scratch) {
    fl_arena arena;
    fl_param any = {"value", (uint8_t)role, FL_P_OPTIONAL, {}, {}};
    fl_op op = {};
    op.name = "unbox";
    if (fl_unbox(o, &op, &any, out, &arena) < 0)
        return -1;
    bool list = out->tag == FL_INTS || out->tag == FL_TENSORS || out->tag == FL_FLOATS ||
                out->tag == FL_BOOLS;
    if (!list)
        return 0;
    if (out->len > 64) {
        PyErr_SetString(PyExc_ValueError, "unbox: lists of at most 64 entries");
        return -1;
    }
    memcpy(scratch, out->is, 8 * (size_t)out->len);
    out->is = scratch;
    return 0;
}

static int api_set_error(int kind, const char *text) { return fl_error(kind, "%s", text); }
static uint32_t get_mode(void) { return fl_thread.mode; }
static void set_mode(uint32_t mode) { fl_thread.mode = mode; }

static int set_tape(const fl_tape *tape) {
    fl_the_tape = tape;
    return 0;
}

static int push_interposer(const fl_interposer *w) {
    fl_thread_state &T = fl_thread;
    if (T.watchers >= 16) {
        PyErr_SetString(PyExc_RuntimeError, "at most 16 interposers may be nested");
        return -1;
    }
    int at = T.watchers++;
    /* The innermost transform comes first: what it does with its tensors, the outer ones see. So
     * it is with modes, behind those that were passed: a mode may be entered in another's answer. */
    bool is_first = w->kind == FL_I_TRANSFORM || w->kind == FL_I_MODE;
    int limit = is_first ? w->kind - 1 : w->kind;
    int least = w->kind == FL_I_MODE ? T.level : 0;
    for (; at > least && T.stack[at - 1].kind > limit; at--)
        T.stack[at] = T.stack[at - 1];
    T.stack[at] = *w;
    return 0;
}

static int pop_interposer(const fl_interposer *w) {
    fl_thread_state &T = fl_thread;
    for (int i = T.watchers - 1; i >= 0; i--) {
        if (T.stack[i].call != w->call || T.stack[i].ctx != w->ctx)
            continue;
        for (; i + 1 < T.watchers; i++)
            T.stack[i] = T.stack[i + 1];
        T.watchers--;
        return 0;
    }
    PyErr_SetString(PyExc_RuntimeError, "this interposer is not active on this thread");
    return -1;
}

static PyObject *base_of(fl_tensor *t) {
    PyObject *base = ((fl_tensor_full *)t)->base;
    return base == Py_None ? nullptr : base;
}

static fl_api api = {
    FL_ABI_MAJOR, FL_ABI_MINOR, sizeof(fl_api), nullptr, fl_find_op, fl_dispatch, fl_box, api_unbox,
    fl_tensor_alias, fl_tensor_empty, api_set_error, get_mode, set_mode, set_tape, push_interposer,
    pop_interposer, fl_add_op, fl_add_backend, base_of};

PyObject *fl_api_capsule(void) {
    api.tensor_type = fl_tensor_type;
    return PyCapsule_New(&api, FL_CAPSULE, nullptr);
}
int fl_api_push(const fl_interposer *w) { return push_interposer(w); }
int fl_api_pop(const fl_interposer *w) { return pop_interposer(w); }
