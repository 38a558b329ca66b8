#include "programs.h"

#include <stddef.h>

#include "families.h"
#include "packing.h"

int fl_start_programs(void) { return fl_import(); }

/* ---- from Python ---------------------------------------------------------------------------- */
static int read_step(PyObject *made, Step &step) {
    unsigned long long few, many;
    if (!PyArg_ParseTuple(made, "KKbbH", &few, &many, &step.policy, &step.view, &step.block))
        return -1;
    step.few = (void *)(uintptr_t)few;
    step.many = (void *)(uintptr_t)many;
    return 0;
}

int fl_read_program(PyObject *made, Program &p, PyObject **name) {
    PyObject *steps;
    if (!PyArg_ParseTuple(made, "UbbbbbbIHO!", name, &p.family, &p.span, &p.span_parameter,
                          &p.beginning, &p.width, &p.scratch_view, &p.scratch_each, &p.aside,
                          &PyTuple_Type, &steps))
        return -1;
    Py_ssize_t count = PyTuple_GET_SIZE(steps);
    if (count > FL_MOST_STEPS) {
        PyErr_Format(PyExc_ValueError, "%zd steps; a program has at most %d", count,
                     FL_MOST_STEPS);
        return -1;
    }
    p.count = (uint8_t)count;
    for (int i = 0; i < p.count; i++)
        if (read_step(PyTuple_GET_ITEM(steps, i), p.steps[i]) < 0)
            return -1;
    return 0;
}

/* ---- launches ------------------------------------------------------------------------------- */
int fl_launch_items(Running &r, void *function, int64_t blocks, uint32_t threads, int64_t items) {
    if (!blocks || !items)
        return 0;
    fl_widest_packet &packet = r.packed.packet;
    packet.items = items;
    uint32_t grid[3] = {(uint32_t)(blocks < FL_MOST_BLOCKS ? blocks : FL_MOST_BLOCKS), 1, 1};
    uint32_t block[3] = {threads, 1, 1};
    size_t bytes = offsetof(fl_widest_packet, views) + sizeof(fl_view) * r.program.width;
    int status = fl_launch(r.device, r.outs[0]->device_index, function, grid, block, 0, &packet,
                           bytes);
    return status ? fl_raise_status(r.device, status, r.plan.name) : 0;
}

int fl_take_scratch(Running &r, int which, size_t bytes) {
    if (!bytes)
        return 0;
    const int index = r.outs[0]->device_index;
    return r.packed.hold(r.device.blocks.take(index, fl_stream_of(r.device, index), bytes,
                                              &r.packed.packet.scratch[which]));
}

#define FL_SHORT_ROW 1024
#define FL_WARPS_OF_BLOCK 4

int fl_run_step(Running &r, const Step &step) {
    const fl_head &h = r.packed.packet;
    int64_t numel = r.packed.packet.views[step.view].numel;
    switch (step.policy) {
    case FL_PER_ELEMENT:
        return fl_launch_items(r, step.few, (numel + step.block - 1) / step.block, step.block,
                               numel);
    case FL_PER_THREAD_ROW:
        return fl_launch_items(r, step.few, (h.rows + step.block - 1) / step.block, step.block,
                               h.rows);
    case FL_PER_COLUMNS: return fl_run_columns(r, step);
    case FL_PER_PLANE: return fl_launch_items(r, step.few, numel, step.block, numel);
    case FL_IN_PARTS: return fl_run_parts(r, step);
    case FL_ONCE: return fl_launch_items(r, step.few, 1, step.block, 1);
    default:
        if (h.length <= FL_SHORT_ROW && step.few)
            return fl_launch_items(r, step.few,
                                   (h.rows + FL_WARPS_OF_BLOCK - 1) / FL_WARPS_OF_BLOCK,
                                   32 * FL_WARPS_OF_BLOCK, h.rows);
        return fl_launch_items(r, step.many, h.rows, step.block, h.rows);
    }
}

/* ---- what results hold at first --------------------------------------------------------------- */
static int write_all(Running &r, const char *name, const fl_value &value) {
    const fl_op *op = FL->find_op(name);
    fl_value pair[2] = {};
    pair[0].tag = FL_TENSOR;
    pair[0].t = r.outs[0];
    pair[1] = value;
    return op ? fl_run_planned(r.device, op, pair, 2, r.outs) : -1;
}

static int begin(Running &r) {
    const fl_value *in = r.packed.values;
    if (r.program.beginning == FL_BEGIN_ZERO) {
        fl_value zero = {};
        zero.tag = FL_INT;
        return write_all(r, "fill", zero);
    }
    if (r.program.beginning == FL_BEGIN_FIRST && in[0].t->data != r.outs[0]->data)
        return write_all(r, "copy", in[0]);
    return 0;
}

static size_t scratch_bytes(const Program &program, const Packed &packed) {
    const int view = program.scratch_view;
    const int64_t count = view == FL_OF_THE_CALL ? 1 : packed.packet.views[view].numel;
    return (size_t)program.scratch_each * (size_t)count;
}

static bool is_empty(const fl_op *op, fl_tensor *const *outs) {
    for (int i = 0; i < op->nouts; i++)
        if (outs[i]->numel)
            return false;
    return true;
}

int fl_run_program(Device &d, const Plan &plan, const fl_op *op, const fl_value *in, int n,
                   fl_tensor *const *outs) {
    if (is_empty(op, outs))
        return 0;
    if (plan.program->family == FL_JOINING)
        return fl_run_joining(d, in, outs[0]);
    Packed packed;
    Running r = {d, plan, *plan.program, packed, outs};
    int status = packed.take(op, in, n, outs);
    if (!status && packed.views > r.program.width)
        status = 1;
    if (!status)
        status = begin(r);
    if (!status) {
        packed.arrange(r.program);
        status = packed.close();
    }
    if (!status)
        status = fl_take_scratch(r, FL_OWN_SCRATCH, scratch_bytes(r.program, packed));
    if (status)
        return status;
    switch (r.program.family) {
    case FL_REDUCING: return fl_run_reduction(r);
    case FL_SORTING: return fl_run_sorting(r);
    case FL_SPREADING: return fl_run_spread(r, 2);
    case FL_SCANNING: return fl_run_spread(r, 3);
    default: break;
    }
    for (int i = 0; i < r.program.count; i++)
        if ((status = fl_run_step(r, r.program.steps[i])))
            return status;
    return 0;
}
