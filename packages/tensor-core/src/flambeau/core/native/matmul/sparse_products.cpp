/* Products with sparse matrices, whose parts are arguments: flambeau.sparse calls them. */
#include "matmul/kernels/sparse_rows.h"
#include "common/args.h"
#include <atomic>

namespace {

const fl_sparse_rows *const kernels = FL_PICK(fl_sparse_rows);

int check_vectors(const fl_op *op, const fl_value *in, int n) {
    for (int i = 0; i < n; i++)
        if (in[i].t->ndim != 1 || in[i].t->dtype != FL_I64)
            return fl_error(FL_VALUE_ERROR, "%s: %s must be a vector of int64, got %s",
                            fl_op_title(op), op->params[i].name, fl_tensor_text(in[i].t));
    return 0;
}

int check_matrices(const fl_op *op, const fl_tensor *a, const fl_tensor *b) {
    if ((a->dtype == FL_F32 || a->dtype == FL_F64) && a->dtype == b->dtype)
        return 0;
    return fl_error(FL_TYPE_ERROR, "%s: float32 or float64 on both sides, got %s and %s",
                    fl_op_title(op), fl_dtype_name(a->dtype), fl_dtype_name(b->dtype));
}

/* Indices are checked where they are read: 0 when all are in [0, size). */
int check_indices(const fl_op *op, const int64_t *indices, int64_t count, int64_t size) {
    uint64_t last = 0;
    for (int64_t e = 0; e < count; e++)
        last = (uint64_t)indices[e] > last ? (uint64_t)indices[e] : last;
    if (count == 0 || last < (uint64_t)size)
        return 0;
    return fl_error(FL_INDEX_ERROR, "%s: index %lld is out of range for size %lld",
                    fl_op_title(op), (long long)last, (long long)size);
}

/* Whether the starts of rows never fall, and stay within the count of elements. */
int check_starts(const fl_op *op, const int64_t *starts, int64_t rows, int64_t count) {
    bool rises = starts[0] == 0 && starts[rows] == count;
    for (int64_t i = 0; i < rows; i++)
        rises &= starts[i] <= starts[i + 1];
    if (rises)
        return 0;
    return fl_error(FL_VALUE_ERROR, "%s: row_starts must rise from 0 to the %lld elements",
                    fl_op_title(op), (long long)count);
}

/* False where a column is out of range: rows are looked at once, while they are in the cache. */
template <class T, class Product>
bool add_rows(const int64_t *starts, const int64_t *columns, const T *values, const T *dense,
              int64_t rows, int64_t height, int64_t width, T *out, Product product) {
    int64_t work = (starts[rows] + rows) * width + 1;
    int64_t grain = rows * FL_GRAIN / work + 1;
    std::atomic<bool> inside{true};
    fl_parallel(rows, grain, [&](int64_t begin, int64_t end) {
        bool all = true;
        for (int64_t i = begin; i < end; i++)
            all &= product(values + starts[i], columns + starts[i], starts[i + 1] - starts[i],
                           dense, height, width, out + i * width);
        if (!all)
            inside.store(false, std::memory_order_relaxed);
    });
    return inside.load(std::memory_order_relaxed);
}

/* The same of a vector. */
template <class T, class Rows>
bool add_numbers(const int64_t *starts, const int64_t *columns, const T *values, const T *vector,
                 int64_t rows, int64_t height, T *out, Rows product) {
    int64_t grain = rows * FL_GRAIN / (starts[rows] + rows + 1) + 1;
    std::atomic<bool> inside{true};
    fl_parallel(rows, grain, [&](int64_t begin, int64_t end) {
        if (!product(starts, columns, values, vector, begin, end, height, out))
            inside.store(false, std::memory_order_relaxed);
    });
    return inside.load(std::memory_order_relaxed);
}

template <class T, class Dot>
void take_dots(const int64_t *rows, const int64_t *columns, int64_t count, const T *a,
                      const T *b, int64_t width, T *out, Dot dot) {
    fl_parallel(count, FL_GRAIN / (width + 1) + 1, [&](int64_t begin, int64_t end) {
        for (int64_t e = begin; e < end; e++)
            out[e] = dot(a + rows[e] * width, b + columns[e] * width, width);
    });
}

}  // namespace

