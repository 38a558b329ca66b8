/* index and index_put: reading and writing through advanced indices. */
#include "common/kernels/accumulate.h"
#include "common/args.h"
#include "index/index.h"
#include "index/kernels/indices.h"
#include "index/named_slices.h"
#include "common/range_error.h"
#include "common/raw.h"
#include "index/rows.h"

#include <algorithm>

namespace {

const fl_accumulate_kernels *const kernels = FL_PICK(fl_accumulate_kernels);

/* Read the points begin .. end of one `before` into dense blocks. */
template <class T>
void read_points(const fl_index_walk &w, const char *base, char *dense, int64_t begin,
                 int64_t end) {
    const T *x = (const T *)base;
    T *out = (T *)dense + begin * w.block;
    if (w.block == 1) {
        for (int64_t i = begin; i < end; i++)
            *out++ = x[w.offsets[i]];
        return;
    }
    const int64_t PREFETCH_ELEMENTS = 4;
    const bool whole = fl_index_dense(w);
    const int64_t line = w.na ? w.after_shape[w.na - 1] : 1;
    const int64_t step = w.na ? w.after_strides[w.na - 1] : 1;
    for (int64_t i = begin; i < end; i++) {
        if (whole) {
            int64_t ahead = i + PREFETCH_ELEMENTS < end ? i + PREFETCH_ELEMENTS : i;
            const char *next = (const char *)(x + w.offsets[ahead]);
            for (int64_t b = 0; b < w.block * (int64_t)sizeof(T) && b < 512; b += 64)
                __builtin_prefetch(next + b);
            memcpy(out, x + w.offsets[i], (size_t)w.block * sizeof(T));
            out += w.block;
            continue;
        }
        for (int64_t k = 0; k < w.block; k += line) {
            const T *from = x + w.offsets[i] + fl_index_after(w, k);
            for (int64_t c = 0; c < line; c++)
                *out++ = from[c * step];
        }
    }
}

/* What is written: a value for every element, or one for all. */
struct Written {
    const char *dense;
    bool same;
};

/* Of blocks that lie side by side only the columns first .. end. */
template <class T>
void write_points(const fl_index_walk &w, char *base, const Written &values, int64_t first,
                  int64_t end) {
    T *out = (T *)base;
    const T *x = (const T *)values.dense;
    const int64_t each = values.same ? 0 : 1;
    if (w.block == 1) {
        for (int64_t i = 0; i < w.n_points; i++)
            out[w.offsets[i]] = x[i * each];
        return;
    }
    if (fl_index_dense(w)) {
        for (int64_t i = 0; i < w.n_points; i++) {
            T *to = out + w.offsets[i] + first;
            if (values.same)
                std::fill_n(to, end - first, *x);
            else
                memcpy(to, x + i * w.block + first, (size_t)(end - first) * sizeof(T));
        }
        return;
    }
    const int64_t line = w.after_shape[w.na - 1], step = w.after_strides[w.na - 1];
    for (int64_t i = 0; i < w.n_points; i++)
        for (int64_t k = 0; k < w.block; k += line) {
            T *to = out + w.offsets[i] + fl_index_after(w, k);
            for (int64_t c = 0; c < line; c++, x += each)
                to[c * step] = *x;
        }
}

/* Threads share the columns of blocks, so that the last of equal points wins. */
void write_all(const fl_index_walk &w, int64_t size, char *base, const Written &values) {
    const int64_t MOST_PARTS = 4;
    if (w.block == 1 || !fl_index_dense(w)) {
        FL_BY_SIZE(size, write_points, w, base, values, 0, w.block)
        return;
    }
    const int64_t part = fl_chunk_count(w.block, MOST_PARTS), least = fl_row_grain(w.n_points);
    fl_parallel(w.block, part > least ? part : least, [&](int64_t first, int64_t end) {
        FL_BY_SIZE(size, write_points, w, base, values, first, end)
    });
}

/* Add to the points whose offset lies in [low, high), in order. The memory is contiguous, so that
 * only the innermost merged dimension is walked here. */
void add_points(const fl_index_walk &w, int kind, char *base, const char *dense, int64_t low,
                int64_t high) {
    const int64_t line = w.after_shape[w.na - 1], size = fl_kind_size[kind];
    const int64_t step = w.after_strides[w.na - 1] == 1 ? line : 1;
    for (int64_t i = 0; i < w.n_points; i++) {
        if (w.offsets[i] < low || w.offsets[i] >= high)
            continue;
        for (int64_t k = 0; k < w.block; k += step)
            kernels->run[kind](base + (w.offsets[i] + fl_index_after(w, k)) * size,
                               dense + (i * w.block + k) * size, step, 1);
    }
}

int put(const fl_op *op, const fl_value *in, fl_tensor *out, const fl_index_shape &shape,
        int64_t *offsets) {
    if (fl_index_offsets(op, in[0].t, out->strides, in[1], shape, offsets) < 0)
        return -1;
    const fl_tensor *from = in[2].t;
    const bool same = from->numel == 1;
    RawIn values(from, out->dtype, same ? from->ndim : shape.ndim,
                 same ? from->shape : shape.shape);
    if (!values.ok())
        return -1;
    fl_start_from(out, in[0].t);
    fl_index_walk w = fl_index_walk_of(out, out->strides, shape, offsets);
    int64_t size = fl_itemsize(out->dtype), each = same ? 0 : w.n_points * w.block * size;
    for (int64_t b = 0; b < w.n_before; b++)
        write_all(w, size, out->data + fl_index_before(w, b) * size,
                  {values.data() + b * each, same});
    return 0;
}

/* Parts of the offsets' range: no two of them meet, and within one the order is the index's, so
 * that their number changes no result. Each looks at all offsets: no more than there are threads.
 * */
int64_t parts_of(const fl_index_walk &w) {
    const int64_t MAX_PARTS = 4;
    int64_t threads = fl_get_num_threads();
    return w.n_points * w.block < FL_GRAIN ? 1 : threads < MAX_PARTS ? threads : MAX_PARTS;
}

void accumulate(const fl_index_walk &w, int kind, char *to, const char *from, int64_t span) {
    int64_t size = fl_kind_size[kind];
    if (fl_index_dense(w)) {
        for (int64_t b = 0; b < w.n_before; b++)
            fl_add_blocks({w.offsets, w.n_points, w.block, 1, span, -1, kind, 1},
                          to + fl_index_before(w, b) * size,
                          from + b * w.n_points * w.block * size, 1);
        return;
    }
    int64_t parts = parts_of(w);
    fl_parallel(w.n_before * parts, parts == 1 ? w.n_before : 1, [&](int64_t b, int64_t e) {
        for (int64_t t = b; t < e; t++) {
            int64_t row = t / parts, part = t % parts;
            char *base = to + fl_index_before(w, row) * size;
            const char *dense = from + row * w.n_points * w.block * size;
            add_points(w, kind, base, dense, span * part / parts, span * (part + 1) / parts);
        }
    });
}

/* The same on the slices that the indices name, where they are few and the memory is not as sums
 * are made in. The points are one dimension there, and one index tensor says which they are. */
int add_to_slices(const fl_op *op, const fl_value *in, fl_tensor *out, const fl_index_shape &shape,
                  int64_t *offsets) {
    fl_slice_positions positions;
    if (fl_index_offsets(op, in[0].t, out->strides, in[1], shape, offsets) < 0)
        return -1;
    fl_start_from(out, in[0].t);
    positions.offsets = offsets;
    positions.n = fl_numel_of(shape.n_points, shape.points);
    positions.ndim = 0;
    positions.before = shape.n_before;
    for (int i = 0; i < shape.n_before + shape.n_after; i++) {
        int d = i < shape.n_before ? shape.before[i] : shape.after[i - shape.n_before];
        positions.shape[positions.ndim] = out->shape[d];
        positions.strides[positions.ndim++] = out->strides[d];
    }
    NamedSlices slices(out, positions);
    if (!slices.ok())
        return -1;
    fl_tensor *target = slices.tensor(), *indices[FL_MAX_DIMS + 1] = {};
    const fl_tensor *like = nullptr;
    for (uint32_t i = 0; i < in[1].len && !like; i++)
        like = in[1].ts[i];
    indices[shape.n_before] = slices.index(like, shape.n_points, shape.points);
    fl_value args[4] = {in[0], in[1], in[2], in[3]};
    args[0].t = target;
    args[1].ts = indices;
    args[1].len = (uint32_t)shape.n_before + 1;
    if (op->run_cpu(op, args, 4, &target) < 0)
        return -1;
    slices.put_back();
    return 0;
}

int put_added(const fl_op *op, const fl_value *in, fl_tensor *out, const fl_index_shape &shape,
              int64_t *offsets) {
    int kind = fl_kind_of_dtype[out->dtype];
    if (fl_names_small_share(out, fl_numel_of(shape.ndim, shape.shape), fl_dtype_of_kind[kind]))
        return add_to_slices(op, in, out, shape, offsets);
    int64_t strides[FL_MAX_DIMS];
    fl_contiguous_strides(out->ndim, out->shape, strides);
    if (fl_index_offsets(op, in[0].t, strides, in[1], shape, offsets) < 0)
        return -1;
    RawIn values(in[2].t, fl_dtype_of_kind[kind], shape.ndim, shape.shape);
    if (!values.ok())
        return -1;
    fl_start_from(out, in[0].t);
    Out target(out, kind, true);
    if (!target.ok())
        return -1;
    fl_index_walk w = fl_index_walk_of(out, strides, shape, offsets);
    accumulate(w, kind, target.as<char>(), values.data(), out->numel);
    target.commit();
    return 0;
}

}  // namespace

