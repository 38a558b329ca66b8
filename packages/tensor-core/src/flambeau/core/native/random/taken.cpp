/* Numbers taken from a generator before they are drawn. */
#include "random/taken.h"
#include "random/mersenne.h"
#include "dispatch/objects.h"
#include "op_index.h"

/* How many elements of a result one Philox block gives, as the kernels in random.cpp have it. */
static int per_block(const fl_op *op, const fl_tensor *out) {
    if (op->index == FL_OP_random_integers)
        return 2;
    return op->index != FL_OP_random_bernoulli && out->dtype == FL_F64 ? 2 : 4;
}

bool fl_draws_by_element(const fl_op *op) {
    return op == &fl_builtin_ops[FL_OP_random_uniform] ||
           op == &fl_builtin_ops[FL_OP_random_normal] ||
           op == &fl_builtin_ops[FL_OP_random_integers] ||
           op == &fl_builtin_ops[FL_OP_random_bernoulli];
}

int fl_generator_param(const fl_op *op) { return op->nparams - 1; }

bool fl_can_take_numbers(const fl_op *op, const fl_value *in) {
    return !fl_mersenne_of(in[fl_generator_param(op)]);
}

fl_value fl_take_numbers(const fl_op *op, const fl_value *in, const fl_tensor *out) {
    const fl_value &generator = in[fl_generator_param(op)];
    void *object = generator.tag == FL_GENERATOR ? generator.o : nullptr;
    const int each = per_block(op, out);
    uint64_t numbers[2] = {fl_generator_state_of(object)->seed, 0};
    numbers[1] = fl_generator_reserve(object, (uint64_t)((out->numel + each - 1) / each));
    fl_value taken;
    taken.tag = FL_TAKEN;
    taken.len = 0;
    memcpy(taken.c, numbers, sizeof numbers);
    return taken;
}

void fl_leave_out(const fl_op *op, fl_value *taken, const fl_tensor *out, int64_t count) {
    const int each = per_block(op, out);
    uint64_t numbers[2];
    memcpy(numbers, taken->c, sizeof numbers);
    numbers[1] += (uint64_t)(count / each);
    taken->len = (uint32_t)(count % each);
    memcpy(taken->c, numbers, sizeof numbers);
}
