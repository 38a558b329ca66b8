/* Calls that are shown to `__torch_dispatch__` of an argument's class, below the tape.
 *
 * Tensors of such classes carry a number of their own among the transform levels, so that no fast
 * path takes them for memory. When the first one is made, `call` of every operator is replaced by
 * a function that looks for them; a program without such classes has the operators as they are. */
#pragma once
#include "flambeau/abi.h"

enum {
    FL_SUBCLASS_LEVEL = 254,    /* over memory, as Tensor._make_subclass makes them */
    FL_WRAPPER_LEVEL = 253      /* without memory: what they consist of is in their attributes */
};

static inline bool fl_is_shown_below(const fl_tensor *t) {
    const uint32_t level = t->flags >> FL_LEVEL_SHIFT;
    return level == FL_SUBCLASS_LEVEL || level == FL_WRAPPER_LEVEL;
}

/* Whether there was such a tensor in this process. */
extern bool fl_showing_below;
/* Blocks that are open on this thread inside which classes are shown no calls. */
extern __thread int32_t fl_below_off __attribute__((tls_model("initial-exec")));
/* Shows a call to the classes of its tensors and stores what they answer; by the Cython module. */
extern fl_call_fn fl_show_below;
/* Makes memory like a call's tensors, and aliases of them; by the Cython module. */
extern PyObject *fl_subclass_blank;
extern PyObject *fl_subclass_alias;

/* Mark a composite that classes see as one call where no gradient is recorded, or in any case;
 * replace `call` of the operators that exist, and from now on of those that are added. */
void fl_whole_below(fl_op *op, bool is_constant);
void fl_start_showing_below(fl_op *const *ops, int n);
void fl_look_below(fl_op *op);

/* What the operator did before: without asking anybody. */
int fl_call_unasked(const fl_op *op, const fl_value *in, int n, fl_value *out);

/* Memory of zeros that all wrappers have in common: what reads it by mistake does not crash. */
char *fl_wrapper_memory(size_t bytes);