extern "C" int fl_infer_index(const fl_op *op, const fl_value *in, int n, fl_spec *outs) {
    const fl_tensor *self = in[0].t;
    fl_index_shape shape;
    if (fl_same_device(op, in, n) < 0 || fl_index_infer(op, self, in[1], &shape) < 0)
        return -1;
    fl_spec_set(outs, self->dtype, fl_device_code(self), shape.ndim, shape.shape);
    if (fl_index_keep_order(self, &shape, outs->strides))
        outs->layout = FL_L_STRIDED;
    return 0;
}

/* The elements at all points, one after the other. */
static int read_all(const fl_op *op, const fl_value *in, const fl_index_shape &shape, char *to) {
    const fl_tensor *self = in[0].t;
    Scratch offsets(fl_bytes(fl_numel_of(shape.n_points, shape.points), 8));
    if (!offsets.ok() ||
        fl_index_offsets(op, self, self->strides, in[1], shape, offsets.as<int64_t>()) < 0)
        return -1;
    if (fl_numel_of(shape.ndim, shape.shape) == 0)
        return 0;
    fl_index_walk w = fl_index_walk_of(self, self->strides, shape, offsets.as<int64_t>());
    int64_t size = fl_itemsize(self->dtype);
    for (int64_t b = 0; b < w.n_before; b++) {
        const char *base = self->data + fl_index_before(w, b) * size;
        char *dense = to + b * w.n_points * w.block * size;
        fl_parallel(w.n_points, fl_row_grain(w.block), [&](int64_t begin, int64_t end) {
            FL_BY_SIZE(size, read_points, w, base, dense, begin, end)
        });
    }
    return 0;
}

