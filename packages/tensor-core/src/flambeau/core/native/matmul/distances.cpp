/* Distances between rows: pdist_euclidean, of the rows i < j of a matrix, one after the other, and
 * cdist_of, of the rows of two stacks of matrices. */
#include "matmul/kernels/distance.h"
#include "common/kernels/transpose.h"
#include "common/args.h"
#include <algorithm>
#include <math.h>

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
void distances(int way, const float *row, const float *columns, int64_t step, int64_t m,
               float *out) {
    kernels->f32[way](row, columns, step, m, out);
}
void distances(int way, const double *row, const double *columns, int64_t step, int64_t m,
               double *out) {
    kernels->f64[way](row, columns, step, m, out);
}

/* The rows of a matrix as columns, in strips that are read to their ends. */
template <class T> class Columns {
  public:
    Columns(int64_t n, int64_t m)
        : n_(n), m_(m), step_((n + STRIP - 1) / STRIP * STRIP),
          room_(fl_bytes(m * step_ + STRIP, sizeof(T))) {}
    bool ok() const { return room_.ok(); }
    void set(const T *x) {
        T *columns = room_.template as<T>();
        std::fill(columns, columns + m_ * step_ + STRIP, T(0));
        transpose(columns, step_, x, n_, m_);
    }
    int64_t step() const { return step_; }
    const T *strip(int64_t j) { return room_.template as<T>() + j; }
  private:
    int64_t n_, m_, step_;
    Scratch room_;
};

template <class T> int run(const T *x, int64_t n, int64_t m, T *out) {
    Columns<T> columns(n, m);
    if (!columns.ok())
        return -1;
    columns.set(x);
    fl_parallel(n, std::max<int64_t>(GRAIN, FL_GRAIN / (n * m + 1)), [&](int64_t b, int64_t e) {
        T found[FL_DISTANCE_STRIP];
        for (int64_t j0 = (b + 1) / STRIP * STRIP; j0 < n; j0 += STRIP)
            for (int64_t i = b; i < e; i++) {
                int64_t first = std::max(i + 1, j0), last = std::min(j0 + STRIP, n);
                if (first >= last)
                    continue;
                distances(FL_EUCLIDEAN, x + i * m, columns.strip(j0), columns.step(), m, found);
                T *to = out + i * n - i * (i + 1) / 2 - i - 1;
                std::copy(found + first - j0, found + last - j0, to + first);
            }
    });
    return 0;
}

/* Distances from n rows to k others, of m numbers each. */
template <class T>
void run_pairs(int way, const T *x, int64_t n, int64_t m, Columns<T> &columns, int64_t k, T *out) {
    fl_parallel(n, std::max<int64_t>(GRAIN, FL_GRAIN / (k * m + 1)), [&](int64_t b, int64_t e) {
        T found[FL_DISTANCE_STRIP];
        for (int64_t j = 0; j < k; j += STRIP)
            for (int64_t i = b; i < e; i++) {
                distances(way, x + i * m, columns.strip(j), columns.step(), m, found);
                std::copy(found, found + std::min(STRIP, k - j), out + i * k + j);
            }
    });
}

template <class T>
int run_stacks(int way, const fl_tensor *a, const fl_tensor *b, const T *x, const T *y, T *out) {
    const int64_t n = a->shape[1], k = b->shape[1], m = a->shape[2];
    Columns<T> columns(k, m);
    if (!columns.ok())
        return -1;
    for (int64_t s = 0; s < a->shape[0]; s++) {
        columns.set(y + s * k * m);
        run_pairs(way, x + s * n * m, n, m, columns, k, out + s * n * k);
    }
    return 0;
}

/* The kernels for p = 2, 1 and infinity; -1 for others. */
int way_of(double p) {
    return p == 2 ? FL_EUCLIDEAN : p == 1 ? FL_MANHATTAN : p == HUGE_VAL ? FL_CHEBYSHEV : -1;
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

extern "C" int fl_infer_cdist_of(const fl_op *op, const fl_value *in, int n, fl_spec *outs) {
    const fl_tensor *a = in[0].t, *b = in[1].t;
    if (fl_same_device(op, in, n) < 0 || fl_expect_same_dtype(op, a, "x2", b) < 0 ||
        fl_expect_dtype(op, "x1", a, fl_is_float, "floating") < 0)
        return -1;
    if (a->ndim != 3 || b->ndim != 3 || a->shape[0] != b->shape[0] || a->shape[2] != b->shape[2])
        return fl_error(FL_RUNTIME_ERROR, "%s: expected two stacks [b, n, m] and [b, k, m] of "
                        "matrices, got shapes %s and %s", fl_op_title(op),
                        fl_shape_text(a->shape, a->ndim), fl_shape_text(b->shape, b->ndim));
    if (way_of(in[2].d) < 0)
        return fl_error(FL_RUNTIME_ERROR, "%s: p must be 1, 2 or inf, got %g", fl_op_title(op),
                        in[2].d);
    int64_t shape[3] = {a->shape[0], a->shape[1], b->shape[1]};
    fl_spec_set(outs, a->dtype, fl_device_code(a), 3, shape);
    return 0;
}

extern "C" int fl_run_cdist_of(const fl_op *, const fl_value *in, int, fl_tensor *const *outs) {
    const fl_tensor *a = in[0].t, *b = in[1].t;
    if (outs[0]->numel == 0)
        return 0;
    int kind = fl_kind_of_dtype[a->dtype], way = way_of(in[2].d);
    In x(a, kind), y(b, kind);
    Out out(outs[0], kind);
    if (!x.ok() || !y.ok() || !out.ok())
        return -1;
    int status = kind == FL_K_F64
        ? run_stacks(way, a, b, x.as<double>(), y.as<double>(), out.as<double>())
        : run_stacks(way, a, b, x.as<float>(), y.as<float>(), out.as<float>());
    if (status < 0)
        return -1;
    out.commit();
    return 0;
}
