/* What may be done with numbers that are stored: see stored.h. */
#include "common/stored.h"
#include "opdef_enums.h"

int fl_check_promotion(int a, int b) {
    if (a == b || !(fl_is_float8(a) || fl_is_float8(b)))
        return 0;
    return fl_error(FL_RUNTIME_ERROR, "Promotion for Float8 Types is not supported, attempted to "
                    "promote %s and %s; convert one of them, e.g. with x.float()",
                    fl_dtype_name(a), fl_dtype_name(b));
}

namespace {

/* What is common to all tensors of a call. */
struct Stored {
    int dtype = FL_NO_DTYPE;    /* the last that is stored */
    bool float8 = false;
    int status = 0;

    /* Of operators that promote: with the tensors before. Masks are of bool. */
    void add(const fl_tensor *t, int *common) {
        if (t->dtype == FL_BOOL)
            return;
        note(t->dtype);
        if (common && *common != FL_NO_DTYPE && status == 0)
            status = fl_check_promotion(*common, t->dtype);
        if (common)
            *common = t->dtype;
    }

    void note(int d) {
        if (fl_is_stored(d))
            dtype = d;
        float8 |= fl_is_float8(d);
    }
};

Stored stored_in(const fl_value *in, int n, int *common) {
    Stored seen;
    for (int i = 0; i < n; i++) {
        if (in[i].tag == FL_TENSOR && in[i].t)
            seen.add(in[i].t, common);
        for (uint32_t k = 0; in[i].tag == FL_TENSORS && k < in[i].len; k++)
            if (in[i].ts[k])
                seen.add(in[i].ts[k], common);
    }
    return seen;
}

}  // namespace

int fl_check_stored(const fl_op *op, const fl_value *in, int n, const fl_spec *results) {
    if (op->category == FL_VIEW_OP)
        return 0;
    int common = FL_NO_DTYPE;
    bool promotes = op->category == FL_POINTWISE || (n && in[0].tag == FL_TENSORS);
    Stored seen = stored_in(in, n, promotes ? &common : nullptr);
    if (seen.status < 0)
        return -1;
    for (int i = 0; i < op->nouts; i++)
        seen.note(results[i].dtype);
    if (op->flags & FL_O_ANY_DTYPE || (op->category == FL_POINTWISE && !seen.float8))
        return 0;
    return fl_error(FL_NOT_IMPLEMENTED, "%s: not implemented for %s, whose numbers are stored and "
                    "not computed with; convert them with x.to(flambeau.%s)", fl_op_title(op),
                    fl_dtype_name(seen.dtype), seen.float8 ? "float32" : "complex64");
}
