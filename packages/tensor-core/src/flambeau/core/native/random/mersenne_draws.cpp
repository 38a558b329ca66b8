/* Uniform and normal numbers, integers and tosses of a Mersenne Twister, as PyTorch's CPU kernels
 * make them: one number after the other, in the order of the memory. */
#include "common/kernels/convert.h"
#include "random/kernels/mersenne.h"
#include "random/mersenne.h"
#include <algorithm>
#include <math.h>

namespace {

const fl_mersenne_kernels *const kernels = FL_PICK(fl_mersenne_kernels);
const int64_t BATCH_WORDS = 2 * MERSENNE_WORDS;
const int GROUP = 16;               /* numbers that are made normal together */
const uint64_t WIDE_RANGE = 1u << 28;   /* from here on a number takes two words */

/* Call use(words, first element, count) for all n elements, which take PER words each. */
template <int PER, class Use> void in_batches(fl_mersenne *m, int64_t n, const Use &use) {
    alignas(64) uint32_t words[BATCH_WORDS];
    for (int64_t i = 0; i < n; i += BATCH_WORDS / PER) {
        int64_t count = std::min(n - i, BATCH_WORDS / PER);
        m->take(words, count * PER);
        use(words, i, count);
    }
}

uint64_t wide(const uint32_t *words, int64_t i) {
    return (uint64_t)words[2 * i] << 32 | words[2 * i + 1];
}

/* A number rounded to a dtype of 16 or 32 bits. */
float rounded(int dtype, float x) {
    return dtype == FL_F16 ? widen(narrow_f16(x)) : dtype == FL_BF16 ? widen(narrow_bf16(x)) : x;
}

void uniform(fl_mersenne *m, float *out, int64_t n, int dtype, float low, float high) {
    in_batches<1>(m, n, [&](const uint32_t *words, int64_t i, int64_t count) {
        kernels->uniform_f32(words, out + i, count, low, high);
    });
    if (dtype == FL_F32)
        return;
    float least = rounded(dtype, low), end = rounded(dtype, high);
    for (int64_t i = 0; i < n; i++) {       /* rounding may lead to the end, which is excluded */
        float x = rounded(dtype, out[i]);
        out[i] = x >= end ? least : x;
    }
}

void uniform(fl_mersenne *m, double *out, int64_t n, double low, double high) {
    in_batches<2>(m, n, [&](const uint32_t *words, int64_t i, int64_t count) {
        kernels->uniform_f64(words, out + i, count, low, high);
    });
}

/* ---- normal numbers, many at once -------------------------------------------------------------- */

void pair_up(double *data, double mean, double std) {
    for (int j = 0; j < GROUP / 2; j++) {
        double radius = sqrt(-2 * log(1 - data[j])), angle = 2 * M_PI * data[j + GROUP / 2];
        data[j] = fma(radius * cos(angle), std, mean);
        data[j + GROUP / 2] = fma(radius * sin(angle), std, mean);
    }
}

/* Groups of sixteen from the start, of which the last one may be drawn over the one before: anew,
 * or in 16 bits from the words that come next. */
void normal(fl_mersenne *m, float *out, int64_t n, int dtype, float mean, float std) {
    int64_t drawn = dtype == FL_F32 ? n : n / GROUP * GROUP;
    uniform(m, out, drawn, FL_F32, 0, 1);
    fl_parallel(n / GROUP, 1024, [&](int64_t b, int64_t e) {
        kernels->normal_f32(out + b * GROUP, e - b, mean, std);
    });
    if (n % GROUP) {
        uniform(m, out + n - GROUP, GROUP, FL_F32, 0, 1);
        kernels->normal_f32(out + n - GROUP, 1, mean, std);
    }
}

void normal(fl_mersenne *m, double *out, int64_t n, double mean, double std) {
    uniform(m, out, n, 0, 1);
    fl_parallel(n / GROUP, 256, [&](int64_t b, int64_t e) {
        for (int64_t g = b; g < e; g++)
            pair_up(out + g * GROUP, mean, std);
    });
    if (n % GROUP) {
        uniform(m, out + n - GROUP, GROUP, 0, 1);
        pair_up(out + n - GROUP, mean, std);
    }
}

/* ---- elements of any kind ---------------------------------------------------------------------- */

template <class T, class Of> void fill_words(fl_mersenne *m, T *out, int64_t n, const Of &of) {
    in_batches<1>(m, n, [&](const uint32_t *words, int64_t i, int64_t count) {
        for (int64_t k = 0; k < count; k++)
            out[i + k] = (T)of(words[k]);
    });
}

template <class T, class Of> void fill_pairs(fl_mersenne *m, T *out, int64_t n, const Of &of) {
    in_batches<2>(m, n, [&](const uint32_t *words, int64_t i, int64_t count) {
        for (int64_t k = 0; k < count; k++)
            out[i + k] = (T)of(wide(words, k));
    });
}

/* Call fill(pointer to the elements) with the type of the kind. */
template <class Fill> void typed(Out &out, int kind, const Fill &fill) {
    switch (kind) {
    case FL_K_F32: return fill(out.as<float>());
    case FL_K_F64: return fill(out.as<double>());
    case FL_K_BOOL: return fill(out.as<uint8_t>());
    default: return fill(out.as<int64_t>());
    }
}

/* How many integers from 0 on a dtype holds all of, 0 for 2^64. */
uint64_t all_of(int dtype) {
    switch (dtype) {
    case FL_BOOL: return 2;
    case FL_U8: return 1u << 8;
    case FL_I8: return 1u << 7;
    case FL_I16: return 1u << 15;
    case FL_U16: return 1u << 16;
    case FL_I32: return 1u << 31;
    case FL_U32: return (uint64_t)1 << 32;
    case FL_U64: return 0;
    case FL_I64: return (uint64_t)1 << 63;
    case FL_F64: return ((uint64_t)1 << 53) + 1;
    case FL_F16: return (1u << 11) + 1;
    case FL_BF16: return (1u << 8) + 1;
    default: return (1u << 24) + 1;
    }
}

bool eight_bytes(int dtype) { return dtype == FL_I64 || dtype == FL_F64 || dtype == FL_U64; }

}  // namespace

