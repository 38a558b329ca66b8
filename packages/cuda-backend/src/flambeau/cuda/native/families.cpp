#include "families.h"

static const int fl_itemsizes[] = {1, 1, 1, 2, 4, 8, 2, 4, 8, 2, 2, 4, 8, 8, 16};

int fl_start_families(void) { return fl_import(); }

/* ---- reductions ------------------------------------------------------------------------------ */
/* Steps: a thread, a warp and a block for each part, then parts joined by a thread and a block. */
enum { FL_BY_THREAD, FL_BY_WARP, FL_BY_BLOCK, FL_JOIN_BY_THREAD, FL_JOIN_BY_BLOCK };

#define FL_ACCUMULATOR_BYTES 32
#define FL_THREADS 256

static int64_t between(int64_t low, int64_t x, int64_t high) {
    return x < low ? low : x > high ? high : x;
}

static int64_t blocks_of(int64_t threads) { return (threads + FL_THREADS - 1) / FL_THREADS; }

static int64_t magnitude(int64_t x) { return x < 0 ? -x : x; }

/* Whether neighbouring results are read from nearer places than neighbours of a row. */
static bool is_by_columns(const fl_head &h, const fl_view &v) {
    if (h.length <= 8)
        return true;
    if (h.rows < 32 || v.ndim == h.kept)
        return false;
    return magnitude(v.strides[h.kept - 1]) < magnitude(v.strides[v.ndim - 1]);
}

/* How many parts a row has depends on its shape alone: results repeat bit for bit. */
int fl_run_reduction(Running &r) {
    fl_widest_packet &p = r.packed.packet;
    const Step *steps = r.program.steps;
    int by = FL_BY_BLOCK;
    p.parts = 1;
    if (is_by_columns(p, p.views[0])) {
        by = FL_BY_THREAD;
        p.parts = between(1, (1 << 16) / p.rows, p.length / 32);
        p.parts = p.parts > 64 ? 64 : p.parts ? p.parts : 1;
    } else if (p.length <= 1024) {
        by = FL_BY_WARP;
    } else if (p.rows < 256) {
        p.parts = between(1, 1024 / p.rows, p.length / 8192 + 1);
    }
    if (p.parts > 1
        && fl_take_scratch(r, 0, (size_t)(p.parts * p.rows) * FL_ACCUMULATOR_BYTES) < 0)
        return -1;
    int64_t teams = p.rows * p.parts;
    int64_t blocks = by == FL_BY_BLOCK ? teams
                     : by == FL_BY_WARP ? blocks_of(teams * 32) : blocks_of(teams);
    if (fl_launch_items(r, steps[by].few, blocks, FL_THREADS, teams) < 0)
        return -1;
    if (p.parts == 1)
        return 0;
    bool few = p.parts <= 64 && p.rows >= 32;
    return fl_launch_items(r, steps[few ? FL_JOIN_BY_THREAD : FL_JOIN_BY_BLOCK].few,
                           few ? blocks_of(p.rows) : p.rows, FL_THREADS, p.rows);
}

/* ---- rows ------------------------------------------------------------------------------------ */
/* Steps: rows by warps or blocks; parts of long rows, and what is made of all of them; scans have
 * what goes before each part in between. Then others. */
enum { FL_WHOLE_ROWS, FL_ROW_PARTS, FL_JOINED_ROWS, FL_SCANNED_PARTS };

#define FL_SPREAD_ROW 16384
#define FL_PART 8192

/* Few long rows would leave most of a device without work. */
static int64_t parts_of_row(const fl_head &h) {
    if (h.rows >= 256 || h.rows < 1 || h.length < FL_SPREAD_ROW)
        return 1;
    return between(1, 1024 / h.rows, h.length / FL_PART);
}

int fl_run_spread(Running &r, int parted_steps) {
    fl_widest_packet &p = r.packed.packet;
    const Step *steps = r.program.steps;
    p.parts = parts_of_row(p);
    const int64_t teams = p.rows * p.parts;
    if (p.parts == 1) {
        if (fl_run_step(r, steps[FL_WHOLE_ROWS]) < 0)
            return -1;
    } else {
        if (fl_take_scratch(r, 0, (size_t)teams * FL_ACCUMULATOR_BYTES) < 0)
            return -1;
        for (int i = 0; i < parted_steps; i++) {
            const bool carries = parted_steps == FL_SCANNED_PARTS && i == 1;
            if (fl_launch_items(r, steps[FL_ROW_PARTS + i].few,
                                carries ? blocks_of(p.rows) : teams, FL_THREADS,
                                carries ? p.rows : teams))
                return -1;
        }
    }
    for (int i = 1 + parted_steps; i < r.program.count; i++)
        if (fl_run_step(r, r.program.steps[i]))
            return -1;
    return 0;
}

int fl_run_columns(Running &r, const Step &step) {
    fl_widest_packet &p = r.packed.packet;
    const int64_t columns = p.views[step.view].numel, groups = (columns + 31) / 32;
    if (!columns)
        return 0;
    p.parts = step.many ? between(1, 1024 / groups, p.rows / 256) : 1;
    p.parts = p.parts ? p.parts : 1;
    if (p.parts > 1
        && fl_take_scratch(r, 1, (size_t)(2 * columns * p.parts) * sizeof(double)) < 0)
        return -1;
    if (fl_launch_items(r, step.few, groups * p.parts, step.block, columns))
        return -1;
    return p.parts == 1 ? 0 : fl_launch_items(r, step.many, blocks_of(2 * columns), FL_THREADS,
                                              2 * columns);
}

