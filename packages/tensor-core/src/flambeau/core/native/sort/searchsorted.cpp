/* searchsorted: where numbers belong in sorted sequences, by halving. NaN belongs at the end. */
#include "common/args.h"
#include "common/range_error.h"
#include "common/raw.h"

namespace {

/* Both sides are compared in one dtype; integers with floating-point numbers in float64. */
int common_dtype(const fl_tensor *sequence, const fl_tensor *t) {
    if (!t || t->dtype == sequence->dtype)
        return sequence->dtype;
    int dtype = fl_promote(sequence->dtype, t->dtype);
    bool same_family = fl_is_float(sequence->dtype) == fl_is_float(t->dtype);
    return fl_is_float(dtype) && !same_family ? FL_F64 : dtype;
}

int kind_of(const fl_tensor *sequence, const fl_value &input) {
    const fl_tensor *t = fl_t(input);
    int kind = fl_kind_of_dtype[common_dtype(sequence, t)];
    if (!t && input.tag == FL_FLOAT && kind != FL_K_F32)
        return FL_K_F64;
    return kind == FL_K_BOOL ? FL_K_I64 : kind;
}

/* Several sequences: one for each row of the input. */
int check_shapes(const fl_op *op, const fl_tensor *sequence, const fl_value &input) {
    const fl_tensor *t = fl_t(input);
    if (sequence->ndim == 0)
        return fl_error(FL_RUNTIME_ERROR, "%s: the sorted sequence must have at least 1 dimension, "
                        "got a 0-d tensor", fl_op_title(op));
    if (sequence->ndim == 1)
        return 0;
    bool fits = t && t->ndim == sequence->ndim &&
                !memcmp(t->shape, sequence->shape, sizeof(int64_t) * (size_t)(t->ndim - 1));
    if (fits)
        return 0;
    return fl_error(FL_RUNTIME_ERROR, "%s: sequences of shape %s need an input of the same shape "
                    "but for the last dimension, got %s; a sequence of 1 dimension takes any input",
                    fl_op_title(op), fl_shape_text(sequence->shape, sequence->ndim),
                    t ? fl_shape_text(t->shape, t->ndim) : "a number");
}

int check_sorter(const fl_op *op, const fl_tensor *sequence, const fl_tensor *sorter) {
    if (!sorter)
        return 0;
    if (fl_expect_int64(op, "sorter", sorter) < 0)
        return -1;
    return fl_expect_same_shape(op, "sorted_sequence", sequence, "sorter", sorter);
}

int side_of(const fl_op *op, const fl_value &right, const fl_value &side, bool *result) {
    *result = fl_value_true(right);
    if (side.tag == FL_NONE)
        return 0;
    bool is_right = !strcmp(side.s, "right");
    if (!is_right && strcmp(side.s, "left"))
        return fl_error(FL_RUNTIME_ERROR, "%s: side must be 'left' or 'right', got '%s'",
                        fl_op_title(op), side.s);
    if (*result && !is_right)
        return fl_error(FL_RUNTIME_ERROR, "%s: side='left' contradicts right=True; give one of them",
                        fl_op_title(op));
    *result = is_right;
    return 0;
}

struct Search {
    const char *sequence;
    const fl_tensor *lying;             /* or one sequence that is read where it lies */
    const int64_t *sorter;
    int64_t n;                          /* length of a sequence */
    int64_t each;                       /* inputs per sequence; 0: all in the first */
    bool right;
};

template <class T> struct Dense {
    const T *data;
    T operator[](int64_t i) const { return data[i]; }
};

/* Elements of any dtype and stride, each read on its own. */
template <class T> struct Lying {
    const fl_tensor *t;
    int dtype;
    T operator[](int64_t i) const {
        const int64_t one = 1;
        T value;
        fl_copy_strided(fl_strided{(char *)&value, dtype, &one},
                        fl_strided{t->data + i * t->strides[0] * fl_itemsize(t->dtype), t->dtype,
                                   &one}, 1, &one);
        return value;
    }
};

template <class Elements, class Before>
int64_t insertion_index(const Elements &a, const int64_t *order, int64_t n, const Before &before) {
    int64_t low = 0;
    while (n > 0) {
        int64_t half = n / 2, middle = low + half;
        bool later = before(a[order ? order[middle] : middle]);
        low = later ? middle + 1 : low;
        n = later ? n - half - 1 : half;
    }
    return low;
}

template <class T, class Elements>
int64_t search_one(const Search &s, const Elements &a, const int64_t *order, T v) {
    return s.right ? insertion_index(a, order, s.n, [=](T y) { return !(y > v); })
                   : insertion_index(a, order, s.n, [=](T y) { return !(y >= v); });
}

/* Several searches of one sequence side by side: the loads of one do not wait for those of another,
 * and nothing branches on an element. Each takes the steps that it would take alone. */
const int SIDE_BY_SIDE = 8;
template <class T, class Before>
void insertion_indices(const T *a, int64_t n, const T *x, int64_t *low, const Before &before) {
    int64_t left[SIDE_BY_SIDE];
    for (int k = 0; k < SIDE_BY_SIDE; k++) {
        left[k] = n;
        low[k] = 0;
    }
    for (int64_t most = n; most > 0; most /= 2)
#pragma GCC unroll 8
        for (int k = 0; k < SIDE_BY_SIDE; k++) {
            const int64_t half = left[k] >> 1, at = low[k] + half;
            const int64_t later = (left[k] > 0) & before(a[at < n ? at : n - 1], x[k]);
            low[k] += (half + 1) & -later;
            left[k] = half - (later & ~left[k]);    /* one less of an even number */
        }
}

/* Searches from b on, up to e, as many as fill whole sets in one sequence. The next that is left. */
template <class T>
int64_t search_sets(const Search &s, const T *x, int64_t *out, int64_t b, int64_t e) {
    for (int64_t i = b; i + SIDE_BY_SIDE <= e; i += SIDE_BY_SIDE) {
        const T *sequence = (const T *)s.sequence + (s.each ? i / s.each * s.n : 0);
        if (s.each && i / s.each != (i + SIDE_BY_SIDE - 1) / s.each)
            return i;
        if (s.right)
            insertion_indices(sequence, s.n, x + i, out + i, [](T y, T v) { return !(y > v); });
        else
            insertion_indices(sequence, s.n, x + i, out + i, [](T y, T v) { return !(y >= v); });
        b = i + SIDE_BY_SIDE;
    }
    return b;
}

template <class T>
void search(const Search &s, int dtype, const char *input, int64_t *out, int64_t b, int64_t e) {
    const T *x = (const T *)input;
    if (s.lying) {
        for (int64_t i = b; i < e; i++)
            out[i] = search_one(s, Lying<T>{s.lying, dtype}, s.sorter, x[i]);
        return;
    }
    for (int64_t i = b; i < e; i++) {
        if (!s.sorter)
            i = search_sets(s, x, out, i, e);
        if (i == e)
            return;
        int64_t start = s.each ? i / s.each * s.n : 0;
        out[i] = search_one(s, Dense<T>{(const T *)s.sequence + start},
                            s.sorter ? s.sorter + start : nullptr, x[i]);
    }
}

void search_kind(int kind, bool is_unsigned, const Search &s, const char *input, int64_t *out,
                 int64_t b, int64_t e) {
    if (kind == FL_K_F32)
        search<float>(s, FL_F32, input, out, b, e);
    else if (kind == FL_K_F64)
        search<double>(s, FL_F64, input, out, b, e);
    else if (is_unsigned)
        search<uint64_t>(s, FL_U64, input, out, b, e);
    else
        search<int64_t>(s, FL_I64, input, out, b, e);
}

/* Whether a long sequence is rather read where it is searched than copied into another dtype. */
bool are_few(const fl_tensor *sequence, int dtype, int64_t searches) {
    const int64_t READS = 64 * 16;      /* of one search, each as long as 16 elements of a copy */
    const bool dense = sequence->dtype == dtype && (sequence->flags & FL_CONTIGUOUS);
    return sequence->ndim == 1 && !dense && searches < sequence->numel / READS;
}

int infer(const fl_op *op, const fl_value *in, int n, const fl_tensor *sequence,
          const fl_value &input, const fl_value &out_int32, fl_spec *outs) {
    const fl_tensor *t = fl_t(input);
    if (fl_same_device(op, in, n) < 0 || fl_expect_order(op, "sorted_sequence", sequence) < 0 ||
        check_shapes(op, sequence, input) < 0)
        return -1;
    if (t && fl_expect_order(op, "input", t) < 0)
        return -1;
    bool mixed = t && (t->dtype == FL_U64) != (sequence->dtype == FL_U64);
    if (mixed && common_dtype(sequence, t) == FL_I64)
        return fl_error(FL_RUNTIME_ERROR, "%s: uint64 and signed integers have no common dtype, but "
                        "got %s and %s; convert one with .to()", fl_op_title(op),
                        fl_tensor_text(sequence), fl_tensor_text(t));
    if (!t && input.tag == FL_COMPLEX)
        return fl_error(FL_NOT_IMPLEMENTED, "%s: complex numbers have no order", fl_op_title(op));
    int dtype = fl_value_true(out_int32) ? FL_I32 : FL_I64;
    fl_spec_set(outs, dtype, fl_device_code(sequence), t ? t->ndim : 0,
                t ? t->shape : sequence->shape);
    return 0;
}

int run(const fl_op *op, const fl_tensor *sequence, const fl_value &input, const fl_tensor *sorter,
        bool right, fl_tensor *result) {
    const fl_tensor *t = fl_t(input);
    int kind = kind_of(sequence, input), dtype = fl_dtype_of_kind[kind];
    alignas(16) char number[16];
    const bool few = are_few(sequence, dtype, result->numel);
    const int64_t nothing = 0;
    RawIn a(sequence, dtype, sequence->ndim, few ? &nothing : sequence->shape);
    RawIn x(t ? t : sequence, dtype, t ? t->ndim : 1, t ? t->shape : &nothing);
    OptionalIn order(fl_value{(uint32_t)(sorter ? FL_TENSOR : FL_NONE), 0, {(fl_tensor *)sorter}},
                     FL_K_I64);
    Out out(result, FL_K_I64);
    if (!a.ok() || !x.ok() || !order.ok() || !out.ok())
        return -1;
    int64_t n = sequence->shape[sequence->ndim - 1];
    const int64_t *positions = order.as<int64_t>();
    if (positions && fl_check_index_range(op, FL_RANGE_ERROR, positions, sorter->numel, n,
                                       sequence->ndim - 1, false) < 0)
        return -1;
    fl_value low = {FL_INT, 0, {}};
    bool below = !t && sequence->dtype == FL_U64 && kind == FL_K_I64 && fl_as_int(input) < 0;
    if (!t)
        fl_number_as(below ? low : input, dtype, number);
    const char *from = t ? x.data() : number;
    int64_t each = sequence->ndim > 1 && t ? t->shape[t->ndim - 1] : 0;
    Search s = {a.data(), few ? sequence : nullptr, positions, n, each, right && !below};
    fl_parallel(result->numel, 2048, [&](int64_t b, int64_t e) {
        search_kind(kind, common_dtype(sequence, t) == FL_U64, s, from, out.as<int64_t>(), b, e);
    });
    out.commit();
    return 0;
}

}  // namespace

