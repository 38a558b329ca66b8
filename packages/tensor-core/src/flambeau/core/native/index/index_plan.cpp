/* Shapes, offsets and walks of advanced indexing. */
#include "common/args.h"
#include "index/index.h"
#include "common/range_error.h"
#include "common/raw.h"

namespace {

bool index_dtype(int d) { return d == FL_I64 || d == FL_I32 || d == FL_I16 || d == FL_I8; }

int check_list(const fl_op *op, const fl_tensor *self, const fl_value &indices) {
    int64_t used = 0;
    if ((int64_t)indices.len > self->ndim)
        return fl_error(FL_INDEX_ERROR, "%s: too many indices for tensor of dimension %d (got %u)",
                        fl_op_title(op), self->ndim, indices.len);
    for (uint32_t i = 0; i < indices.len; i++) {
        const fl_tensor *t = indices.ts[i];
        if (!t)
            continue;
        used++;
        if (!index_dtype(t->dtype))
            return fl_error(FL_INDEX_ERROR, "%s: tensors used as indices must hold integers or "
                            "bools; the one for dimension %u is %s%s", fl_op_title(op), i,
                            fl_tensor_text(t), t->dtype == FL_BOOL || t->dtype == FL_U8
                            ? "; pass mask.nonzero() columns here, or write self[mask]" : "");
    }
    if (used == 0)
        return fl_error(FL_RUNTIME_ERROR, "%s: at least one index tensor is needed",
                        fl_op_title(op));
    return 0;
}

int broadcast_points(const fl_op *op, const fl_value &indices, fl_index_shape *s) {
    s->n_points = 0;
    for (uint32_t i = 0; i < indices.len; i++) {
        const fl_tensor *t = indices.ts[i];
        if (!t)
            continue;
        int64_t merged[FL_MAX_DIMS];
        int nd;
        if (fl_broadcast_shape(op->name, s->n_points, s->points, t->ndim, t->shape, &nd,
                               merged) < 0)
            return fl_error(FL_INDEX_ERROR, "shape mismatch: indexing tensors could not be "
                            "broadcast together: %s", fl_error_text());
        s->n_points = nd;
        memcpy(s->points, merged, sizeof(int64_t) * (size_t)nd);
    }
    return 0;
}

bool neighbours(const fl_value &indices) {
    int groups = 0;
    for (uint32_t i = 0; i < indices.len; i++)
        groups += indices.ts[i] && (i == 0 || !indices.ts[i - 1]);
    return groups == 1;
}

}  // namespace

int fl_index_infer(const fl_op *op, const fl_tensor *self, const fl_value &indices,
                   fl_index_shape *s) {
    if (check_list(op, self, indices) < 0 || broadcast_points(op, indices, s) < 0)
        return -1;
    bool together = neighbours(indices), passed = false;
    s->n_before = s->n_after = s->ndim = 0;
    for (int d = 0; d < self->ndim; d++) {
        bool pointed = d < (int)indices.len && indices.ts[d];
        passed |= pointed;
        if (!pointed && together && !passed)
            s->before[s->n_before++] = d;
        else if (!pointed)
            s->after[s->n_after++] = d;
    }
    if (s->n_before + s->n_points + s->n_after > FL_MAX_DIMS)
        return fl_error(FL_INDEX_ERROR, "%s: the result would have more than %d dimensions",
                        fl_op_title(op), FL_MAX_DIMS);
    for (int i = 0; i < s->n_before; i++)
        s->shape[s->ndim++] = self->shape[s->before[i]];
    for (int i = 0; i < s->n_points; i++)
        s->shape[s->ndim++] = s->points[i];
    for (int i = 0; i < s->n_after; i++)
        s->shape[s->ndim++] = self->shape[s->after[i]];
    return 0;
}

bool fl_index_keep_order(const fl_tensor *self, fl_index_shape *s, int64_t *strides) {
    int order[FL_MAX_DIMS], after[FL_MAX_DIMS];
    int64_t shape[FL_MAX_DIMS], own[FL_MAX_DIMS];
    const int64_t *const operands[] = {own};
    for (int i = 0; i < s->n_after; i++) {
        after[i] = s->after[i];
        shape[i] = self->shape[after[i]];
        own[i] = self->strides[after[i]];
    }
    if (s->n_before > 0 || !fl_memory_order(s->n_after, shape, 1, operands, order))
        return false;
    const int points = s->ndim - s->n_after;
    fl_ordered_strides(s->n_after, shape, order, strides + points);
    int64_t step = 1;
    for (int i = 0; i < s->n_after; i++) {
        step = fl_wrapping_mul(step, shape[i] > 1 ? shape[i] : 1);
        s->after[i] = after[order[s->n_after - 1 - i]];
    }
    for (int d = points - 1; d >= 0; d--) {
        strides[d] = step;
        step = fl_wrapping_mul(step, s->shape[d] > 1 ? s->shape[d] : 1);
    }
    return true;
}

int fl_index_offsets(const fl_op *op, const fl_tensor *self, const int64_t *strides,
                     const fl_value &indices, const fl_index_shape &s, int64_t *offsets) {
    int64_t n = fl_numel_of(s.n_points, s.points);
    bool first = true;
    for (uint32_t d = 0; d < indices.len; d++) {
        const fl_tensor *t = indices.ts[d];
        if (!t)
            continue;
        RawIn positions(t, FL_I64, s.n_points, s.points);
        if (!positions.ok())
            return -1;
        const int64_t *position = (const int64_t *)positions.data();
        int64_t size = self->shape[d], stride = strides[d];
        if (fl_check_index_range(op, FL_RANGE_ERROR, position, n, size, (int)d, true) < 0)
            return -1;
        for (int64_t i = 0; i < n; i++) {
            int64_t at = (position[i] + (position[i] < 0 ? size : 0)) * stride;
            offsets[i] = first ? at : offsets[i] + at;
        }
        first = false;
    }
    return 0;
}

fl_index_walk fl_index_walk_of(const fl_tensor *self, const int64_t *strides,
                               const fl_index_shape &s, const int64_t *offsets) {
    fl_index_walk w;
    w.offsets = offsets;
    w.n_points = fl_numel_of(s.n_points, s.points);
    w.n_before = w.block = 1;
    w.nb = s.n_before;
    for (int i = 0; i < s.n_before; i++) {
        w.before_shape[i] = self->shape[s.before[i]];
        w.before_strides[i] = strides[s.before[i]];
        w.n_before *= w.before_shape[i];
    }
    w.na = 0;
    for (int i = 0; i < s.n_after; i++) {
        int64_t n = self->shape[s.after[i]], step = strides[s.after[i]];
        w.block *= n;
        if (n == 1)
            continue;
        if (w.na && w.after_strides[w.na - 1] == n * step) {
            w.after_shape[w.na - 1] *= n;
            w.after_strides[w.na - 1] = step;
        } else {
            w.after_shape[w.na] = n;
            w.after_strides[w.na++] = step;
        }
    }
    return w;
}

int64_t fl_index_before(const fl_index_walk &w, int64_t number) {
    int64_t offset = 0;
    for (int d = w.nb - 1; d >= 0; d--) {
        offset += number % w.before_shape[d] * w.before_strides[d];
        number /= w.before_shape[d];
    }
    return offset;
}

int64_t fl_index_after(const fl_index_walk &w, int64_t number) {
    int64_t offset = 0;
    for (int d = w.na - 1; d >= 0; d--) {
        offset += number % w.after_shape[d] * w.after_strides[d];
        number /= w.after_shape[d];
    }
    return offset;
}
