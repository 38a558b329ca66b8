/* repeat_indices: number i, repeats[i] times; what repeat_interleave picks by. */
#include "common/args.h"
#include "common/raw.h"

extern "C" int fl_infer_repeat_indices(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    if (fl_expect_index(op, "repeats", in[0].t) < 0)
        return -1;
    if (in[0].t->ndim != 1)
        return fl_error(FL_RUNTIME_ERROR, "repeat_interleave(): repeats must be a number or a vector, "
                        "got shape %s", fl_shape_text(in[0].t->shape, in[0].t->ndim));
    if (in[1].i < 0)
        return fl_error(FL_RUNTIME_ERROR, "repeat_interleave(): output_size must not be negative, "
                        "got %lld", (long long)in[1].i);
    fl_spec_set(outs, FL_I64, fl_device_code(in[0].t), 1, &in[1].i);
    return 0;
}

extern "C" int fl_run_repeat_indices(const fl_op *, const fl_value *in, int,
                                    fl_tensor *const *outs) {
    int64_t n = in[0].t->numel, total = outs[0]->numel, at = 0;
    In repeats(in[0].t, FL_K_I64);
    Out out(outs[0], FL_K_I64);
    if (!repeats.ok() || !out.ok())
        return -1;
    for (int64_t i = 0; i < n; i++)
        if (repeats.as<int64_t>()[i] < 0)
            return fl_error(FL_RUNTIME_ERROR, "repeat_interleave(): repeats can not be negative, got "
                            "%lld at position %lld", (long long)repeats.as<int64_t>()[i],
                            (long long)i);
    for (int64_t i = 0; i < n; i++) {
        int64_t count = repeats.as<int64_t>()[i];
        if (count > total - at)
            return fl_error(FL_RUNTIME_ERROR, "repeat_interleave(): allocated size does not match "
                            "required size: output_size is %lld, but repeats add up to more",
                            (long long)total);
        for (int64_t end = at + count; at < end; at++)
            out.as<int64_t>()[at] = i;
    }
    if (at != total)
        return fl_error(FL_RUNTIME_ERROR, "repeat_interleave(): allocated size does not match "
                        "required size: output_size is %lld, but repeats add up to %lld",
                        (long long)total, (long long)at);
    out.commit();
    return 0;
}
