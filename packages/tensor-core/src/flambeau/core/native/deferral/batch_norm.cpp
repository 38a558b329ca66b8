/* batch_norm in compiled calls: the statistics are taken at once, and what is done to each element
 * then is a formula, which waits for what follows: activations, sums with other branches. */
#include "deferral/batch_norm.h"
#include "norm/batch_norm.h"
#include "deferral/queue.h"
#include "op_index.h"

extern "C" int fl_run_native_batch_norm(const fl_op *, const fl_value *, int, fl_tensor *const *);

bool fl_is_batch_norm(const fl_op *op) { return op->run_cpu == fl_run_native_batch_norm; }

/* A number for every channel, as an operand beside the input. */
static fl_tensor *new_column(const fl_tensor *input) {
    int64_t shape[FL_MAX_DIMS];
    for (int i = 0; i < input->ndim; i++)
        shape[i] = i == 1 ? input->shape[1] : 1;
    return fl_tensor_strided(input->dtype, FL_CPU << 8, input->ndim, shape, nullptr);
}

static int settle_arguments(const fl_op *op, const fl_value *in, bool training) {
    for (int i = training ? 0 : 1; i < 5; i++)
        if (fl_t(in[i]) && fl_settle(op->name, in[i].t, !(training && i >= 3)) < 0)
            return -1;
    return 0;
}

static int take_statistics(const fl_value *in, fl_tensor *const *outs, fl_tensor *scale,
                           fl_tensor *shift) {
    int status;
    Py_BEGIN_ALLOW_THREADS
    status = fl_batch_norm_affine(in, outs, scale, shift);
    Py_END_ALLOW_THREADS
    return status < 0 ? fl_raise() : 0;
}

int fl_defer_batch_norm(const fl_op *op, const fl_value *in, fl_tensor *const *outs) {
    const fl_op *formula = &fl_builtin_ops[FL_OP_channel_affine];
    const fl_tensor *x = in[0].t;
    if ((x->dtype != FL_F32 && x->dtype != FL_F64) || !fl_may_wait(formula, in, 1, outs))
        return 0;
    fl_queue *q = fl_thread.queue;
    const uint64_t place = q->habits.next(formula, outs[0]->numel, outs[0]->dtype);
    if (q->is_pointless(place, in, 1, outs, 1)) {
        q->habits.move(place);
        return 0;
    }
    fl_value operands[3] = {in[0], in[0], in[0]};
    fl_tensor *scale = new_column(x), *shift = scale ? new_column(x) : nullptr;
    operands[1].t = scale;
    operands[2].t = shift;
    bool done = shift && settle_arguments(op, in, fl_value_true(in[5])) == 0 &&
                take_statistics(in, outs, scale, shift) == 0 &&
                fl_defer_or_run(formula, operands, 3, outs) >= 0;
    Py_XDECREF(scale);
    Py_XDECREF(shift);
    return done ? 1 : -1;
}
