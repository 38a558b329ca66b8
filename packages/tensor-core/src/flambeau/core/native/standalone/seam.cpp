/* What C++ that computes asks of its surroundings, where there is neither Python, nor a tape, nor
 * transforms, nor kernels that wait. */
#include "deferral/deferral.h"
#include "dispatch/captures.h"
#include "dispatch/overlap.h"
#include "standalone/objects.h"
#include "standalone/table.h"
#include <string>
#include <unordered_map>

__thread fl_thread_state fl_thread __attribute__((tls_model("initial-exec"))) = {};
const fl_tape *fl_the_tape = nullptr;
int fl_waiting_queues = 0, fl_capture_scopes = 0;

int fl_raise(void) { return -1; }       /* the text stays where fl_error put it */
void *fl_unlock_python(void) { return nullptr; }
void fl_lock_python(void *) {}

/* ---- operators ----------------------------------------------------------------------------- */

const fl_op *find_operator(std::string_view key) {
    static const auto *by_key = [] {
        auto *made = new std::unordered_map<std::string, const fl_op *>;
        for (int i = 0; i < fl_builtin_count; i++) {
            const fl_op &op = fl_builtin_ops[i];
            std::string name = op.name;
            if (op.overload[0])
                name.append(".").append(op.overload);
            if (op.category != FL_COMPOSITE)
                made->emplace(name, &op);
        }
        return made;
    }();
    auto found = by_key->find(std::string(key));
    return found == by_key->end() ? nullptr : found->second;
}

fl_op *fl_find_op(const char *key) { return const_cast<fl_op *>(find_operator(key)); }

int fl_dispatch(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    return op->call(op, in, n, out);
}

int fl_call_to_device(const fl_op *, const fl_value *in, int, fl_value *out) {
    if (in[1].i != FL_CPU << 8)
        return fl_error(FL_NOT_IMPLEMENTED, "the runtime computes on the CPU alone");
    out[0].tag = FL_NONE;
    return fl_call_generic(fl_find_op("clone"), in, 1, out);
}

int fl_call_copy(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    return fl_call_generic(op, in, n, out);
}

/* Programs were warned of masks of bytes when they were recorded. */
int fl_choose_by_bytes(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    fl_value test[2] = {in[0]}, mask[1] = {};
    test[1].tag = FL_INT;
    mask[0].tag = FL_NONE;
    if (fl_call_pointwise(fl_find_op("ne"), test, 2, mask) < 0)
        return -1;
    const fl_value chosen[] = {mask[0], in[1], in[2]};
    const int status = fl_call_pointwise(op, chosen, n, out);
    fl_release(mask[0].t);
    return status;
}

const fl_backend *fl_backend_of(int) { return nullptr; }
const char *fl_device_name(int type) { return type == FL_CPU ? "cpu" : "another device"; }

/* ---- what does not happen here ------------------------------------------------------------- */

int fl_defer(const fl_op *, const fl_value *, int, fl_tensor *const *) { return 0; }
int fl_settle_call(const fl_op *, const fl_value *, int, fl_tensor *const *) { return 0; }
int fl_settle_ahead(const fl_op *, const fl_value *, int, const fl_spec *) { return 0; }
int fl_settle(const char *, const fl_tensor *, bool) { return 0; }
int fl_call_leveled(const fl_op *, const fl_value *, int, fl_value *) { return 0; }
bool fl_is_captured(const fl_tensor *) { return false; }
void fl_tell_of_write(const fl_op *, fl_tensor *) {}

void fl_leave_base(fl_tensor *t) {
    t->flags &= ~(uint32_t)(FL_VIEW | FL_CONSTANT_VIEW | FL_MULTI_VIEW);
}

int fl_resize_out(const fl_op *op, const fl_spec *result, fl_tensor *t) {
    return fl_error(FL_RUNTIME_ERROR, "%s(): the result has shape %s, and the tensor that the "
                    "program writes it to has shape %s", op->name,
                    fl_shape_text(result->shape, result->ndim), fl_shape_text(t->shape, t->ndim));
}

int fl_write_expanded(const fl_op *op, const fl_value *, int, fl_value *) {
    return fl_error(FL_NOT_IMPLEMENTED, "%s(): an expanded tensor is written to through an index; "
                    "clone() it before, and trace again", op->name);
}
