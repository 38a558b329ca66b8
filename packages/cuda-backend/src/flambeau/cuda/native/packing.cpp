#include "packing.h"

#include <string.h>

#include "pack.h"

int fl_start_packing(void) { return fl_import(); }

Packed::~Packed() {
    for (int i = 0; i < held_count; i++)
        Py_DECREF(held[i]);
}

int Packed::hold(PyObject *object) {
    if (!object)
        return -1;
    held[held_count++] = object;
    return 0;
}

/* ---- tensors -------------------------------------------------------------------------------- */
static void put_view(WideView &v, const fl_tensor *t) {
    v.data = t ? t->data : nullptr;
    v.dtype = t ? t->dtype : FL_NO_DTYPE;
    v.ndim = t ? t->ndim : 0;
    v.numel = t ? t->numel : 0;
    v.shape[0] = 1;
    v.strides[0] = v.strides[1] = 0;
    for (int d = 0; d < v.ndim; d++) {
        v.shape[d] = t->shape[d];
        v.strides[d] = t->strides[d];
    }
}

static int move_to_device(Packed &p, fl_value &v, const fl_tensor *out) {
    static const fl_op *op = nullptr;
    if (!op && !(op = FL->find_op("to_device")))
        return -1;
    fl_value in[2] = {v, {}}, moved = {};
    in[1].tag = FL_DEVICE;
    in[1].i = out->device_type << 8 | out->device_index;
    if (FL->dispatch(op, in, 2, &moved) < 0)
        return -1;
    v.t = moved.t;
    return p.hold((PyObject *)moved.t);
}

static void put_number(WideView &v, const fl_value &value) {
    fl_widest_call call;
    fl_pack_number(call.args[0], value);
    put_view(v, nullptr);
    v.dtype = FL_IS_NUMBER;
    v.shape[0] = call.args[0].integer;
    memcpy(v.strides, &call.args[0].re, 2 * sizeof(double));
}

/* ---- words ---------------------------------------------------------------------------------- */
struct Words {
    fl_head &head;
    int used = 0;
    bool fits = true;

    void add(int64_t word) {
        if (used == FL_WORDS)
            fits = false;
        else
            head.words[used++] = word;
    }
    void add_double(double x) {
        int64_t word;
        memcpy(&word, &x, sizeof word);
        add(word);
    }
};

/* A scalar takes three words: as an integer, and as two doubles. */
static void add_scalar(Words &w, const fl_value &v) {
    fl_widest_call call;
    fl_pack_number(call.args[0], v);
    w.add(call.args[0].integer);
    w.add_double(call.args[0].re);
    w.add_double(call.args[0].im);
}

static void add_words(Words &w, const fl_value &v, int role) {
    if (role == FL_R_SCALAR && fl_is_number(v))
        return add_scalar(w, v);
    switch (v.tag) {
    case FL_INT:
    case FL_BOOLEAN: return w.add(v.i);
    case FL_FLOAT: return w.add_double(v.d);
    case FL_INTS:
    case FL_BOOLS:
        for (uint32_t i = 0; i < v.len; i++)
            w.add(v.is[i]);
        return;
    case FL_FLOATS:
        for (uint32_t i = 0; i < v.len; i++)
            w.add_double(v.ds[i]);
        return;
    case FL_TENSORS: return w.add(v.len);
    case FL_STRING: {                           /* its first letters */
        int64_t letters[2] = {};
        memcpy(letters, v.s, v.len < sizeof letters ? v.len : sizeof letters);
        w.add(letters[0]);
        return w.add(letters[1]);
    }
    default: return;
    }
}

/* ---- a call --------------------------------------------------------------------------------- */
static bool is_tensor_role(int role) {
    return role == FL_R_TENSOR || role == FL_R_OPERAND;
}

int Packed::take(const fl_op *op, const fl_value *in, int n, fl_tensor *const *outs) {
    Words words = {packet};
    memcpy(values, in, sizeof(fl_value) * (size_t)n);
    memset(packet.scratch, 0, sizeof packet.scratch);
    packet.axis = packet.kept = 0;
    for (int i = 0; i < n; i++) {
        fl_value &v = values[i];
        packet.starts[i] = (uint8_t)words.used;
        add_words(words, v, op->params[i].role);
        if (op->params[i].role == FL_R_DIM && v.tag == FL_INT && views)
            packet.axis = (int)(v.i < 0 ? v.i + wide[0].ndim : v.i);
        if (!is_tensor_role(op->params[i].role))
            continue;
        if (views == FL_VIEWS)
            return 1;
        if (fl_is_number(v)) {
            put_number(wide[views++], v);
            continue;
        }
        bool given = v.tag == FL_TENSOR && v.t;
        if (given && v.t->device_type == FL_CPU && move_to_device(*this, v, outs[0]) < 0)
            return -1;
        put_view(wide[views++], given ? v.t : nullptr);
    }
    packet.starts[n] = (uint8_t)words.used;
    if (packet.axis < 0)
        packet.axis = 0;
    if (views + op->nouts > FL_VIEWS)
        return 1;
    for (int i = 0; i < op->nouts; i++)
        put_view(wide[views++], outs[i]);
    packet.listed = views;
    for (int i = 0; i < n; i++)
        for (uint32_t k = 0; values[i].tag == FL_TENSORS && k < values[i].len; k++) {
            fl_value v = {};
            v.tag = FL_TENSOR;
            v.t = values[i].ts[k];
            if (v.t && v.t->device_type == FL_CPU && move_to_device(*this, v, outs[0]) < 0)
                return -1;
            if (views == FL_VIEWS)
                return 1;
            put_view(wide[views++], v.t);
        }
    return words.fits ? 0 : 1;
}

