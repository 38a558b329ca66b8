/* Chains of kernels and machine code over blocks of rows: what one makes, the next finds in the
 * cache, and what nobody else holds is never in memory at all. The kernels are those that run
 * uncompiled, over tensors of fewer rows, so that the bits are theirs. */
#include "common/kernels/blocks.h"
#include "common/raw.h"
#include "deferral/plan.h"
#include "random/taken.h"
#include "reduce/reduce.h"
#include <atomic>
#include <memory>

namespace {

const int64_t PAGE = 4096;
const int64_t PIECE = 256;              /* elements made before they are streamed */
const size_t MOST_STREAMED = 4;         /* results of one loop */

/* A tensor of some rows, whose object is no Python object; kernels look at no more than this. */
struct RowTensor {
    fl_tensor t;
    const fl_part *part;
    char *start;                /* of row 0 */
    int64_t shape[FL_MAX_DIMS + 1], strides[FL_MAX_DIMS + 1];

    void set(const fl_tensor *whole, const fl_part &of, int64_t rows) {
        memcpy(&t, whole, sizeof t);
        part = &of;
        start = whole->data;
        t.ndim = 0;
        if (of.has_rows)
            strides[t.ndim++] = of.memory.row_bytes / fl_itemsize(whole->dtype);
        for (size_t d = 0; d < of.shape.size(); d++) {
            shape[t.ndim] = of.shape[d];
            strides[t.ndim++] = of.strides[d];
        }
        t.shape = shape;
        t.strides = strides;
        set_rows(rows);
    }

    void set_rows(int64_t rows) {
        if (part->has_rows)
            shape[0] = rows;
        t.numel = 1;
        bool dense = true;
        for (int d = t.ndim - 1; d >= 0; d--) {
            dense &= shape[d] == 1 || strides[d] == t.numel;
            t.numel *= shape[d];
        }
        t.flags = (t.flags & ~(uint32_t)FL_CONTIGUOUS) | (dense ? (uint32_t)FL_CONTIGUOUS : 0u);
    }
};

/* An item as a thread runs it: the words of its code, or its call's arguments and results. */
struct Run {
    const fl_row_item *item;
    char *parts = nullptr;              /* of a reduction: the results of all pieces */
    std::vector<int64_t> words;
    std::unique_ptr<RowTensor[]> tensors;
    size_t count = 0;
    fl_value in[FL_MAX_PARAMS];
    fl_tensor *outs[FL_MAX_OUTS];
    const fl_op *draws = nullptr;       /* random numbers: what it was called with, whole */
    const fl_value *taken = nullptr;

    void prepare(const fl_queue *q, const fl_row_item &of, int64_t rows) {
        item = &of;
        if (of.code.run) {
            of.code.words(q, words);
            return;
        }
        if (of.is_total)
            return;
        const fl_queue::Call &c = q->calls[of.call];
        tensors.reset(new RowTensor[of.parts.size()]);
        for (int i = 0; i < c.n + c.nouts; i++) {
            const fl_value &v = q->values[c.first + (size_t)i];
            RowTensor *made = nullptr;
            if (of.parts[(size_t)i].is_tensor) {
                made = &tensors[count++];
                made->set(v.t, of.parts[(size_t)i], rows);
            }
            if (i >= c.n)
                outs[i - c.n] = &made->t;
            else
                in[i] = v;
            if (i < c.n && made)
                in[i].t = &made->t;
        }
        if (c.op->flags & FL_O_RANDOM) {
            draws = c.op;
            taken = &q->values[c.first + (size_t)fl_generator_param(c.op)];
        }
        for (const auto &each : of.dims) {
            fl_value &v = in[each.first];
            if (v.tag == FL_INTS)
                v.is = (int64_t *)each.second.data();
            else
                v.i = each.second[0];
        }
    }
};

/* The rows that a thread runs, and its memory. */
struct Block {
    const fl_queue *q;
    int64_t first, count;
    char *scratch;
    bool has_other_count;       /* than the block before */

    /* In scratch memory a row lies as far from a page's start as it would in memory of its own: a
     * processor takes a load for one of a store just made when both end in the same 12 bits. */
    char *in_scratch(const fl_row_memory &memory) const {
        return scratch + memory.scratch + (first * memory.row_bytes) % PAGE;
    }

    /* Code finds a row by its number among all. */
    bool run_code(Run &run) const {
        const fl_row_item &item = *run.item;
        const int64_t begin = first * item.code.total, end = begin + count * item.code.total;
        for (size_t i = 0; i < item.memories.size(); i++)
            if (item.memories[i].scratch >= 0)
                run.words[i] = (int64_t)(uintptr_t)in_scratch(item.memories[i]) -
                               first * item.memories[i].row_bytes;
        return item.streamed.empty() ? item.code.run_some(run.words, begin, end)
                                     : run_pieces(item, run.words, begin, end);
    }

