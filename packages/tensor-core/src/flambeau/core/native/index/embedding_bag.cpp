/* embedding_bag: rows of a table reduced by bags, without storing the rows. */
#include "common/kernels/accumulate.h"
#include "common/args.h"
#include "common/range_error.h"
#include "common/raw.h"
#include <math.h>

namespace {

const fl_accumulate_kernels *const accumulate = FL_PICK(fl_accumulate_kernels);
enum { SUM = 0, MEAN = 1, MAX = 2 };

struct Bags {
    const int64_t *indices, *offsets;
    int64_t count, total, width, padding;
    int64_t end(int64_t bag, bool last_given) const {
        return bag + 1 < count || last_given ? offsets[bag + 1] : total;
    }
};

/* A last offset before the end leaves indices out only where PyTorch reads it: in its quick path.
   Elsewhere, the last bag reaches the end. */
bool last_is_read(const fl_value *in) {
    return in[0].t->dtype != FL_F64 && in[4].i != MAX && in[6].i < 0;
}

int64_t bag_count(const fl_value *in) { return in[2].t->shape[0] - (fl_value_true(in[5]) ? 1 : 0); }

int check_offsets(const fl_op *op, const int64_t *offsets, int64_t n, int64_t total) {
    for (int64_t i = 0; i < n; i++) {
        int64_t least = i ? offsets[i - 1] : 0;
        if (offsets[i] < least || offsets[i] > total || (i == 0 && offsets[0] != 0))
            return fl_error(FL_RUNTIME_ERROR, "%s: offsets must start with 0 and not fall, up to "
                            "the number of indices, %lld; offsets[%lld] is %lld", fl_op_title(op),
                            (long long)total, (long long)i, (long long)offsets[i]);
    }
    return 0;
}

/* Sum or mean of the rows of one bag. */
template <class T>
int64_t add_rows(const Bags &b, const T *table, const double *factors, int64_t first, int64_t last,
                 T *out, int kind) {
    int64_t kept = 0;
    if (!factors)
        return accumulate->rows[kind](table, b.width, b.indices + first, last - first, b.padding,
                                      out);
    for (int64_t i = first; i < last; i++) {
        if (b.indices[i] == b.padding)
            continue;
        kept++;
        accumulate->run[kind](out, table + b.indices[i] * b.width, b.width, factors[i]);
    }
    return kept;
}

template <class T>
int64_t greatest(const Bags &b, const T *table, int64_t first, int64_t last, T *out,
                 int64_t *chosen) {
    int64_t kept = 0;
    for (int64_t i = first; i < last; i++) {
        if (b.indices[i] == b.padding)
            continue;
        const T *row = table + b.indices[i] * b.width;
        for (int64_t d = 0; d < b.width; d++)
            if (kept == 0 || row[d] > out[d] || (isnan(row[d]) && !isnan(out[d]))) {
                out[d] = row[d];
                chosen[d] = b.indices[i];
            }
        kept++;
    }
    return kept;
}

struct Results {
    char *out;
    int64_t *bags, *counts, *chosen;
};

template <class T>
void reduce_bags(const Bags &b, const void *weight, const double *factors, int64_t mode,
               bool last_given, int kind, const Results &r) {
    const T *table = (const T *)weight;
    int64_t grain = fl_row_grain(b.width * (b.count ? b.total / b.count + 1 : 1));
    fl_parallel(b.count, grain, [&](int64_t begin, int64_t stop) {
        for (int64_t bag = begin; bag < stop; bag++) {
            int64_t first = b.offsets[bag], last = b.end(bag, last_given);
            T *out = (T *)r.out + bag * b.width;
            for (int64_t d = 0; d < b.width; d++)
                out[d] = 0;
            int64_t kept = mode == MAX
                ? greatest(b, table, first, last, out, r.chosen + bag * b.width)
                : add_rows(b, table, factors, first, last, out, kind);
            if (mode == MEAN && kept > 1)
                for (int64_t d = 0; d < b.width; d++)
                    out[d] /= (T)kept;
            r.counts[bag] = kept;
            for (int64_t i = first; i < last; i++)
                r.bags[i] = bag;
        }
    });
}

int expect_vector(const fl_op *op, const char *name, const fl_tensor *t) {
    if (t->ndim == 1)
        return 0;
    return fl_error(FL_RUNTIME_ERROR, "%s: '%s' must have one dimension, got shape %s",
                    fl_op_title(op), name, fl_shape_text(t->shape, t->ndim));
}

}  // namespace

