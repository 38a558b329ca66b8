/* index_copy and index_fill: whole slices along a dimension replaced, the last of equals wins. */
#include "index/named_slices.h"
#include "common/range_error.h"
#include "common/raw.h"
#include "index/slices.h"

namespace {

const char INSTEAD[] = "write self[index] = ...";

int check_source(const fl_op *op, const fl_tensor *self, const fl_tensor *index,
                 const fl_tensor *source, int dim) {
    int64_t shape[FL_MAX_DIMS];
    if (fl_expect_same_dtype(op, self, "source", source) < 0)
        return -1;
    for (int d = 0; d < self->ndim; d++)
        shape[d] = d == dim ? index->numel : self->shape[d];
    bool single = (self->ndim == 0 || (source->ndim == 0 && self->ndim == 1)) &&
                  source->numel == index->numel;
    return single ? 0 : fl_expect_shape(op, "source", source, self->ndim, shape);
}

/* A block is cut into columns, so that pieces never meet and within one the index's order holds. */
const int64_t COLUMN_ELEMENTS = 2048;

struct Blocks {
    char *to;
    const int64_t *index;
    int64_t n, size, block;             /* index length, slices of self, elements of one */
};

/* `write(piece of self's slice, number in the index, first column, columns)` for everything. */
template <class Write> void each_piece(const Blocks &a, int64_t outer, const Write &write) {
    int64_t columns = fl_chunk_count(a.block, COLUMN_ELEMENTS);
    int64_t widest = a.block < COLUMN_ELEMENTS ? a.block : COLUMN_ELEMENTS;
    fl_parallel(outer * columns, fl_row_grain(a.n * widest),
                [&](int64_t b, int64_t e) {
        for (int64_t t = b; t < e; t++) {
            int64_t o = t / columns, first = t % columns * COLUMN_ELEMENTS;
            int64_t width = a.block - first < widest ? a.block - first : widest;
            for (int64_t i = 0; i < a.n; i++) {
                int64_t k = a.index[i] < 0 ? a.index[i] + a.size : a.index[i];
                write((o * a.size + k) * a.block + first, (o * a.n + i) * a.block + first, width);
            }
        }
    });
}

template <class T> void copy_pieces(const Blocks &a, int64_t outer, const char *source) {
    each_piece(a, outer, [&](int64_t to, int64_t from, int64_t width) {
        if (width == 1)
            ((T *)a.to)[to] = ((const T *)source)[from];
        else
            memcpy((T *)a.to + to, (const T *)source + from, (size_t)width * sizeof(T));
    });
}

template <class T> void fill_pieces(const Blocks &a, int64_t outer, const char *element) {
    const T value = *(const T *)element;
    each_piece(a, outer, [&](int64_t to, int64_t, int64_t width) {
        T *out = (T *)a.to + to;
        for (int64_t i = 0; i < width; i++)
            out[i] = value;
    });
}

/* Positions, checked; `body(blocks, outer)` on contiguous memory that holds self's contents. */
template <class Body>
int write(const fl_op *op, const fl_value *in, fl_tensor *out, bool negative, const Body &body) {
    const fl_tensor *self = in[0].t, *index = in[2].t;
    int dim;
    if (fl_wrap_dim(op, in[1].i, self->ndim, &dim) < 0)
        return -1;
    fl_middle m = fl_middle_of(self, dim);
    In positions(index, FL_K_I64);
    if (!positions.ok() ||
        fl_check_index_range(op, FL_RANGE_ERROR, positions.as<int64_t>(), index->numel, m.n, dim,
                             negative) < 0)
        return -1;
    if (out->data == self->data &&
        fl_names_small_share(out, index->numel * m.outer * m.inner, out->dtype))
        return fl_run_on_slices(op, in, out, dim, positions.as<int64_t>(), nullptr, nullptr);
    RawOut room(out, out->dtype);
    if (!room.ok())
        return -1;
    fl_load_out(room, out, self);
    if (index->numel && out->numel)
        body(Blocks{room.data(), positions.as<int64_t>(), index->numel, m.n, m.inner}, m.outer);
    room.commit();
    return 0;
}

}  // namespace

