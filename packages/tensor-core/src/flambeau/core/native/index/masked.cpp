/* masked_select and nonzero, whose results are as long as the mask has true elements, and
 * masked_scatter, which reads as many. */
#include "index/kernels/indices.h"
#include "common/args.h"
#include "common/dynamic.h"
#include "common/raw.h"
#include <algorithm>

namespace {

const int64_t PIECE_ELEMENTS = FL_GRAIN;

int64_t count_ones(const uint8_t *m, int64_t n) {
    return FL_PICK(fl_index_kernels)->count(m, n);
}

int expect_mask(const fl_op *op, const fl_tensor *mask) {
    if (mask->dtype == FL_BOOL)
        return 0;
    return fl_error(FL_RUNTIME_ERROR, "%s: expected BoolTensor for mask, got %s; compare first, "
                    "e.g. mask != 0", fl_op_title(op), fl_tensor_text(mask));
}

int unknown_size(const fl_op *op) {
    return fl_error(FL_RUNTIME_ERROR, "%s: the shape of the result depends on values, which are "
                    "not known here (meta tensors and recorded programs have none); use "
                    "where(mask, x, y), whose shape is known", fl_op_title(op));
}

int broadcast(const fl_op *op, const fl_tensor *self, const fl_tensor *mask, int *nd,
              int64_t *shape) {
    return fl_broadcast_shape(op->name, self->ndim, self->shape, mask->ndim, mask->shape, nd,
                              shape);
}

/* Where each chunk of the mask starts to write: positions[chunk], and their number. */
int64_t count_before_chunks(const uint8_t *mask, int64_t n, int64_t *positions) {
    fl_parallel(n, PIECE_ELEMENTS, [&](int64_t b, int64_t e) {
        positions[b / PIECE_ELEMENTS] = count_ones(mask + b, e - b);
    });
    int64_t total = 0;
    for (int64_t p = 0; p < fl_chunk_count(n, PIECE_ELEMENTS); p++) {
        int64_t count = positions[p];
        positions[p] = total;
        total += count;
    }
    return total;
}

/* The coordinates before the last move on by one. */
void next_row(const fl_tensor *t, int64_t *outer) {
    for (int d = t->ndim - 2; d >= 0; d--) {
        if (++outer[d] < t->shape[d])
            break;
        outer[d] = 0;
    }
}

/* Coordinates of the true elements among b .. e, as rows of `ndim` numbers: ND of them, or as many
 * as there are where that is 0. Positions are listed a block at a time. */
template <int ND>
void list_coordinates(const uint8_t *mask, const fl_tensor *t, int64_t *out, int64_t b, int64_t e) {
    const int64_t BLOCK_ELEMENTS = 1024;
    const int nd = ND ? ND : t->ndim;
    const int64_t width = t->shape[nd - 1];
    int64_t outer[FL_MAX_DIMS], found[BLOCK_ELEMENTS], rest = b / width, row = rest * width;
    for (int d = nd - 2; d >= 0; d--) {
        outer[d] = rest % t->shape[d];
        rest /= t->shape[d];
    }
    for (int64_t i = b; i < e; i += BLOCK_ELEMENTS) {
        const int64_t end = std::min(i + BLOCK_ELEMENTS, e), count = count_ones(mask + i, end - i);
        FL_PICK(fl_index_kernels)->list(mask, i, end, count, found);
        for (int64_t k = 0; k < count; k++, out += nd) {
            for (; found[k] >= row + width; row += width)
                next_row(t, outer);
            for (int d = 0; d < nd - 1; d++)
                out[d] = outer[d];
            out[nd - 1] = found[k] - row;
        }
    }
}

void list_piece(const uint8_t *mask, const fl_tensor *t, int64_t *out, int64_t b, int64_t e) {
    switch (t->ndim) {
    case 0: return;
    case 1: return FL_PICK(fl_index_kernels)->list(mask, b, e, count_ones(mask + b, e - b), out);
    case 2: return list_coordinates<2>(mask, t, out, b, e);
    case 3: return list_coordinates<3>(mask, t, out, b, e);
    default: return list_coordinates<0>(mask, t, out, b, e);
    }
}

}  // namespace

int64_t fl_count_nonzero(const fl_tensor *mask) {
    RawIn m(mask, FL_BOOL);
    if (!m.ok())
        return -1;
    const uint8_t *bits = (const uint8_t *)m.data();
    Scratch parts((size_t)fl_chunk_count(mask->numel, PIECE_ELEMENTS) * 8);
    return parts.ok() ? count_before_chunks(bits, mask->numel, parts.as<int64_t>()) : -1;
}

extern "C" int fl_infer_masked_select(const fl_op *op, const fl_value *in, int n, fl_spec *outs) {
    const fl_tensor *self = in[0].t, *mask = in[1].t;
    int64_t shape[FL_MAX_DIMS], rows;
    int nd;
    if (fl_same_device(op, in, n) < 0)
        return -1;
    if (expect_mask(op, mask) < 0 || broadcast(op, self, mask, &nd, shape) < 0)
        return -1;
    if (fl_dynamic_size < 0)
        return unknown_size(op);
    rows = mask->numel ? fl_dynamic_size * (fl_numel_of(nd, shape) / mask->numel) : 0;
    fl_spec_set(outs, self->dtype, fl_device_code(self), 1, &rows);
    return 0;
}