extern "C" int fl_infer_embedding_bag_rows(const fl_op *op, const fl_value *in, int n,
                                           fl_spec *outs) {
    const fl_tensor *weight = in[0].t, *indices = in[1].t, *offsets = in[2].t;
    if (fl_same_device(op, in, n) < 0 || fl_expect_index(op, "indices", indices) < 0 ||
        fl_expect_index(op, "offsets", offsets) < 0 ||
        expect_vector(op, "indices", indices) < 0 || expect_vector(op, "offsets", offsets) < 0 ||
        fl_expect_dtype(op, "weight", weight, fl_floating, "floating point") < 0)
        return -1;
    if (weight->ndim != 2)
        return fl_error(FL_RUNTIME_ERROR, "%s: 'weight' must be 2-D (one row per entry), got shape "
                        "%s", fl_op_title(op), fl_shape_text(weight->shape, weight->ndim));
    if (fl_t(in[3]) && fl_expect_shape(op, "per_sample_weights", in[3].t, 1, indices->shape) < 0)
        return -1;
    if (bag_count(in) < 0)
        return fl_error(FL_RUNTIME_ERROR, "%s: include_last_offset: number of offsets should be at "
                        "least 1", fl_op_title(op));
    if (in[4].i < SUM || in[4].i > MAX)
        return fl_error(FL_VALUE_ERROR, "%s: mode is 0, 1 or 2, got %lld", fl_op_title(op),
                        (long long)in[4].i);
    int64_t shape[2] = {bag_count(in), weight->shape[1]}, count, none = 0;
    if (!fl_count_elements(2, shape, &count))
        return fl_count_error(op->name, 2, shape);
    int device = fl_device_code(weight);
    fl_spec_set(&outs[0], weight->dtype, device, 2, shape);
    fl_spec_set(&outs[1], FL_I64, device, 1, indices->shape);
    fl_spec_set(&outs[2], FL_I64, device, 1, shape);
    if (in[4].i == MAX)
        fl_spec_set(&outs[3], FL_I64, device, 2, shape);
    else
        fl_spec_set(&outs[3], FL_I64, device, 1, &none);
    return 0;
}

extern "C" int fl_run_embedding_bag_rows(const fl_op *op, const fl_value *in, int,
                                         fl_tensor *const *outs) {
    const fl_tensor *weight = in[0].t, *indices = in[1].t, *offsets = in[2].t;
    int kind = fl_kind_of_dtype[weight->dtype];
    bool last_given = fl_value_true(in[5]) && last_is_read(in);
    In positions(indices, FL_K_I64), starts(offsets, FL_K_I64), table(weight, kind);
    OptionalIn factors(in[3], FL_K_F64);
    Out out(outs[0], kind), bags(outs[1], FL_K_I64), counts(outs[2], FL_K_I64);
    Out chosen(outs[3], FL_K_I64);
    if (!positions.ok() || !starts.ok() || !table.ok() || !factors.ok() || !out.ok() ||
        !bags.ok() ||
        !counts.ok() || !chosen.ok())
        return -1;
    Bags b = {positions.as<int64_t>(), starts.as<int64_t>(), bag_count(in), indices->numel,
              weight->shape[1], in[6].i};
    if (check_offsets(op, b.offsets, offsets->shape[0], b.total) < 0 ||
        fl_check_index_range(op, FL_RANGE_ERROR, b.indices, b.total, weight->shape[0], 0,
                             false) < 0)
        return -1;
    Results r = {out.as<char>(), bags.as<int64_t>(), counts.as<int64_t>(), chosen.as<int64_t>()};
    for (int64_t i = 0; i < outs[3]->numel; i++)
        r.chosen[i] = -1;
    int64_t after = b.count ? b.end(b.count - 1, last_given) : 0;
    for (int64_t i = after; i < b.total; i++)   /* what comes after the last bag is in none */
        r.bags[i] = -1;
    if (kind == FL_K_F64)
        reduce_bags<double>(b, table.as<char>(), factors.as<double>(), in[4].i, last_given, kind,
                            r);
    else
        reduce_bags<float>(b, table.as<char>(), factors.as<double>(), in[4].i, last_given, kind, r);
    out.commit();
    bags.commit();
    counts.commit();
    chosen.commit();
    return 0;
}
