/* Reductions of expanded tensors. */
#include "reduce/kernels/reduce.h"
#include "common/args.h"
#include "reduce/reduce.h"

namespace {

template <class T> void multiply(void *x, int64_t n, double count) {
    for (int64_t i = 0; i < n; i++)     /* + 0: no sum is -0 */
        ((T *)x)[i] = (T)((double)((T *)x)[i] * count + 0.0);
}

void multiply_sums(int kind, void *x, int64_t n, int64_t count) {
    switch (kind) {
    case FL_K_F32: return multiply<float>(x, n, (double)count);
    case FL_K_C64: return multiply<float>(x, 2 * n, (double)count);
    case FL_K_F64: return multiply<double>(x, n, (double)count);
    case FL_K_C128: return multiply<double>(x, 2 * n, (double)count);
    case FL_K_I64:
        for (int64_t i = 0; i < n; i++)
            ((uint64_t *)x)[i] *= (uint64_t)count;
    }
}

}  // namespace

bool fl_reduce_repeats(const fl_reduce_source &s) {
    for (int d = 0; d < s.ndim; d++)
        if (s.strides[d] == 0 && s.shape[d] > 1)
            return true;
    return false;
}

int fl_reduce_repeated(const fl_reduce_source &s, int reduce, void *out) {
    fl_reduce_source once = s;
    int64_t shape[FL_MAX_DIMS], from[FL_MAX_DIMS], dense[FL_MAX_DIMS], count = 1, results = 1;
    int kept = 0;
    once.ndim = 0;
    once.mask = 0;
    for (int d = 0; d < s.ndim; d++) {
        const bool taken = s.mask >> d & 1, same = s.strides[d] == 0;
        if (!same) {
            once.mask |= (uint64_t)taken << once.ndim;
            once.shape[once.ndim] = s.shape[d];
            once.strides[once.ndim++] = s.strides[d];
        } else if (taken)
            count *= s.shape[d];
        if (!taken) {
            shape[kept] = s.shape[d];
            from[kept++] = !same;
        }
    }
    for (int k = kept - 1; k >= 0; k--) {
        from[k] *= results;
        results *= from[k] ? shape[k] : 1;
    }
    Scratch memory(fl_bytes(results, fl_kind_size[s.kind]));
    if (!memory.ok() || fl_reduce_all(once, reduce, memory.as<void>()) < 0)
        return -1;
    if (reduce == FL_REDUCE_SUM)
        multiply_sums(s.kind, memory.as<void>(), results, count);
    fl_contiguous_strides(kept, shape, dense);
    const int dtype = fl_dtype_of_kind[s.kind];
    fl_copy_strided(fl_strided{(char *)out, dtype, dense},
                    fl_strided{memory.as<char>(), dtype, from}, kept, shape);
    return 0;
}