    /* The stores of one piece leave while the next is made. */
    bool run_pieces(const fl_row_item &item, std::vector<int64_t> &words, int64_t begin,
                    int64_t end) const {
        static const fl_block_kernels *kernels = FL_PICK(fl_block_kernels);
        alignas(64) char room[MOST_STREAMED][PIECE * 16];
        for (int64_t at = begin; at < end; at += PIECE) {
            const int64_t n = end - at < PIECE ? end - at : PIECE;
            for (size_t k = 0; k < item.streamed.size(); k++)
                words[(size_t)item.streamed[k].first] =
                    (int64_t)(uintptr_t)room[k] - at * item.streamed[k].second;
            if (!item.code.run_some(words, at, at + n))
                return false;
            for (auto &each : item.fetched)
                for (int64_t i = n * each.second; i < 2 * n * each.second; i += 64)
                    __builtin_prefetch((char *)words[(size_t)each.first] + at * each.second + i);
            for (size_t k = 0; k < item.streamed.size(); k++) {
                const auto [operand, size] = item.streamed[k];
                const fl_value &v = q->values[(size_t)item.code.operands[(size_t)operand]];
                kernels->stream(v.t->data + item.code.offset((size_t)operand) + at * size, room[k],
                                n * size);
            }
        }
        return true;
    }

    int run_call(Run &run) const {
        const fl_queue::Call &c = q->calls[run.item->call];
        for (size_t i = 0; i < run.count; i++) {
            RowTensor &each = run.tensors[i];
            const fl_row_memory &memory = each.part->memory;
            each.t.data = memory.scratch < 0 ? each.start + first * memory.row_bytes
                                            : in_scratch(memory);
            if (has_other_count)
                each.set_rows(count);
        }
        if (run.draws) {
            fl_value &left = run.in[fl_generator_param(run.draws)] = *run.taken;
            fl_leave_out(run.draws, &left, run.outs[0], first * (run.outs[0]->numel / count));
        }
        return c.op->run_cpu(c.op, run.in, c.n, run.outs);
    }

    bool run_total(const Run &run) const {
        const fl_queue::Call &c = q->calls[run.item->call];
        const fl_tensor *self = q->values[c.first].t;
        const fl_row_memory &memory = run.item->memories[0];
        const char *x = memory.scratch < 0 ? self->data + first * memory.row_bytes
                                           : in_scratch(memory);
        if (run.item->width)
            fl_reduce_rows(c.op, self, x, first, count, run.item->width, run.parts);
        else
            fl_reduce_some(c.op, self, x, count,
                           run.parts + first / FL_REDUCE_PIECE * fl_itemsize(self->dtype));
        return true;
    }

    int run(std::vector<Run> &runs) const {
        for (Run &each : runs) {
            const bool done = each.item->code.run   ? run_code(each)
                              : each.item->is_total ? run_total(each)
                                                    : run_call(each) == 0;
            if (!done)
                return -1;
        }
        return 0;
    }
};

struct Rows {
    const fl_queue *q;
    const fl_step *step;
    std::vector<std::vector<char>> parts;       /* of each item that reduces all elements */
    std::atomic<int> status{0};

    /* With room for results of the widest numbers. */
    void prepare(void) {
        parts.resize(step->items.size());
        for (size_t i = 0; i < parts.size(); i++) {
            const fl_row_item &item = step->items[i];
            const int64_t piece = item.width ? FL_COLUMN_PIECE : FL_REDUCE_PIECE;
            const int64_t results = item.width ? item.width : 1;
            if (item.is_total)
                parts[i].resize((size_t)((step->rows / piece + 1) * results) * sizeof(double));
        }
    }