/* ---- rows ----------------------------------------------------------------------------------- */
/* The dimensions of a row, by bit. */
static uint32_t span_of(const Program &program, const fl_value *values, int ndim, int axis) {
    uint32_t all = (uint32_t)((1ull << ndim) - 1), mask = 0;
    const fl_value &v = values[program.span_parameter];
    switch (program.span) {
    case FL_SPAN_DIM: return v.tag == FL_INT ? 1u << axis & all : all;
    case FL_SPAN_DIMS:
        if (v.tag == FL_INT)
            return ndim ? 1u << (v.i < 0 ? v.i + ndim : v.i) : 0;
        if (v.tag != FL_INTS || !v.len)
            return all;
        for (uint32_t i = 0; i < v.len && ndim; i++)
            mask |= 1u << (v.is[i] < 0 ? v.is[i] + ndim : v.is[i]);
        return mask;
    case FL_SPAN_LAST: return all & ~((1u << (ndim - (int)v.i)) - 1);
    case FL_SPAN_CHANNELS: return all & ~2u;
    case FL_SPAN_CLASSES: return all & (ndim > 1 ? 2u : 1u);
    default: return all;
    }
}

/* A view without the dimensions of rows gets them back, of size 1. */
static void insert(WideView &v, uint32_t mask, int ndim) {
    for (int d = ndim - 1, from = v.ndim - 1; d >= 0; d--) {
        bool absent = mask >> d & 1;
        v.shape[d] = absent ? 1 : v.shape[from];
        v.strides[d] = absent ? 0 : v.strides[from];
        from -= !absent;
    }
    v.ndim = ndim;
}

/* Dimensions of rows behind all others, each group in its order. */
static void sort_dims(WideView &v, uint32_t mask, int ndim) {
    WideView old = v;
    int to = 0;
    for (uint32_t wanted = 0; wanted < 2; wanted++)
        for (int d = 0; d < ndim; d++)
            if ((mask >> d & 1) == wanted) {
                v.shape[to] = old.shape[d];
                v.strides[to++] = old.strides[d];
            }
}

static bool joins(const WideView &first, const WideView &v, int d) {
    if (v.shape[d] != first.shape[d] || v.shape[d + 1] != first.shape[d + 1])
        return v.shape[d] == 1 && v.shape[d + 1] == 1;
    return v.shape[d] == 1 || v.strides[d] == v.strides[d + 1] * v.shape[d + 1]
           || v.shape[d + 1] == 1;
}

/* Joins dimension d with the next one. */
static void join_dims(WideView &v, int d) {
    if (v.shape[d + 1] == 1)
        v.strides[d + 1] = v.strides[d];
    v.shape[d + 1] *= v.shape[d];
    for (int e = d; e + 1 < v.ndim; e++) {
        v.shape[e] = v.shape[e + 1];
        v.strides[e] = v.strides[e + 1];
    }
    v.ndim--;
}

void Packed::arrange(const Program &program) {
    WideView &first = wide[0];
    int ndim = first.ndim, count = 0;
    uint32_t mask = program.span == FL_SPAN_NONE
                        ? 0 : span_of(program, values, ndim, packet.axis);
    packet.rows = packet.length = 1;
    if (program.span == FL_SPAN_NONE)
        return;
    for (int d = 0; d < ndim; d++)
        if (mask >> d & 1) {
            packet.length *= first.shape[d];
            count++;
        } else {
            packet.rows *= first.shape[d];
        }
    packet.kept = ndim - count;
    WideView *aligned[FL_VIEWS];
    int found = 0;
    for (int k = 0; k < views; k++) {
        WideView &v = wide[k];
        if (!v.data || v.dtype == FL_IS_NUMBER || program.aside >> k & 1)
            continue;
        if (v.ndim == packet.kept && count)
            insert(v, mask, ndim);
        else if (v.ndim != ndim)
            continue;
        sort_dims(v, mask, ndim);
        aligned[found++] = &v;
    }
    for (int d = ndim - 2; d >= 0; d--) {
        bool alike = d + 1 != packet.kept;
        for (int k = 0; k < found && alike; k++)
            alike = joins(first, *aligned[k], d);
        if (!alike)
            continue;
        for (int k = 0; k < found; k++)
            join_dims(*aligned[k], d);
        packet.kept -= d < packet.kept;
    }
}

int Packed::close() {
    for (int k = 0; k < views; k++) {
        const WideView &from = wide[k];
        fl_view &v = packet.views[k];
        if (from.ndim > FL_DIMS)
            return 1;
        v.data = from.data;
        v.dtype = from.dtype;
        v.ndim = from.ndim;
        v.numel = from.numel;
        for (int d = 0; d < (from.ndim > 2 ? from.ndim : 2); d++) {
            v.shape[d] = from.shape[d];
            v.strides[d] = from.strides[d];
        }
    }
    return 0;
}
