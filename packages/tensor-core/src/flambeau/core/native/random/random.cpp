/* Random operators. An element depends on the seed, the generator's offset and its logical index
 * alone, so strides and threads do not matter. Philox blocks are taken as the dtype needs: one for
 * four elements of 32 bits, or for two elements of 64 bits. */
#include "random/kernels/random.h"
#include "dispatch/core.h"
#include "random/mersenne.h"
#include "random/taken.h"
#include "common/args.h"
#include "common/complex_parts.h"
#include <float.h>
#include <math.h>

namespace {

const fl_random_kernels *const kernels = FL_PICK(fl_random_kernels);
const int64_t GRAIN_ELEMENTS = 8192;     /* elements of one piece of work; whole tiles of blocks */

/* Elements from the middle of a block on, `skip` of them left out. */
struct Stream : fl_stream {
    int skip;
};

Stream take(const fl_value &generator, int64_t n, int per_block) {
    if (generator.tag == FL_TAKEN) {
        Stream s;
        memcpy((fl_stream *)&s, generator.c, sizeof(fl_stream));
        s.skip = (int)generator.len;
        return s;
    }
    void *object = generator.tag == FL_GENERATOR ? generator.o : nullptr;
    uint64_t blocks = (uint64_t)((n + per_block - 1) / per_block);
    return {{fl_generator_state_of(object)->seed, fl_generator_reserve(object, blocks)}, 0};
}

/* Call fill(out, n, stream) for pieces of n elements. */
template <class T, class Fill>
void in_pieces(T *out, int64_t n, Stream s, int per_block, const Fill &fill) {
    if (s.skip) {
        T block[4];
        const int64_t count = n < per_block - s.skip ? n : per_block - s.skip;
        fill(block, per_block, s);
        memcpy(out, block + s.skip, (size_t)count * sizeof(T));
        out += count;
        n -= count;
        s.block++;
    }
    fl_parallel(n, GRAIN_ELEMENTS, [&](int64_t begin, int64_t end) {
        fill(out + begin, end - begin,
             fl_stream{s.seed, s.block + (uint64_t)(begin / per_block)});
    });
}

int expect_floating(const fl_op *op, const fl_tensor *self) {
    if (fl_is_complex(self->dtype) && self->ndim == FL_MAX_DIMS)
        return fl_error(FL_RUNTIME_ERROR, "%s: complex numbers may have at most %d dimensions here",
                        fl_op_title(op), FL_MAX_DIMS - 1);
    return fl_expect_dtype(op, "self", self, fl_floating_or_complex,
                           "floating or complex; make integers with randint or random_");
}

double greatest(int dtype) {
    switch (fl_real_dtype(dtype)) {
    case FL_F16: return 65504.0;
    case FL_BF16: return 0x1.fep127;
    case FL_F32: return FLT_MAX;
    default: return DBL_MAX;
    }
}

/* Kernels compute low + (high - low) * u in the dtype, which must hold the width as well. */
int check_interval(const fl_op *op, double low, double high, int dtype) {
    if (!(low <= high))
        return fl_error(FL_RUNTIME_ERROR, "%s: low=%g must not be above high=%g", fl_op_title(op),
                        low, high);
    double last = greatest(dtype);
    if (!(low >= -last && high <= last && high - low <= last))
        return fl_error(FL_RUNTIME_ERROR, "%s: low=%g, high=%g and the distance between them must "
                        "lie within the finite numbers of %s, up to %g; draw from a narrower "
                        "interval, or in float64", fl_op_title(op), low, high,
                        fl_dtype_name(dtype), last);
    return 0;
}

/* Bits of a uniform number that the dtype holds exactly. */
int uniform_bits(int dtype) { return dtype == FL_BF16 ? 8 : dtype == FL_F16 ? 11 : 24; }

/* One past the greatest integer of a dtype that is exact, and its least, as far as int64 goes. */
void integer_limits(int dtype, int64_t *low, int64_t *last) {
    switch (dtype) {
    case FL_BOOL: *low = 0; *last = 1; return;
    case FL_U8: *low = 0; *last = UINT8_MAX; return;
    case FL_I8: *low = INT8_MIN; *last = INT8_MAX; return;
    case FL_I16: *low = INT16_MIN; *last = INT16_MAX; return;
    case FL_I32: *low = INT32_MIN; *last = INT32_MAX; return;
    case FL_U16: *low = 0; *last = UINT16_MAX; return;
    case FL_U32: *low = 0; *last = UINT32_MAX; return;
    case FL_U64: *low = 0; *last = INT64_MAX; return;
    case FL_F16: *last = 65504; break;
    default: *last = INT64_MAX; break;
    }
    *low = dtype == FL_F16 ? -*last : INT64_MIN;
}

/* One past the greatest integer up to which a dtype holds all of them, as far as int64 goes. */
int64_t first_gap(int dtype) {
    switch (dtype) {
    case FL_F16: return (1 << 11) + 1;
    case FL_BF16: return (1 << 8) + 1;
    case FL_F32: return (1 << 24) + 1;
    case FL_F64: return ((int64_t)1 << 53) + 1;
    }
    int64_t low, last;
    integer_limits(dtype, &low, &last);
    return last == INT64_MAX ? last : last + 1;
}

/* Run a kernel of one element type over all pieces. */
template <class T, class... Args>
void run_kernel(Out &out, int64_t n, Stream s, int per_block,
                void (*kernel)(T *, int64_t, fl_stream, Args...), Args... args) {
    in_pieces(out.as<T>(), n, s, per_block,
              [=](T *p, int64_t count, fl_stream from) { kernel(p, count, from, args...); });
}

void run_integers(Out &out, int kind, int64_t n, Stream s, int64_t low, uint64_t range) {
    switch (kind) {
    case FL_K_F32: return run_kernel(out, n, s, 2, kernels->integers_f32, low, range);
    case FL_K_F64: return run_kernel(out, n, s, 2, kernels->integers_f64, low, range);
    case FL_K_BOOL: return run_kernel(out, n, s, 2, kernels->integers_u8, low, range);
    default: return run_kernel(out, n, s, 2, kernels->integers_i64, low, range);
    }
}

void run_bernoulli(Out &out, int kind, int64_t n, Stream s, uint64_t threshold) {
    switch (kind) {
    case FL_K_F32: return run_kernel(out, n, s, 4, kernels->bernoulli_f32, threshold);
    case FL_K_F64: return run_kernel(out, n, s, 4, kernels->bernoulli_f64, threshold);
    case FL_K_BOOL: return run_kernel(out, n, s, 4, kernels->bernoulli_u8, threshold);
    default: return run_kernel(out, n, s, 4, kernels->bernoulli_i64, threshold);
    }
}

bool not_complex(int dtype) { return !fl_is_complex(dtype) && dtype < FL_F8_E4M3; }

/* Fisher-Yates: element i is swapped with one of the first i + 1. */
void shuffle(int64_t *order, int64_t n, fl_stream s) {
    const int64_t BATCH_DRAWS = 1024;
    uint64_t bits[BATCH_DRAWS];
    for (int64_t done = 0; done < n; done += BATCH_DRAWS) {
        int64_t count = n - done < BATCH_DRAWS ? n - done : BATCH_DRAWS;
        kernels->words64(bits, count, fl_stream{s.seed, s.block + (uint64_t)(done / 2)});
        for (int64_t j = 0; j < count; j++) {
            int64_t i = n - 1 - done - j;
            int64_t other = (int64_t)((unsigned __int128)bits[j] * (uint64_t)(i + 1) >> 64);
            int64_t kept = order[i];
            order[i] = order[other];
            order[other] = kept;
        }
    }
}

}  // namespace