MemoryOrder::MemoryOrder(const fl_tensor *t) : tensor(*t) {
    int order[FL_MAX_DIMS];
    for (int d = 0; d < t->ndim; d++)
        order[d] = d;
    std::stable_sort(order, order + t->ndim,
                     [&](int a, int b) { return t->strides[a] > t->strides[b]; });
    for (int d = 0; d < t->ndim; d++) {
        shape_[d] = t->shape[order[d]];
        strides_[d] = t->strides[order[d]];
    }
    tensor.shape = shape_;
    tensor.strides = strides_;
    tensor.flags &= ~(uint32_t)FL_CONTIGUOUS;
    int64_t dense[FL_MAX_DIMS];
    fl_contiguous_strides(t->ndim, shape_, dense);
    bool contiguous = true;
    for (int d = 0; d < t->ndim; d++)
        contiguous &= shape_[d] == 1 || strides_[d] == dense[d];
    if (contiguous)
        tensor.flags |= FL_CONTIGUOUS;
}

int fl_mersenne_uniform(fl_mersenne *m, fl_tensor *given, double low, double high) {
    MemoryOrder ordered(given);
    int dtype = given->dtype, kind = fl_kind_of_dtype[dtype];
    Out out(&ordered.tensor, kind);
    if (!out.ok())
        return -1;
    {
        std::lock_guard<std::mutex> held(m->lock);
        if (kind == FL_K_F64)
            uniform(m, out.as<double>(), given->numel, low, high);
        else
            uniform(m, out.as<float>(), given->numel, dtype, (float)low, (float)high);
    }
    out.commit();
    return 0;
}