/* Rows of contiguous memory, named by one index. */
static int read_rows(const fl_op *op, const fl_tensor *self, const fl_tensor *index,
                     fl_tensor *out) {
    In positions(index, FL_K_I64);
    if (!positions.ok())
        return -1;
    const int64_t rows = self->shape[0], n = index->numel, *at = positions.as<int64_t>();
    const bool is_plain = FL_PICK(fl_index_kernels)->within(at, n, 0, rows);
    Scratch wrapped(is_plain ? 0 : fl_bytes(n, 8));
    if (!wrapped.ok() || (!is_plain && fl_check_index_range(op, FL_RANGE_ERROR, at, n, rows, 0,
                                                            true) < 0))
        return -1;
    if (out->numel == 0)
        return 0;
    for (int64_t i = 0; i < n && !is_plain; i++)
        wrapped.as<int64_t>()[i] = at[i] + (at[i] < 0 ? rows : 0);
    fl_pick_blocks(out->data, self->data, is_plain ? at : wrapped.as<int64_t>(), n, 1, rows,
                   self->numel / rows * fl_itemsize(self->dtype));
    return 0;
}

extern "C" int fl_run_index(const fl_op *op, const fl_value *in, int, fl_tensor *const *outs) {
    const fl_tensor *only = fl_only_index(in[1]);
    if (only && fl_is_contiguous(in[0].t) && fl_is_contiguous(outs[0]))
        return read_rows(op, in[0].t, only, outs[0]);
    fl_index_shape shape;
    if (fl_index_infer(op, in[0].t, in[1], &shape) < 0)
        return -1;
    fl_index_shape kept = shape;
    int64_t strides[FL_MAX_DIMS];
    if (fl_index_keep_order(in[0].t, &kept, strides) &&
        !memcmp(strides, outs[0]->strides, sizeof(int64_t) * (size_t)shape.ndim))
        return read_all(op, in, kept, outs[0]->data);
    RawOut out(outs[0], in[0].t->dtype);
    if (!out.ok() || read_all(op, in, shape, out.data()) < 0)
        return -1;
    out.commit();
    return 0;
}

extern "C" int fl_infer_index_put(const fl_op *op, const fl_value *in, int n, fl_spec *outs) {
    const fl_tensor *self = in[0].t, *values = in[2].t;
    fl_index_shape shape;
    int64_t merged[FL_MAX_DIMS];
    int nd;
    if (fl_same_device(op, in, n) < 0 || fl_index_infer(op, self, in[1], &shape) < 0 ||
        fl_expect_same_dtype(op, self, "values", values) < 0)
        return -1;
    bool fits = fl_broadcast_shape(op->name, shape.ndim, shape.shape, values->ndim, values->shape,
                                   &nd, merged) == 0 &&
                nd == shape.ndim && !memcmp(merged, shape.shape, sizeof(int64_t) * (size_t)nd);
    if (!fits)
        return fl_error(FL_RUNTIME_ERROR, "%s: shape mismatch: value tensor of shape %s cannot be "
                        "broadcast to indexing result of shape %s", fl_op_title(op),
                        fl_shape_text(values->shape, values->ndim),
                        fl_shape_text(shape.shape, shape.ndim));
    fl_spec_like(outs, self);
    return 0;
}

extern "C" int fl_run_index_put(const fl_op *op, const fl_value *in, int, fl_tensor *const *outs) {
    fl_index_shape shape;
    if (fl_index_infer(op, in[0].t, in[1], &shape) < 0)
        return -1;
    Scratch offsets(fl_bytes(fl_numel_of(shape.n_points, shape.points), 8));
    if (!offsets.ok())
        return -1;
    if (fl_value_true(in[3]))
        return put_added(op, in, outs[0], shape, offsets.as<int64_t>());
    return put(op, in, outs[0], shape, offsets.as<int64_t>());
}
