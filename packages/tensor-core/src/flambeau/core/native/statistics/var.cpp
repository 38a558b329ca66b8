/* var and std: the accumulator is (count, mean, sum of squared deviations). */
#include "statistics/kernels/moments.h"
#include "common/args.h"
#include "reduce/reduce.h"
#include <math.h>

namespace {

const fl_moments_kernels *const kernels = FL_PICK(fl_moments_kernels);

/* sum of squared deviations over n - correction; as PyTorch, never a negative divisor. */
inline double variance(double m2, int64_t n, double correction) {
    double divisor = (double)n - correction;
    return m2 / (divisor > 0 ? divisor : 0);
}

template <class T> void put(void *out, int64_t at, double value) { ((T *)out)[at] = (T)value; }

struct Job {
    fl_reduce_plan p;
    double correction;
    void *out;
    void store(int64_t at, double m2) const {
        double value = variance(m2, p.n, correction);
        if (p.kind == FL_K_F32)
            put<float>(out, at, value);
        else
            put<double>(out, at, value);
    }
};

double row_m2(const Job &j, int64_t row, int64_t *buffer) {
    double mean = 0, m2 = 0;
    for (int64_t begin = 0; begin < j.p.n; begin += FL_REDUCE_PIECE) {
        int64_t n = j.p.n - begin < FL_REDUCE_PIECE ? j.p.n - begin : FL_REDUCE_PIECE;
        double part_mean, part_m2;
        const void *x = fl_reduce_load(j.p, row * j.p.outer_step + begin, n, buffer);
        kernels->row[j.p.kind](x, n, &part_mean, &part_m2);
        fl_join_moments(begin, &mean, &m2, n, part_mean, part_m2);
    }
    return m2;
}

void var_rows(const Job &j) {
    fl_parallel(j.p.outer, fl_row_grain(j.p.n), [&](int64_t b, int64_t e) {
        alignas(64) int64_t buffer[FL_REDUCE_PIECE];
        for (int64_t row = b; row < e; row++)
            j.store(row, row_m2(j, row, buffer));
    });
}

int var_long_rows(const Job &j) {
    int64_t pieces = fl_chunk_count(j.p.n, FL_REDUCE_PIECE);
    Scratch parts((size_t)(j.p.outer * pieces) * 16);
    if (!parts.ok())
        return -1;
    double *pair = parts.as<double>();
    fl_parallel(j.p.outer * pieces, FL_GRAIN / FL_REDUCE_PIECE, [&](int64_t b, int64_t e) {
        alignas(64) int64_t buffer[FL_REDUCE_PIECE];
        for (int64_t t = b; t < e; t++) {
            int64_t row = t / pieces, begin = (t - row * pieces) * FL_REDUCE_PIECE;
            int64_t n = j.p.n - begin < FL_REDUCE_PIECE ? j.p.n - begin : FL_REDUCE_PIECE;
            const void *x = fl_reduce_load(j.p, row * j.p.outer_step + begin, n, buffer);
            kernels->row[j.p.kind](x, n, pair + 2 * t, pair + 2 * t + 1);
        }
    });
    for (int64_t row = 0; row < j.p.outer; row++) {
        double mean = 0, m2 = 0;
        for (int64_t begin = 0; begin < j.p.n; begin += FL_REDUCE_PIECE, pair += 2) {
            int64_t n = j.p.n - begin < FL_REDUCE_PIECE ? j.p.n - begin : FL_REDUCE_PIECE;
            fl_join_moments(begin, &mean, &m2, n, pair[0], pair[1]);
        }
        j.store(row, m2);
    }
    return 0;
}

const int64_t STRIP_COLUMNS = 256, BLOCK_ROWS = 32;

void var_columns(const Job &j) {
    const fl_reduce_plan &p = j.p;
    int64_t strips = fl_chunk_count(p.inner, STRIP_COLUMNS);
    int64_t grain = fl_row_grain(p.n * (p.inner < STRIP_COLUMNS ? p.inner : STRIP_COLUMNS));
    fl_parallel(p.outer * strips, grain, [&](int64_t b, int64_t e) {
        double mean[STRIP_COLUMNS], m2[STRIP_COLUMNS], sums[STRIP_COLUMNS];
        for (int64_t t = b; t < e; t++) {
            int64_t o = t / strips, column = t % strips * STRIP_COLUMNS;
            int64_t width = p.inner - column < STRIP_COLUMNS ? p.inner - column : STRIP_COLUMNS;
            for (int64_t row = 0; row < p.n; row += BLOCK_ROWS) {
                int64_t n = p.n - row < BLOCK_ROWS ? p.n - row : BLOCK_ROWS;
                int64_t at = o * p.outer_step + row * p.step + column;
                kernels->columns[p.kind](p.data + at * fl_kind_size[p.kind], n, p.step, width, row,
                                         mean, m2, sums);
            }
            for (int64_t c = 0; c < width; c++)
                j.store(o * p.inner + column + c, m2[c]);
        }
    });
}

int var_plan(const Job &j) {
    if (j.p.inner != 1)
        var_columns(j);
    else if (j.p.outer < 8 && j.p.n > 4 * FL_REDUCE_PIECE)
        return var_long_rows(j);
    else
        var_rows(j);
    return 0;
}

int var_source(fl_reduce_source s, double correction, void *out) {
    fl_reduce_source original = s;
    Job j = {{}, correction, out};
    if (fl_reduce_make_plan(&s, false, &j.p) == FL_PLAN_READY)
        return var_plan(j);
    Scratch memory(fl_bytes(fl_reduce_kept(s) * fl_reduce_reduced(s), fl_kind_size[s.kind]));
    if (!memory.ok())
        return -1;
    fl_reduce_gather_plan(original, memory.as<void>(), &j.p);
    return var_plan(j);
}

/* The variance of complex numbers: of the real plus of the imaginary parts. */
int var_complex(fl_reduce_source s, double correction, void *out, int64_t count) {
    int kind = s.kind == FL_K_C64 ? FL_K_F32 : FL_K_F64;
    s.dtype = fl_dtype_of_kind[kind];
    s.kind = kind;
    for (int d = 0; d < s.ndim; d++)
        s.strides[d] *= 2;
    Scratch other(fl_bytes(count, fl_kind_size[kind]));
    if (!other.ok() || var_source(s, correction, out) < 0)
        return -1;
    s.data += fl_kind_size[kind];
    if (var_source(s, correction, other.as<void>()) < 0)
        return -1;
    for (int64_t i = 0; i < count; i++) {
        if (kind == FL_K_F32)
            ((float *)out)[i] += other.as<float>()[i];
        else
            ((double *)out)[i] += other.as<double>()[i];
    }
    return 0;
}

void fill_nan(int kind, void *out, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        if (kind == FL_K_F32)
            put<float>(out, i, __builtin_nan(""));
        else
            put<double>(out, i, __builtin_nan(""));
    }
}

