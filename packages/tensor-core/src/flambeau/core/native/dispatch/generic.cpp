/* The generic call: infer, memory for the results or targets that are given, run, versions. */
#include "deferral/deferral.h"
#include "dispatch/caller.h"
#include "dispatch/overlap.h"
#include "dispatch/pointwise.h"
#include "common/stored.h"

thread_local int64_t fl_dynamic_size = -1;

int (*fl_run_decomposed)(const fl_op *, const fl_value *, int, fl_tensor *const *) = nullptr;

/* No kernel waits meanwhile: a backend may look at the memory of what it called. */
int fl_run_on_backend(int device, const fl_op *op, const fl_value *in, int n,
                      fl_tensor *const *outs) {
    const fl_backend *b = fl_backend_of(device);
    fl_queue *queue = fl_thread.queue;
    fl_thread.queue = nullptr;
    int status = b ? b->run(b->ctx, op, in, n, outs) : 1;
    if (status == 1 && b && op->flags & FL_O_DECOMPOSES)
        status = fl_run_decomposed(op, in, n, outs);
    fl_thread.queue = queue;
    if (status == 1) {
        fl_error(FL_NOT_IMPLEMENTED,
                 "%s() has no kernel on device '%s'; move the data with x.cpu() for this step, "
                 "or add the operator to the backend", op->name, fl_device_name(device));
        return fl_raise();
    }
    return status;
}

static int run_elsewhere(int device, const fl_op *op, const fl_value *in, int n,
                         fl_tensor *const *outs) {
    if (device == FL_META)
        return 0;
    if (fl_any_waiting() && fl_settle_call(op, in, n, outs) < 0)
        return -1;
    return fl_run_on_backend(device, op, in, n, outs);
}

static int run_cpu(const fl_op *op, const fl_value *in, int n, fl_tensor *const *outs) {
    int64_t work = 0;
    if (fl_any_waiting() && fl_settle_call(op, in, n, outs) < 0)
        return -1;
    for (int i = 0; i < op->nouts; i++)
        work += outs[i]->numel;
    for (int i = 0; i < n; i++)
        if (in[i].tag == FL_TENSOR)
            work += in[i].t->numel;
    if (work < FL_GRAIN)
        return op->run_cpu(op, in, n, outs) < 0 ? fl_raise() : 0;
    void *unlocked = fl_unlock_python();
    int status = op->run_cpu(op, in, n, outs);
    fl_lock_python(unlocked);
    return status < 0 ? fl_raise() : 0;
}

static fl_tensor *allocate(const fl_spec *s, const fl_value *in) {
    int device = s->device_type << 8 | s->device_index;
    if (s->layout == FL_L_ALIAS) {
        fl_tensor *source = in[s->alias].t;
        return fl_tensor_view(source, s->dtype, s->ndim, s->shape, s->strides,
                              fl_wrapping_mul(s->offset, fl_itemsize(source->dtype)));
    }
    return fl_tensor_strided(s->dtype, device, s->ndim, s->shape,
                             s->layout == FL_L_STRIDED ? s->strides : nullptr);
}

static int copy_back(fl_tensor *target, fl_tensor *temporary) {
    static const fl_op *copy = nullptr;
    if (!copy)
        copy = fl_find_op("copy");
    fl_value in[2];
    in[0].tag = in[1].tag = FL_TENSOR;
    in[0].t = target;
    in[1].t = temporary;
    fl_tensor *outs[1] = {target};
    if (target->device_type != FL_CPU)
        return run_elsewhere(target->device_type, copy, in, 2, outs);
    return run_cpu(copy, in, 2, outs);
}

/* Where a shape depends on values, they are counted on the CPU; meta tensors have none. */
static int count_on_host(fl_tensor *t) {
    fl_value in[2], out[1];
    fl_dynamic_size = -1;
    if (t->device_type == FL_META)
        return 0;
    in[0].tag = out[0].tag = FL_TENSOR;
    in[0].t = out[0].t = t;
    in[1].tag = FL_DEVICE;
    in[1].i = FL_CPU << 8;
    if (t->device_type != FL_CPU && fl_call_to_device(nullptr, in, 2, out) < 0)
        return -1;
    if (fl_any_waiting() && fl_settle("nonzero", out[0].t, true) < 0)
        return -1;
    fl_dynamic_size = fl_count_nonzero(out[0].t);
    if (out[0].t != t)
        fl_release(out[0].t);
    return fl_dynamic_size < 0 ? fl_raise() : 0;
}

/* What the arguments of a call have in common, found in one walk. */
struct Survey {
    uint32_t flags = 0;         /* of any tensor */
    int device = FL_CPU;        /* of the first tensor that is elsewhere */
    uint8_t dtype = 0;          /* the highest code; above FL_C128: stored, not computed with */
    bool complex_number = false;
    void add(const fl_tensor *t) {
        flags |= t->flags;
        dtype = t->dtype > dtype ? t->dtype : dtype;
        if (FL_UNLIKELY(t->device_type != FL_CPU) && device == FL_CPU)
            device = t->device_type;
    }
};

static inline Survey survey(const fl_value *in, int n) {
    Survey s;
    for (int i = 0; i < n; i++) {
        if (in[i].tag == FL_TENSOR) {
            if (in[i].t)
                s.add(in[i].t);
        } else if (FL_UNLIKELY(in[i].tag == FL_TENSORS)) {
            for (uint32_t k = 0; k < in[i].len; k++)
                if (in[i].ts[k])
                    s.add(in[i].ts[k]);
        } else {
            s.complex_number |= in[i].tag == FL_COMPLEX;
        }
    }
    return s;
}