extern "C" int fl_run_masked_select(const fl_op *op, const fl_value *in, int,
                                    fl_tensor *const *outs) {
    const fl_tensor *self = in[0].t, *mask = in[1].t;
    int64_t shape[FL_MAX_DIMS];
    int nd;
    if (broadcast(op, self, mask, &nd, shape) < 0)
        return -1;
    int64_t n = fl_numel_of(nd, shape);
    RawIn x(self, self->dtype, nd, shape), m(mask, FL_BOOL, nd, shape);
    RawOut out(outs[0], self->dtype);
    Scratch positions((size_t)fl_chunk_count(n, PIECE_ELEMENTS) * 8);
    if (!x.ok() || !m.ok() || !out.ok() || !positions.ok())
        return -1;
    const uint8_t *bits = (const uint8_t *)m.data();
    if (count_before_chunks(bits, n, positions.as<int64_t>()) != outs[0]->numel)
        return fl_error(FL_RUNTIME_ERROR, "%s: the mask changed while it was read",
                        fl_op_title(op));
    const int64_t size = fl_itemsize(self->dtype);
    const fl_choose_fn choose = FL_PICK(fl_index_kernels)->choose[__builtin_ctz((unsigned)size)];
    fl_parallel(n, PIECE_ELEMENTS, [&](int64_t b, int64_t e) {
        choose(bits + b, x.data() + b * size, e - b, count_ones(bits + b, e - b),
               out.data() + positions.as<int64_t>()[b / PIECE_ELEMENTS] * size);
    });
    out.commit();
    return 0;
}

extern "C" int fl_infer_nonzero(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    if (fl_dynamic_size < 0)
        return unknown_size(op);
    int64_t shape[2] = {fl_dynamic_size, in[0].t->ndim};
    fl_spec_set(outs, FL_I64, fl_device_code(in[0].t), 2, shape);
    return 0;
}

extern "C" int fl_run_nonzero(const fl_op *op, const fl_value *in, int, fl_tensor *const *outs) {
    const fl_tensor *self = in[0].t;
    RawIn m(self, FL_BOOL);
    Out out(outs[0], FL_K_I64);
    Scratch positions((size_t)fl_chunk_count(self->numel, PIECE_ELEMENTS) * 8);
    if (!m.ok() || !out.ok() || !positions.ok())
        return -1;
    const uint8_t *bits = (const uint8_t *)m.data();
    if (count_before_chunks(bits, self->numel, positions.as<int64_t>()) != outs[0]->shape[0])
        return fl_error(FL_RUNTIME_ERROR, "%s: the tensor changed while it was read",
                        fl_op_title(op));
    fl_parallel(self->numel, PIECE_ELEMENTS, [&](int64_t b, int64_t e) {
        int64_t first = positions.as<int64_t>()[b / PIECE_ELEMENTS];
        list_piece(bits, self, out.as<int64_t>() + first * self->ndim,
                   b,
                   e);
    });
    out.commit();
    return 0;
}

extern "C" int fl_infer_masked_scatter(const fl_op *op, const fl_value *in, int n, fl_spec *outs) {
    const fl_tensor *self = in[0].t, *mask = in[1].t, *source = in[2].t;
    int64_t shape[FL_MAX_DIMS];
    int nd;
    if (fl_same_device(op, in, n) < 0 || expect_mask(op, mask) < 0 ||
        fl_expect_same_dtype(op, self, "source", source) < 0 ||
        broadcast(op, self, mask, &nd, shape) < 0)
        return -1;
    fl_spec_set(outs, self->dtype, fl_device_code(self), nd, shape);
    return 0;
}

extern "C" int fl_run_masked_scatter(const fl_op *op, const fl_value *in, int,
                                     fl_tensor *const *outs) {
    const fl_tensor *source = in[2].t;
    fl_tensor *target = outs[0];
    int64_t n = target->numel;
    RawIn m(in[1].t, FL_BOOL, target->ndim, target->shape), x(source, target->dtype);
    RawOut out(target, target->dtype);
    Scratch positions((size_t)fl_chunk_count(n, PIECE_ELEMENTS) * 8);
    if (!m.ok() || !x.ok() || !out.ok() || !positions.ok())
        return -1;
    const uint8_t *bits = (const uint8_t *)m.data();
    int64_t wanted = count_before_chunks(bits, n, positions.as<int64_t>());
    if (wanted > source->numel)
        return fl_error(FL_RUNTIME_ERROR, "%s: the mask, broadcast to shape %s, has %lld true "
                        "elements, but source of shape %s has only %lld to put there",
                        fl_op_title(op), fl_shape_text(target->shape, target->ndim),
                        (long long)wanted, fl_shape_text(source->shape, source->ndim),
                        (long long)source->numel);
    fl_load_out(out, target, in[0].t);
    const int64_t size = fl_itemsize(target->dtype);
    const fl_choose_fn place = FL_PICK(fl_index_kernels)->place[__builtin_ctz((unsigned)size)];
    fl_parallel(n, PIECE_ELEMENTS, [&](int64_t b, int64_t e) {
        place(bits + b, x.data() + positions.as<int64_t>()[b / PIECE_ELEMENTS] * size, e - b,
              count_ones(bits + b, e - b), out.data() + b * size);
    });
    out.commit();
    return 0;
}