extern "C" {
int fl_infer_csr_product(const fl_op *op, const fl_value *in, int n, fl_spec *outs) {
    const fl_tensor *starts = in[0].t, *values = in[2].t, *dense = in[3].t;
    if (fl_same_device(op, in, n) < 0 || check_vectors(op, in, 2) < 0 ||
        check_matrices(op, values, dense) < 0)
        return -1;
    if (values->ndim != 1 || values->numel != in[1].t->numel || dense->ndim != 2 ||
        starts->numel < 1)
        return fl_error(FL_VALUE_ERROR, "%s: as many values as columns, a matrix, and one start "
                        "more than rows are wanted", fl_op_title(op));
    int64_t shape[2] = {starts->numel - 1, dense->shape[1]};
    fl_spec_set(outs, dense->dtype, fl_device_code(dense), 2, shape);
    return 0;
}

int fl_run_csr_product(const fl_op *op, const fl_value *in, int, fl_tensor *const *outs) {
    int kind = fl_kind_of_dtype[outs[0]->dtype];
    In starts(in[0].t, FL_K_I64), columns(in[1].t, FL_K_I64), values(in[2].t, kind),
        dense(in[3].t, kind);
    Out out(outs[0], kind);
    int64_t rows = outs[0]->shape[0], width = outs[0]->shape[1];
    if (!starts.ok() || !columns.ok() || !values.ok() || !dense.ok() || !out.ok())
        return -1;
    const int64_t *s = starts.as<int64_t>(), *c = columns.as<int64_t>();
    int64_t height = in[3].t->shape[0];
    if (check_starts(op, s, rows, in[1].t->numel) < 0)
        return -1;
    bool inside = true;
    if (outs[0]->numel && width == 1 && kind == FL_K_F32)
        inside = add_numbers(s, c, values.as<float>(), dense.as<float>(), rows, height,
                             out.as<float>(), kernels->vector_f32);
    else if (outs[0]->numel && width == 1)
        inside = add_numbers(s, c, values.as<double>(), dense.as<double>(), rows, height,
                             out.as<double>(), kernels->vector_f64);
    else if (outs[0]->numel && kind == FL_K_F32)
        inside = add_rows(s, c, values.as<float>(), dense.as<float>(), rows, height, width,
                          out.as<float>(), kernels->product_f32);
    else if (outs[0]->numel)
        inside = add_rows(s, c, values.as<double>(), dense.as<double>(), rows, height, width,
                          out.as<double>(), kernels->product_f64);
    if (!inside || !outs[0]->numel)
        if (check_indices(op, c, in[1].t->numel, height) < 0)
            return -1;
    out.commit();
    return 0;
}

int fl_infer_sampled_product(const fl_op *op, const fl_value *in, int n, fl_spec *outs) {
    const fl_tensor *rows = in[0].t, *columns = in[1].t, *a = in[2].t, *b = in[3].t;
    if (fl_same_device(op, in, n) < 0 || check_vectors(op, in, 2) < 0 ||
        check_matrices(op, a, b) < 0)
        return -1;
    if (rows->numel != columns->numel || a->ndim != 2 || b->ndim != 2 ||
        a->shape[1] != b->shape[1])
        return fl_error(FL_VALUE_ERROR, "%s: as many rows as columns, and two matrices with rows "
                        "of one length are wanted", fl_op_title(op));
    fl_spec_set(outs, a->dtype, fl_device_code(a), 1, rows->shape);
    return 0;
}

int fl_run_sampled_product(const fl_op *op, const fl_value *in, int, fl_tensor *const *outs) {
    int kind = fl_kind_of_dtype[outs[0]->dtype];
    In rows(in[0].t, FL_K_I64), columns(in[1].t, FL_K_I64), a(in[2].t, kind), b(in[3].t, kind);
    Out out(outs[0], kind);
    int64_t count = outs[0]->numel, width = in[2].t->shape[1];
    if (!rows.ok() || !columns.ok() || !a.ok() || !b.ok() || !out.ok())
        return -1;
    const int64_t *r = rows.as<int64_t>(), *c = columns.as<int64_t>();
    if (check_indices(op, r, count, in[2].t->shape[0]) < 0 ||
        check_indices(op, c, count, in[3].t->shape[0]) < 0)
        return -1;
    if (kind == FL_K_F32)
        take_dots(r, c, count, a.as<float>(), b.as<float>(), width, out.as<float>(),
                  kernels->dot_f32);
    else
        take_dots(r, c, count, a.as<double>(), b.as<double>(), width, out.as<double>(),
                  kernels->dot_f64);
    out.commit();
    return 0;
}

}  // extern "C"