extern "C" int fl_infer_searchsorted(const fl_op *op, const fl_value *in, int n, fl_spec *outs) {
    bool right;
    if (side_of(op, in[3], in[4], &right) < 0 || check_sorter(op, in[0].t, fl_t(in[5])) < 0)
        return -1;
    return infer(op, in, n, in[0].t, in[1], in[2], outs);
}

extern "C" int fl_run_searchsorted(const fl_op *op, const fl_value *in, int,
                                   fl_tensor *const *outs) {
    bool right;
    if (side_of(op, in[3], in[4], &right) < 0)
        return -1;
    return run(op, in[0].t, in[1], fl_t(in[5]), right, outs[0]);
}

extern "C" int fl_infer_bucketize(const fl_op *op, const fl_value *in, int n, fl_spec *outs) {
    if (in[1].t->ndim != 1)
        return fl_error(FL_RUNTIME_ERROR, "%s: boundaries must be a vector (1 dimension), got shape "
                        "%s", fl_op_title(op), fl_shape_text(in[1].t->shape, in[1].t->ndim));
    return infer(op, in, n, in[1].t, in[0], in[2], outs);
}

extern "C" int fl_run_bucketize(const fl_op *op, const fl_value *in, int,
                                fl_tensor *const *outs) {
    return run(op, in[1].t, in[0], nullptr, fl_value_true(in[3]), outs[0]);
}
