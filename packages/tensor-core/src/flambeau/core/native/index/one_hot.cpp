/* one_hot_rows: indices as rows of an identity matrix. */
#include "common/args.h"
#include "common/raw.h"

extern "C" int fl_infer_one_hot_rows(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    const fl_tensor *self = in[0].t;
    if (fl_expect_int64(op, "self", self) < 0)
        return -1;
    if (in[1].i < 1)
        return fl_error(FL_RUNTIME_ERROR, "%s: num_classes must be positive, or -1 to be taken "
                        "from the greatest index; got %lld", fl_op_title(op), (long long)in[1].i);
    if (self->ndim + 1 > FL_MAX_DIMS)
        return fl_error(FL_RUNTIME_ERROR, "%s: at most %d dimensions fit", fl_op_title(op),
                        FL_MAX_DIMS - 1);
    fl_spec_like(outs, self);
    outs->shape[outs->ndim++] = in[1].i;
    outs->dtype = FL_I64;
    return 0;
}

extern "C" int fl_run_one_hot_rows(const fl_op *op, const fl_value *in, int,
                                   fl_tensor *const *outs) {
    const fl_tensor *self = in[0].t;
    int64_t classes = outs[0]->shape[outs[0]->ndim - 1];
    In x(self, FL_K_I64);
    Out out(outs[0], FL_K_I64);
    if (!x.ok() || !out.ok())
        return -1;
    const int64_t *index = x.as<int64_t>();
    int64_t *rows = out.as<int64_t>();
    for (int64_t i = 0; i < self->numel; i++)
        if (index[i] < 0 || index[i] >= classes)
            return fl_error(FL_RUNTIME_ERROR, "%s: Class values must be non-negative and smaller "
                            "than num_classes: element number %lld is %lld, num_classes is %lld",
                            fl_op_title(op), (long long)i, (long long)index[i],
                            (long long)classes);
    memset(rows, 0, (size_t)outs[0]->numel * 8);
    for (int64_t i = 0; i < self->numel; i++)
        rows[i * classes + index[i]] = 1;
    out.commit();
    return 0;
}
