/* check_probabilities: an error where an element lies outside of 0 to 1. */
#include "common/args.h"
#include "common/raw.h"
#include "runtime/pool.h"

#include <atomic>

extern "C" int fl_infer_check_probabilities(const fl_op *op, const fl_value *in, int,
                                            fl_spec *outs) {
    if (!fl_is_float(in[0].t->dtype))
        return fl_error(FL_RUNTIME_ERROR, "%s: probabilities are floating point numbers, got %s",
                        fl_op_title(op), fl_tensor_text(in[0].t));
    fl_spec_set(outs, FL_BOOL, fl_device_code(in[0].t), 0, nullptr);
    return 0;
}

namespace {

const int64_t GRAIN = 65536;

/* NaN is none. */
template <class T> bool are_probabilities(const T *x, int64_t n) {
    std::atomic<bool> all{true};
    fl_parallel(n, GRAIN, [&](int64_t begin, int64_t end) {
        int outside = 0;
        for (int64_t i = begin; i < end; i++)
            outside |= !(x[i] >= 0 && x[i] <= 1);
        if (outside)
            all = false;
    });
    return all;
}

template <class T> int report(const T *x, int64_t n) {
    int64_t i = 0;
    while (x[i] >= 0 && x[i] <= 1 && i < n - 1)
        i++;
    return fl_error(FL_RUNTIME_ERROR, "binary_cross_entropy(): all elements of input should be "
                    "between 0 and 1, got %g at position %lld; scores go to "
                    "binary_cross_entropy_with_logits()", (double)x[i], (long long)i);
}

template <class T> int check(const T *x, int64_t n) {
    return are_probabilities(x, n) ? 0 : report(x, n);
}

}  // namespace

extern "C" int fl_run_check_probabilities(const fl_op *, const fl_value *in, int,
                                         fl_tensor *const *outs) {
    const bool is_double = in[0].t->dtype == FL_F64;
    In x(in[0].t, is_double ? FL_K_F64 : FL_K_F32);
    if (!x.ok())
        return -1;
    const int64_t n = in[0].t->numel;
    *(uint8_t *)outs[0]->data = 1;
    return is_double ? check(x.as<double>(), n) : check(x.as<float>(), n);
}