extern "C" int fl_infer_index_copy(const fl_op *op, const fl_value *in, int n, fl_spec *outs) {
    int dim;
    if (fl_expect_slices(op, in, n, INSTEAD, &dim) < 0 ||
        check_source(op, in[0].t, in[2].t, in[3].t, dim) < 0)
        return -1;
    fl_spec_like(outs, in[0].t);
    return 0;
}

extern "C" int fl_run_index_copy(const fl_op *op, const fl_value *in, int,
                                 fl_tensor *const *outs) {
    RawIn source(in[3].t, outs[0]->dtype);
    if (!source.ok())
        return -1;
    return write(op, in, outs[0], false, [&](const Blocks &a, int64_t outer) {
        FL_BY_SIZE(fl_itemsize(outs[0]->dtype), copy_pieces, a, outer, source.data())
    });
}

extern "C" int fl_infer_index_fill(const fl_op *op, const fl_value *in, int n, fl_spec *outs) {
    int dim;
    if (fl_expect_slices(op, in, n, INSTEAD, &dim) < 0)
        return -1;
    if (in[3].tag == FL_TENSOR && in[3].t->ndim != 0)
        return fl_error(FL_RUNTIME_ERROR, "%s: value must be a number or a 0-d tensor, got a tensor "
                        "of shape %s; index_copy writes whole slices", fl_op_title(op),
                        fl_shape_text(in[3].t->shape, in[3].t->ndim));
    bool complex = in[3].tag == FL_COMPLEX ||
                   (in[3].tag == FL_TENSOR && fl_is_complex(in[3].t->dtype));
    if (complex && !fl_is_complex(in[0].t->dtype))
        return fl_error(FL_RUNTIME_ERROR, "%s: value is complex, but self is %s; convert self to "
                        "complex64 first", fl_op_title(op), fl_dtype_name(in[0].t->dtype));
    if (in[3].tag != FL_TENSOR &&
        fl_check_number(fl_op_title(op), "value", in[3], in[0].t->dtype) < 0)
        return -1;
    fl_spec_like(outs, in[0].t);
    return 0;
}

/* The number in a 0-d tensor. */
static fl_value number_in(const fl_tensor *t) {
    static const int64_t none[1] = {0};
    fl_value v;
    bool is_integral = fl_is_int(t->dtype) || t->dtype == FL_BOOL, complex = fl_is_complex(t->dtype);
    v.tag = is_integral ? FL_INT : complex ? FL_COMPLEX : FL_FLOAT;
    void *number = is_integral ? (void *)&v.i : complex ? (void *)v.c : (void *)&v.d;
    int dtype = is_integral ? FL_I64 : complex ? FL_C128 : FL_F64;
    fl_copy_strided(fl_strided{(char *)number, dtype, none}, fl_strided{t->data, t->dtype, none}, 0,
                    none);
    return v;
}

extern "C" int fl_run_index_fill(const fl_op *op, const fl_value *in, int,
                                 fl_tensor *const *outs) {
    static const int64_t none[1] = {0};
    alignas(16) char element[16];
    int dtype = outs[0]->dtype;
    if (in[3].tag == FL_TENSOR && in[3].t->dtype != dtype &&
        fl_check_number(fl_op_title(op), "value", number_in(in[3].t), dtype) < 0)
        return -1;
    if (in[3].tag == FL_TENSOR)
        fl_copy_strided(fl_strided{element, dtype, none},
                        fl_strided{in[3].t->data, in[3].t->dtype, none}, 0, none);
    else
        fl_number_as(in[3], dtype, element);
    return write(op, in, outs[0], true, [&](const Blocks &a, int64_t outer) {
        FL_BY_SIZE(fl_itemsize(dtype), fill_pieces, a, outer, element)
    });
}