template <class T> void roots(void *out, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        put<T>(out, i, sqrt((double)((T *)out)[i]));
}

}  // namespace

int fl_run_var(const fl_op *op, const fl_value *in, fl_tensor *out) {
    const fl_tensor *self = in[0].t;
    int kind = fl_kind_of_dtype[self->dtype];
    double correction = fl_is_none(in[2]) ? 1 : fl_as_double(in[2]);
    uint64_t mask;
    if (fl_dims_mask(op, in[1], self->ndim, &mask) < 0)
        return -1;
    bool is_complex = kind >= FL_K_C64;
    int real = kind == FL_K_C64 ? FL_K_F32 : kind == FL_K_C128 ? FL_K_F64 : kind;
    Out result(out, real);
    if (!result.ok())
        return -1;
    const ReduceInput input(self, kind, mask);
    const fl_reduce_source &s = input.source();
    int status = 0;
    if (self->numel == 0)
        fill_nan(real, result.as<void>(), out->numel);
    else if (is_complex)
        status = var_complex(s, correction, result.as<void>(), out->numel);
    else
        status = var_source(s, correction, result.as<void>());
    if (status < 0)
        return -1;
    bool root = fl_reduction_of(op) == FL_RED_STD;
    if (root && real == FL_K_F32)
        roots<float>(result.as<void>(), out->numel);
    else if (root)
        roots<double>(result.as<void>(), out->numel);
    result.commit();
    return 0;
}