#define FL_PART_OF_LOSSES 4096

int fl_run_parts(Running &r, const Step &step) {
    fl_widest_packet &p = r.packed.packet;
    p.parts = between(1, p.views[step.view].numel / FL_PART_OF_LOSSES, 1024);
    if (p.parts > 1 && fl_take_scratch(r, 1, (size_t)p.parts * 2 * sizeof(double)) < 0)
        return -1;
    if (fl_launch_items(r, step.few, p.parts, step.block, p.parts))
        return -1;
    return p.parts == 1 ? 0 : fl_launch_items(r, step.many, 1, step.block, 1);
}

/* ---- sorting --------------------------------------------------------------------------------- */
/* Steps: keys, of all or (`many`) of the first entries of rows, tiles sorted by a block, pairs of
 * runs merged; then what is made of the order. */
enum { FL_LOAD, FL_TILES, FL_MERGE, FL_FINISH };

#define FL_TILE 1024
#define FL_SORTED_ROW 2048          /* shorter rows are put in order altogether */
#define FL_KEY_BYTES 16

static int64_t tile_for(int64_t length) {
    int64_t tile = 64;
    while (tile < length && tile < FL_TILE)
        tile *= 2;
    return tile;
}

int fl_run_sorting(Running &r) {
    fl_widest_packet &p = r.packed.packet;
    if (r.program.span == FL_SPAN_NONE) {
        p.length = p.views[r.program.steps[FL_LOAD].view].numel;
        p.rows = 1;
    }
    const Step &load = r.program.steps[FL_LOAD], &finish = r.program.steps[FL_FINISH];
    if (finish.many && p.length > FL_SORTED_ROW)        /* one entry, found without an order */
        return fl_launch_items(r, finish.many, p.rows, FL_THREADS, p.rows);
    const int64_t wanted = load.many ? p.views[1].numel / p.rows : p.length;
    const bool selects = p.length > FL_SORTED_ROW && 2 * wanted <= p.length;
    const int64_t length = selects ? wanted : p.length, total = p.rows * length,
                  tile = tile_for(length), tiles = p.rows * ((length + tile - 1) / tile);
    const size_t bytes = (size_t)total * FL_KEY_BYTES;
    p.parts = tile;
    p.width = length;
    if (fl_take_scratch(r, 0, bytes) < 0 || (tile < length && fl_take_scratch(r, 1, bytes) < 0)
        || (selects ? fl_launch_items(r, load.many, p.rows, FL_THREADS, p.rows)
                    : fl_launch_items(r, load.few, blocks_of(total), FL_THREADS, total)))
        return -1;
    p.length = length;          /* of what is put in order */
    p.width = tile;
    if (fl_launch_items(r, r.program.steps[FL_TILES].few, tiles, (uint32_t)tile / 2, tiles))
        return -1;
    for (; p.width < p.length; p.width *= 2) {
        if (fl_launch_items(r, r.program.steps[FL_MERGE].few, blocks_of(total), FL_THREADS, total))
            return -1;
        char *sorted = p.scratch[1];
        p.scratch[1] = p.scratch[0];
        p.scratch[0] = sorted;
    }
    for (int i = FL_FINISH; i < r.program.count; i++)
        if (fl_run_step(r, r.program.steps[i]))
            return -1;
    return 0;
}

/* ---- joining --------------------------------------------------------------------------------- */
/* The part of a result that begins at an index of one dimension, as a tensor. */
static fl_tensor *part_of(fl_tensor *whole, int axis, int64_t start, int64_t length) {
    fl_tensor *part = FL->alias(whole);
    if (!part)
        return nullptr;
    part->data += start * whole->strides[axis] * (int64_t)fl_itemsizes[whole->dtype];
    part->numel = whole->shape[axis] ? whole->numel / whole->shape[axis] * length : 0;
    part->shape[axis] = length;
    if (length != whole->shape[axis])
        part->flags &= ~(uint32_t)FL_CONTIGUOUS;
    return part;
}

/* Geometry up to this many dimensions lies in the tensor, and is its own. */
#define FL_OWN_DIMS 8

int fl_run_joining(Device &d, const fl_value *in, fl_tensor *out) {
    static const fl_op *copy = nullptr;
    if (!copy && !(copy = FL->find_op("copy")))
        return -1;
    if (in[0].tag != FL_TENSORS || out->ndim > FL_OWN_DIMS || !out->ndim)
        return 1;
    int axis = (int)(in[1].i < 0 ? in[1].i + out->ndim : in[1].i);
    int64_t start = 0;
    for (uint32_t k = 0; k < in[0].len; k++)
        if (in[0].ts[k]->device_type == FL_CPU)
            return 1;
    for (uint32_t k = 0; k < in[0].len; k++) {
        fl_tensor *t = in[0].ts[k];
        if (t->ndim != out->ndim || !t->numel)      /* tensors of shape (0,) join anything */
            continue;
        fl_value pair[2] = {};
        fl_tensor *part = part_of(out, axis, start, t->shape[axis]);
        if (!part)
            return -1;
        pair[0].tag = pair[1].tag = FL_TENSOR;
        pair[0].t = part;
        pair[1].t = t;
        int status = fl_run_planned(d, copy, pair, 2, &part);
        Py_DECREF(part);
        if (status)
            return status;
        start += t->shape[axis];
    }
    return 0;
}
