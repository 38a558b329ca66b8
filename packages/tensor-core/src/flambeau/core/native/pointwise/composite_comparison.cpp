/* Whole tensors compared, elements looked up. What is out of the ordinary, targets for the result
 * and errors in Python. */
#include "common/compose.h"

/* Whether all are true, as a Python bool; takes the reference. */
static PyObject *all_true(fl_tensor *places) {
    Made made(places);
    Made all(made ? fl_compose(FL_OP_all, fl_tensor_value(made)) : nullptr);
    if (!all)
        return nullptr;
    int truth = PyObject_IsTrue((PyObject *)all.get());
    return truth < 0 ? nullptr : PyBool_FromLong(truth);
}

int fl_call_equal(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    if (!fl_same_shape(in[0].t, in[1].t))
        return fl_compose_result(op, in, n, out, Py_NewRef(Py_False));
    return fl_compose_result(op, in, n, out, all_true(fl_compose(FL_OP_eq, in[0], in[1])));
}

/* ---- sets and places ------------------------------------------------------------------------- */

/* Many elements are compared one by one with up to so many: see isin in Python. */
static const int64_t FEW = 4, MANY = 1 << 10;

static bool stand_in_table(const fl_tensor *x, const fl_tensor *tests) {
    return x && tests && x->dtype == tests->dtype && !fl_is_complex(x->dtype) &&
           tests->ndim == 1 && tests->numel > 0 && (tests->numel > FEW || x->numel <= MANY);
}

/* (elements, test_elements, assume_unique, invert) */
int fl_call_isin(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    if (!fl_is_short(out, stand_in_table(fl_t(in[0]), fl_t(in[1]))))
        return fl_call_composite(op, in, n, out);
    Made found(fl_compose(FL_OP_isin_of, in[0], in[1]));
    if (!found || !in[3].i)
        return fl_compose_result(op, in, n, out, found.give());
    return fl_compose_result(op, in, n, out, fl_compose(FL_OP_logical_not, fl_tensor_value(found)));
}

/* Whether two shapes differ in one dimension at most. */
static bool fit_along(const fl_tensor *x, const fl_tensor *places, int64_t dim) {
    if (x->ndim != places->ndim || dim < 0 || dim >= x->ndim)
        return false;
    for (int i = 0; i < x->ndim; i++)
        if (i != dim && x->shape[i] != places->shape[i])
            return false;
    return places->dtype == FL_I64;
}

/* (self, indices, dim): indices from the end are counted from the start. */
int fl_call_take_along_dim(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    const fl_tensor *x = in[0].t;
    int64_t dim = fl_is_none(in[2]) ? -1 : in[2].i + (in[2].i < 0 ? x->ndim : 0);
    if (!fl_is_short(out, fit_along(x, in[1].t, dim)))
        return fl_call_composite(op, in, n, out);
    Made from_end(fl_compose(FL_OP_lt, in[1], fl_int_value(0)));
    Made shifted(from_end ? fl_compose(FL_OP_add, in[1], fl_int_value(x->shape[dim])) : nullptr);
    if (!shifted)
        return -1;
    Made places(fl_compose(FL_OP_where, fl_tensor_value(from_end), fl_tensor_value(shifted),
                           in[1]));
    if (!places)
        return -1;
    return fl_compose_result(op, in, n, out,
                             fl_compose(FL_OP_gather, in[0], fl_int_value(dim),
                                        fl_tensor_value(places)));
}