/* A complex number among the arguments, such as the alpha of an addition, has no meaning for a real
 * result. Numbers that are operands make the result complex. */
static int check_complex_numbers(const fl_op *op, const fl_value *in, int n,
                                 const fl_spec *result) {
    for (int i = 0; i < n; i++) {
        if (in[i].tag != FL_COMPLEX || in[i].c[1] == 0 || fl_is_complex(result->dtype) ||
            op->params[i].role != FL_R_SCALAR)
            continue;
        fl_error(FL_RUNTIME_ERROR, "%s: value of argument '%s' cannot be converted to %s "
                 "without overflow, since it is complex; give a real number, or complex "
                 "tensors", fl_op_title(op), op->params[i].name, fl_dtype_name(result->dtype));
        return fl_raise();
    }
    return 0;
}

static inline int run_on(int device, const fl_op *op, const fl_value *in, int n,
                         fl_tensor *const *outs) {
    if (op->category == FL_VIEW_OP)
        return 0;
    if (device == FL_CPU)
        device = outs[0]->device_type;      /* a new tensor, made of numbers */
    if (FL_UNLIKELY(fl_thread.queue != nullptr)) {
        int waits = fl_defer(op, in, n, outs);
        if (waits)
            return waits < 0 ? -1 : 0;
    }
    return device == FL_CPU ? run_cpu(op, in, n, outs) : run_elsewhere(device, op, in, n, outs);
}

/* Results are made, none of them given. */
static int call_making(const fl_op *op, const fl_value *in, int n, fl_value *out, int device,
                       const fl_spec *specs) {
    fl_tensor *outs[FL_MAX_OUTS];
    int made = 0;
    if (FL_UNLIKELY(fl_any_waiting()) && fl_settle_ahead(op, in, n, specs) < 0)
        return -1;
    while (made < op->nouts && (outs[made] = allocate(&specs[made], in)))
        made++;
    if (made < op->nouts || run_on(device, op, in, n, outs) < 0) {
        while (made > 0)
            fl_release(outs[--made]);
        return -1;
    }
    for (int i = 0; i < op->nouts; i++) {
        out[i].tag = FL_TENSOR;
        out[i].t = outs[i];
    }
    return 0;
}

/* Results are written to the tensors of `out`, through new ones where they share memory with an
 * argument; those that are not given are made. */
static int call_writing(const fl_op *op, const fl_value *in, int n, fl_value *out, int device,
                        const fl_spec *specs) {
    fl_tensor *outs[FL_MAX_OUTS], *targets[FL_MAX_OUTS];
    int made = 0, status = 0;
    for (; made < op->nouts; made++) {
        fl_tensor *target = out[made].tag == FL_TENSOR ? out[made].t : nullptr;
        targets[made] = target;
        int direct = target ? fl_check_write(op, in, n, &specs[made], target) : 1;
        if (FL_UNLIKELY(direct == 2))
            return fl_write_expanded(op, in, n, out);
        if (direct < 0)
            break;
        if (target && direct == 0) {
            fl_hold(target);
            outs[made] = target;
            continue;
        }
        outs[made] = allocate(&specs[made], in);
        if (!outs[made])
            break;
    }
    status = made < op->nouts ? -1 : run_on(device, op, in, n, outs);
    for (int i = 0; i < made && status == 0; i++) {
        if (!targets[i])
            continue;
        if (outs[i] != targets[i])
            status = copy_back(targets[i], outs[i]);
        if (status == 0)
            fl_count_write(op, targets[i]);
    }
    for (int i = 0; i < made; i++) {
        if (status == 0 && targets[i]) {
            fl_release(outs[i]);
            fl_hold(targets[i]);
        } else if (status == 0) {
            out[i].tag = FL_TENSOR;
            out[i].t = outs[i];
        } else {
            fl_release(outs[i]);
        }
    }
    return status;
}

static inline bool writes(const fl_op *op, const fl_value *out) {
    for (int i = 0; i < op->nouts; i++)
        if (out[i].tag == FL_TENSOR)
            return true;
    return false;
}

int fl_call_generic(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    fl_spec specs[FL_MAX_OUTS];
    Survey seen = survey(in, n);
    if (FL_UNLIKELY(seen.flags >> FL_LEVEL_SHIFT)) {
        int met = fl_call_leveled(op, in, n, out);
        if (met)
            return met < 0 ? -1 : 0;
    }
    if (FL_UNLIKELY(op->flags & FL_O_DYNAMIC_SHAPE) && count_on_host(in[op->nparams - 1].t) < 0)
        return -1;
    if (op->infer(op, in, n, specs) < 0)
        return fl_raise();
    if (FL_UNLIKELY(seen.dtype > FL_C128 || specs[0].dtype > FL_C128) &&
        fl_check_stored(op, in, n, specs) < 0)
        return fl_raise();
    if (FL_UNLIKELY(seen.complex_number) && check_complex_numbers(op, in, n, specs) < 0)
        return -1;
    return FL_UNLIKELY(writes(op, out)) ? call_writing(op, in, n, out, seen.device, specs)
                                        : call_making(op, in, n, out, seen.device, specs);
}

/* Bytes seen as another dtype have no derivative: such a view takes no part in its base's history,
 * and a write to it is unknown to that. */
int fl_call_view_dtype(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    if (fl_call_generic(op, in, n, out) < 0)
        return -1;
    out[0].t->flags &= ~(uint32_t)FL_REQUIRES_GRAD;
    fl_leave_base(out[0].t);
    return 0;
}