extern "C" int fl_infer_random_uniform(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    if (expect_floating(op, in[0].t) < 0 ||
        check_interval(op, fl_as_double(in[1]), fl_as_double(in[2]), in[0].t->dtype) < 0)
        return -1;
    fl_spec_like(outs, in[0].t);
    return 0;
}

extern "C" int fl_run_random_uniform(const fl_op *op, const fl_value *in, int n_in,
                                     fl_tensor *const *outs) {
    if (fl_is_complex(outs[0]->dtype)) {
        PairView parts(outs[0]);
        fl_tensor *target = &parts.tensor;
        return fl_run_random_uniform(op, in, n_in, &target);
    }
    int kind = fl_kind_of_dtype[outs[0]->dtype], bits = uniform_bits(outs[0]->dtype);
    int64_t n = outs[0]->numel;
    double low = fl_as_double(in[1]), high = fl_as_double(in[2]);
    if (fl_mersenne *m = fl_mersenne_of(in[3]))
        return fl_mersenne_uniform(m, outs[0], low, high);
    Out out(outs[0], kind);
    if (!out.ok())
        return -1;
    int per_block = kind == FL_K_F64 ? 2 : 4;
    Stream s = take(in[3], n, per_block);
    if (kind == FL_K_F64)
        run_kernel(out, n, s, 2, kernels->uniform_f64, low, high);
    else
        run_kernel(out, n, s, 4, kernels->uniform_f32, (float)low, (float)high, bits);
    out.commit();
    return 0;
}

extern "C" int fl_infer_random_normal(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    if (expect_floating(op, in[0].t) < 0)
        return -1;
    if (!(fl_as_double(in[2]) >= 0))
        return fl_error(FL_RUNTIME_ERROR, "%s: std=%g, but a standard deviation is 0 or more",
                        fl_op_title(op), fl_as_double(in[2]));
    fl_spec_like(outs, in[0].t);
    return 0;
}

extern "C" int fl_run_random_normal(const fl_op *, const fl_value *, int, fl_tensor *const *);

/* Each part of a complex number has half of the variance. */
static int complex_normal(const fl_op *op, const fl_value *in, int n, fl_tensor *out) {
    fl_value args[FL_MAX_PARAMS];
    memcpy(args, in, sizeof(fl_value) * (size_t)n);
    args[2].tag = FL_FLOAT;
    args[2].d = fl_as_double(in[2]) / M_SQRT2;
    PairView parts(out);
    fl_tensor *target = &parts.tensor;
    return fl_run_random_normal(op, args, n, &target);
}