int fl_mersenne_normal(fl_mersenne *m, fl_tensor *given, double mean, double std) {
    MemoryOrder ordered(given);
    int dtype = given->dtype, kind = fl_kind_of_dtype[dtype];
    int64_t n = given->numel;
    Out out(&ordered.tensor, kind);
    if (!out.ok())
        return -1;
    {
        std::lock_guard<std::mutex> held(m->lock);
        if (n < GROUP || !fl_is_contiguous(given))
            typed(out, kind, [&](auto *to) {
                for (int64_t i = 0; i < n; i++)
                    to[i] = (std::decay_t<decltype(*to)>)fma(m->normal(), std, mean);
            });
        else if (kind == FL_K_F64)
            normal(m, out.as<double>(), n, mean, std);
        else
            normal(m, out.as<float>(), n, dtype, (float)mean, (float)std);
    }
    out.commit();
    return 0;
}

int fl_mersenne_integers(fl_mersenne *m, fl_tensor *given, int64_t low, uint64_t range, bool all) {
    MemoryOrder ordered(given);
    int64_t n = given->numel;
    int kind = fl_kind_of_dtype[given->dtype];
    Out out(&ordered.tensor, kind);
    if (!out.ok())
        return -1;
    bool whole = all && low == 0;
    if (all)        /* from the least one on, numbers wrap around to it */
        range = low == INT64_MIN ? 0 : all_of(given->dtype) - (uint64_t)low;
    bool pairs = whole ? eight_bytes(given->dtype) : range == 0 || range >= WIDE_RANGE;
    uint64_t base = range ? (uint64_t)low : 0;
    {
        std::lock_guard<std::mutex> held(m->lock);
        typed(out, kind, [&](auto *to) {
            if (!pairs && range >> 32)
                fill_words(m, to, n, [=](uint32_t w) { return (int64_t)(base + w); });
            else if (!pairs && !(range & (range - 1)))
                fill_words(m, to, n, [=](uint32_t w) {
                    return (int64_t)(base + (w & (uint32_t)(range - 1)));
                });
            else if (!pairs)
                fill_words(m, to, n, [=](uint32_t w) {
                    return (int64_t)(base + w % (uint32_t)range);
                });
            else
                fill_pairs(m, to, n, [=](uint64_t w) {
                    return (int64_t)(base + (range ? w % range : w));
                });
        });
    }
    out.commit();
    return 0;
}

int fl_mersenne_bernoulli(fl_mersenne *m, fl_tensor *given, double p) {
    MemoryOrder ordered(given);
    int kind = fl_kind_of_dtype[given->dtype];
    Out out(&ordered.tensor, kind);
    if (!out.ok())
        return -1;
    {
        std::lock_guard<std::mutex> held(m->lock);
        typed(out, kind, [&](auto *to) {
            fill_pairs(m, to, given->numel, [=](uint64_t w) {
                return (double)(int64_t)(w & 0x1fffffffffffff) * 0x1p-53 < p;
            });
        });
    }
    out.commit();
    return 0;
}

int fl_mersenne_permutation(fl_mersenne *m, int64_t *order, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        order[i] = i;
    std::lock_guard<std::mutex> held(m->lock);
    auto swap = [&](int64_t i, int64_t below) { std::swap(order[i], order[i + below]); };
    if (n < UINT32_MAX / 20)
        in_batches<1>(m, n - 1, [&](const uint32_t *words, int64_t i, int64_t count) {
            for (int64_t k = 0; k < count; k++)
                swap(i + k, words[k] % (uint32_t)(n - i - k));
        });
    else
        in_batches<2>(m, n - 1, [&](const uint32_t *words, int64_t i, int64_t count) {
            for (int64_t k = 0; k < count; k++)
                swap(i + k, (int64_t)(wide(words, k) % (uint64_t)(n - i - k)));
        });
    return 0;
}
