/* Which calls are shown to a class's `__torch_dispatch__`; see subclass.h. */
#include "overrides/subclass.h"
#include "dispatch/history.h"
#include <sys/mman.h>

bool fl_showing_below = false;
__thread int32_t fl_below_off __attribute__((tls_model("initial-exec"))) = 0;
fl_call_fn fl_show_below = nullptr;
PyObject *fl_subclass_blank = nullptr;
PyObject *fl_subclass_alias = nullptr;

/* reserved[3] of an operator: what `call` was, and in the highest bits, which no address has,
 * whether a composite is shown whole, and whether it is while gradients are recorded, too. */
static const uint64_t WHOLE = (uint64_t)1 << 63, CONSTANT = (uint64_t)1 << 62;

static fl_call_fn original_call(const fl_op *op) {
    return (fl_call_fn)(uintptr_t)(op->reserved[3] & ~(WHOLE | CONSTANT));
}

static bool any_below(const fl_value &v) {
    if (v.tag == FL_TENSOR)
        return v.t && fl_is_shown_below(v.t);
    for (uint32_t k = 0; v.tag == FL_TENSORS && k < v.len; k++)
        if (v.ts[k] && fl_is_shown_below(v.ts[k]))
            return true;
    return false;
}

static bool concerns_classes(const fl_op *op, const fl_value *in, int n, const fl_value *out) {
    for (int i = 0; i < n; i++)
        if (any_below(in[i]))
            return true;
    for (int i = 0; i < op->nouts; i++)
        if (any_below(out[i]))
            return true;
    return false;
}

/* Whether a composite's parts are to be seen by something above the classes: a mode, a transform,
 * or the tape, which has rules for the parts. */
static bool has_parts(const fl_op *op, const fl_value *in, int n, const fl_value *out) {
    const fl_thread_state &T = fl_thread;
    if (T.level < T.watchers || !(op->reserved[3] & WHOLE))
        return true;
    bool is_below = T.level > 0 && T.stack[T.level - 1].kind > FL_I_TAPE;
    if (is_below || !fl_the_tape || !(T.mode & FL_M_GRAD) || op->reserved[3] & CONSTANT)
        return false;
    bool needs = fl_any_requires_grad(in, n);
    for (int i = 0; i < op->nouts; i++)
        needs |= out[i].tag == FL_TENSOR && fl_write_concerns_tape(out[i].t);
    return needs;
}

static int refuse_wrapper(const fl_op *op, const fl_value *in, int n) {
    for (int i = 0; i < n; i++)
        if (in[i].tag == FL_TENSOR && in[i].t->flags >> FL_LEVEL_SHIFT == FL_WRAPPER_LEVEL) {
            PyErr_Format(PyExc_NotImplementedError, "%s: a %.100s has no memory of its own, and "
                         "its __torch_dispatch__ is not asked here; call the operator with the "
                         "tensors that it consists of", op->name, Py_TYPE(in[i].t)->tp_name);
            return -1;
        }
    return 0;
}

static int call_looking(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    bool found = concerns_classes(op, in, n, out), is_composite = op->category == FL_COMPOSITE;
    if (found && !fl_below_off && (!is_composite || !has_parts(op, in, n, out)))
        return fl_show_below(op, in, n, out);
    if (found && !is_composite && refuse_wrapper(op, in, n) < 0)
        return -1;
    return original_call(op)(op, in, n, out);
}

int fl_call_unasked(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    return original_call(op)(op, in, n, out);
}

void fl_whole_below(fl_op *op, bool is_constant) {
    op->reserved[3] |= is_constant ? WHOLE | CONSTANT : WHOLE;
}

void fl_look_below(fl_op *op) {
    if (op->call == call_looking)
        return;
    op->reserved[3] |= (uint64_t)(uintptr_t)op->call;
    op->call = call_looking;
}

void fl_start_showing_below(fl_op *const *ops, int n) {
    for (int i = 0; i < n; i++)
        if (ops[i]->category != FL_COMPOSITE || (ops[i]->reserved[3] & WHOLE))
            fl_look_below(ops[i]);
    fl_showing_below = true;
}

char *fl_wrapper_memory(size_t bytes) {
    static char *memory = nullptr;
    static size_t size = 0;
    if (bytes <= size)
        return memory;
    size_t wanted = size ? size : (size_t)1 << 20;
    while (wanted < bytes && wanted < (size_t)1 << 46)
        wanted *= 2;
    void *made = mmap(nullptr, wanted, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED)
        return nullptr;
    memory = (char *)made;      /* what was there before stays, for those who have it */
    size = wanted;
    return memory;
}