extern "C" int fl_run_random_normal(const fl_op *op, const fl_value *in, int n_in,
                                    fl_tensor *const *outs) {
    if (fl_is_complex(outs[0]->dtype))
        return complex_normal(op, in, n_in, outs[0]);
    int kind = fl_kind_of_dtype[outs[0]->dtype];
    int64_t n = outs[0]->numel;
    double mean = fl_as_double(in[1]), std = fl_as_double(in[2]);
    if (fl_mersenne *m = fl_mersenne_of(in[3]))
        return fl_mersenne_normal(m, outs[0], mean, std);
    Out out(outs[0], kind);
    if (!out.ok())
        return -1;
    int per_block = kind == FL_K_F64 ? 2 : 4;
    Stream s = take(in[3], n, per_block);
    if (kind == FL_K_F64)
        run_kernel(out, n, s, 2, kernels->normal_f64, mean, std);
    else
        run_kernel(out, n, s, 4, kernels->normal_f32, (float)mean, (float)std);
    out.commit();
    return 0;
}

extern "C" int fl_infer_random_integers(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    const fl_tensor *self = in[0].t;
    if (fl_expect_dtype(op, "self", self, not_complex, "bool, integer or floating") < 0)
        return -1;
    int64_t low = in[1].i, high, least, last;
    integer_limits(self->dtype, &least, &last);
    if (in[2].tag == FL_NONE)
        return fl_spec_like(outs, self), 0;
    high = in[2].i;
    if (low >= high)
        return fl_error(FL_RUNTIME_ERROR, "%s: low=%lld must be less than high=%lld, which is "
                        "excluded", fl_op_title(op), (long long)low, (long long)high);
    if (low < least || high - 1 > last)
        return fl_error(FL_RUNTIME_ERROR, "%s: low=%lld to high=%lld (excluded) goes out of bounds "
                        "for %s, which holds %lld to %lld", fl_op_title(op), (long long)low,
                        (long long)high, fl_dtype_name(self->dtype), (long long)least,
                        (long long)last);
    fl_spec_like(outs, self);
    return 0;
}

extern "C" int fl_run_random_integers(const fl_op *, const fl_value *in, int,
                                      fl_tensor *const *outs) {
    int kind = fl_kind_of_dtype[outs[0]->dtype];
    bool all = in[2].tag == FL_NONE;
    int64_t low = in[1].i, high = all ? first_gap(outs[0]->dtype) : in[2].i;
    uint64_t range = (uint64_t)high - (uint64_t)low;
    if (fl_mersenne *m = fl_mersenne_of(in[3]))
        return fl_mersenne_integers(m, outs[0], low, range, all);
    Out out(outs[0], kind);
    if (!out.ok())
        return -1;
    Stream s = take(in[3], outs[0]->numel, 2);
    run_integers(out, kind, outs[0]->numel, s, low, range);
    out.commit();
    return 0;
}

extern "C" int fl_infer_random_bernoulli(const fl_op *op, const fl_value *in, int,
                                         fl_spec *outs) {
    if (fl_expect_dtype(op, "self", in[0].t, not_complex, "bool, integer or floating") < 0)
        return -1;
    double p = fl_as_double(in[1]);
    if (!(p >= 0 && p <= 1))
        return fl_error(FL_RUNTIME_ERROR, "%s: p=%g, but a probability lies from 0 to 1",
                        fl_op_title(op), p);
    fl_spec_like(outs, in[0].t);
    return 0;
}

extern "C" int fl_run_random_bernoulli(const fl_op *, const fl_value *in, int,
                                       fl_tensor *const *outs) {
    int kind = fl_kind_of_dtype[outs[0]->dtype];
    if (fl_mersenne *m = fl_mersenne_of(in[2]))
        return fl_mersenne_bernoulli(m, outs[0], fl_as_double(in[1]));
    Out out(outs[0], kind);
    if (!out.ok())
        return -1;
    Stream s = take(in[2], outs[0]->numel, 4);
    run_bernoulli(out, kind, outs[0]->numel, s, (uint64_t)(fl_as_double(in[1]) * 0x1p32));
    out.commit();
    return 0;
}

extern "C" int fl_infer_random_permutation(const fl_op *op, const fl_value *in, int,
                                           fl_spec *outs) {
    if (in[0].i < 0)
        return fl_error(FL_RUNTIME_ERROR, "%s: n must be non-negative, not %lld", fl_op_title(op),
                        (long long)in[0].i);
    fl_spec_set(outs, FL_I64, FL_CPU << 8, 1, &in[0].i);
    return 0;
}

extern "C" int fl_run_random_permutation(const fl_op *, const fl_value *in, int,
                                         fl_tensor *const *outs) {
    int64_t n = in[0].i, *order = (int64_t *)outs[0]->data;
    if (fl_mersenne *m = fl_mersenne_of(in[1]))
        return fl_mersenne_permutation(m, order, n);
    for (int64_t i = 0; i < n; i++)
        order[i] = i;
    shuffle(order, n, take(in[1], n, 2));
    return 0;
}
