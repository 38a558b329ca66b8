/* pdist_euclidean: distances between the rows i < j of a matrix, one after the other. */
#include "kernels/distance.h"
#include "kernels/transpose.h"
#include "ops/args.h"
#include <algorithm>

namespace {

const fl_distance_kernels *const kernels = FL_PICK(fl_distance_kernels);
const fl_transpose_kernels *const transposes = FL_PICK(fl_transpose_kernels);
const int64_t STRIP = FL_DISTANCE_STRIP, GRAIN = 4;    /* rows of a piece of work */

void transpose(float *out, int64_t step, const float *x, int64_t n, int64_t m) {
    transposes->f32(out, step, x, 1, m, m, n);
}
void transpose(double *out, int64_t step, const double *x, int64_t n, int64_t m) {
    transposes->f64(out, step, x, 1, m, m, n);
}
void distances(const float *row, const float *columns, int64_t step, int64_t m, float *out) {
    kernels->f32(row, columns, step, m, out);
}
void distances(const double *row, const double *columns, int64_t step, int64_t m, double *out) {
    kernels->f64(row, columns, step, m, out);
}

template <class T> int run(const T *x, int64_t n, int64_t m, T *out) {
    const int64_t step = (n + STRIP - 1) / STRIP * STRIP;
    Scratch room(fl_bytes(m * step + STRIP, sizeof(T)));
    if (!room.ok())
        return -1;
    T *columns = room.as<T>();
    std::fill(columns, columns + m * step + STRIP, T(0));
    transpose(columns, step, x, n, m);
    fl_parallel(n, std::max<int64_t>(GRAIN, FL_GRAIN / (n * m + 1)), [&](int64_t b, int64_t e) {
        T found[FL_DISTANCE_STRIP];
        for (int64_t j0 = (b + 1) / STRIP * STRIP; j0 < n; j0 += STRIP)
            for (int64_t i = b; i < e; i++) {
                int64_t first = std::max(i + 1, j0), last = std::min(j0 + STRIP, n);
                if (first >= last)
                    continue;
                distances(x + i * m, columns + j0, step, m, found);
                T *to = out + i * n - i * (i + 1) / 2 - i - 1;
                std::copy(found + first - j0, found + last - j0, to + first);
            }
    });
    return 0;
}

}  // namespace

extern "C" int fl_infer_pdist_euclidean(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    const fl_tensor *self = in[0].t;
    if (self->ndim != 2 || !fl_is_float(self->dtype))
        return fl_error(FL_RUNTIME_ERROR, "%s: expected a matrix of floating-point numbers, got %s",
                        fl_op_title(op), fl_tensor_text(self));
    int64_t n = self->shape[0];
    if (n > (1ll << 31))
        return fl_error(FL_RUNTIME_ERROR, "%s: %lld rows have more pairs than 64 bits can count",
                        fl_op_title(op), (long long)n);
    int64_t pairs = n > 0 ? n * (n - 1) / 2 : 0;
    fl_spec_set(outs, self->dtype, fl_device_code(self), 1, &pairs);
    return 0;
}

extern "C" int fl_run_pdist_euclidean(const fl_op *, const fl_value *in, int,
                                      fl_tensor *const *outs) {
    const fl_tensor *self = in[0].t;
    int kind = fl_kind_of_dtype[self->dtype];
    In x(self, kind);
    Out out(outs[0], kind);
    if (!x.ok() || !out.ok())
        return -1;
    int64_t n = self->shape[0], m = self->shape[1];
    if (n > 1 && (kind == FL_K_F64 ? run(x.as<double>(), n, m, out.as<double>())
                                   : run(x.as<float>(), n, m, out.as<float>())) < 0)
        return -1;
    out.commit();
    return 0;
}