    void finish(void) {
        for (size_t i = 0; i < parts.size() && status == 0; i++) {
            const fl_queue::Call &c = q->calls[step->items[i].call];
            auto reduce = step->items[i].width ? fl_reduce_row_parts : fl_reduce_parts;
            if (step->items[i].is_total)
                status = reduce(c.op, q->values[c.first].t, parts[i].data(),
                                q->values[c.first + c.n].t);
        }
    }
};

void run_blocks(void *context, int64_t begin, int64_t end) {
    Rows *rows = (Rows *)context;
    const fl_step *step = rows->step;
    Scratch memory((size_t)(step->scratch + PAGE));
    if (!memory.ok())
        rows->status = -1;
    char *pages = memory.as<char>() + (-(uintptr_t)memory.as<char>() & (PAGE - 1));
    std::vector<Run> runs(step->items.size());
    for (size_t i = 0; i < runs.size(); i++) {
        runs[i].prepare(rows->q, step->items[i], step->block);
        runs[i].parts = rows->parts[i].data();
    }
    Block block = {rows->q, 0, step->block, pages, false};
    for (int64_t number = begin; number < end && rows->status == 0; number++) {
        block.first = number * step->block;
        int64_t left = step->rows - block.first;
        block.has_other_count = left < block.count;
        block.count = left < block.count ? left : block.count;
        if (block.run(runs) < 0)
            rows->status = -1;
    }
    fl_stream_end();
}

/* (scratch, row_bytes) */
int read_memory(PyObject *o, fl_row_memory &memory) {
    std::vector<int64_t> two;
    if (fl_read_longs(o, two) < 0 || two.size() != 2)
        return -1;
    memory.scratch = two[0];
    memory.row_bytes = two[1];
    return 0;
}

/* None, or (memory, has_rows, shape, strides) */
int read_part(PyObject *o, fl_part &part) {
    if (o == Py_None)
        return 0;
    if (!PyTuple_Check(o) || PyTuple_GET_SIZE(o) != 4)
        return -1;
    part.is_tensor = true;
    part.has_rows = PyObject_IsTrue(PyTuple_GET_ITEM(o, 1)) == 1;
    return read_memory(PyTuple_GET_ITEM(o, 0), part.memory) < 0 ||
                   fl_read_longs(PyTuple_GET_ITEM(o, 2), part.shape) < 0 ||
                   fl_read_longs(PyTuple_GET_ITEM(o, 3), part.strides) < 0
               ? -1 : 0;
}

int read_pairs(PyObject *o, std::vector<std::pair<int64_t, int64_t>> &to) {
    std::vector<int64_t> flat;
    if (fl_read_longs(o, flat) < 0 || flat.size() % 2)
        return -1;
    for (size_t i = 0; i < flat.size(); i += 2)
        to.push_back({flat[i], flat[i + 1]});
    return 0;
}

/* (code, memories, streamed, fetched): of the last two each operand, then its bytes */
int read_code_item(PyObject *o, fl_row_item &item) {
    PyObject *memories = PyTuple_GET_ITEM(o, 1);
    if (fl_read_code(PyTuple_GET_ITEM(o, 0), item.code) < 0 || !PyTuple_Check(memories) ||
        read_pairs(PyTuple_GET_ITEM(o, 2), item.streamed) < 0 ||
        read_pairs(PyTuple_GET_ITEM(o, 3), item.fetched) < 0 ||
        item.streamed.size() > MOST_STREAMED)
        return -1;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(memories); i++) {
        item.memories.emplace_back();
        if (read_memory(PyTuple_GET_ITEM(memories, i), item.memories.back()) < 0)
            return -1;
    }
    return 0;
}

/* ((call, width), memory) */
int read_total_item(PyObject *o, fl_row_item &item) {
    std::vector<int64_t> head;
    if (fl_read_longs(PyTuple_GET_ITEM(o, 0), head) < 0 || head.size() != 2)
        return -1;
    item.is_total = true;
    item.call = (size_t)head[0];
    item.width = head[1];
    item.memories.emplace_back();
    return read_memory(PyTuple_GET_ITEM(o, 1), item.memories[0]);
}

/* (call, parts, ((argument, dims), ...)) */
int read_call_item(PyObject *o, fl_row_item &item) {
    PyObject *parts = PyTuple_GET_ITEM(o, 1), *dims = PyTuple_GET_ITEM(o, 2);
    item.call = PyLong_AsSize_t(PyTuple_GET_ITEM(o, 0));
    if (PyErr_Occurred() || !PyTuple_Check(parts) || !PyTuple_Check(dims))
        return -1;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(parts); i++) {
        item.parts.emplace_back();
        if (read_part(PyTuple_GET_ITEM(parts, i), item.parts.back()) < 0)
            return -1;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(dims); i++) {
        PyObject *each = PyTuple_GET_ITEM(dims, i);
        item.dims.push_back({PyLong_AsLongLong(PyTuple_GET_ITEM(each, 0)), {}});
        if (fl_read_longs(PyTuple_GET_ITEM(each, 1), item.dims.back().second) < 0)
            return -1;
    }
    return 0;
}

}  // namespace

/* ((rows, block, chunk, scratch), items) */
int fl_read_rows(PyObject *o, fl_step &step) {
    std::vector<int64_t> sizes;
    PyObject *items = PyTuple_GET_ITEM(o, 1);
    if (fl_read_longs(PyTuple_GET_ITEM(o, 0), sizes) < 0 || sizes.size() != 4 ||
        !PyTuple_Check(items))
        return -1;
    step.rows = sizes[0];
    step.block = sizes[1];
    step.chunk = sizes[2];
    step.scratch = sizes[3];
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items); i++) {
        PyObject *each = PyTuple_GET_ITEM(items, i);
        step.items.emplace_back();
        auto read = PyTuple_GET_SIZE(each) == 4   ? read_code_item
                    : PyTuple_GET_SIZE(each) == 2 ? read_total_item
                                                  : read_call_item;
        int status = read(each, step.items.back());
        if (status < 0)
            return -1;
    }
    return 0;
}

int fl_run_rows(const fl_queue *q, const fl_step &step) {
    Rows rows;
    rows.q = q;
    rows.step = &step;
    rows.prepare();
    fl_parallel_for((step.rows + step.block - 1) / step.block, step.chunk, run_blocks, &rows);
    rows.finish();
    return rows.status;
}
