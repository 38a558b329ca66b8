#include "plans.h"

#include <string.h>

static constexpr uint32_t kMostText = 16;

void Signature::add(const void *data, size_t size) {
    const uint8_t *from = (const uint8_t *)data;
    for (size_t i = 0; i < size; i++) {
        bytes[length++] = from[i];
        hash = (hash ^ from[i]) * 1099511628211u;       /* FNV-1a */
    }
}

/* A tensor's dtype with a bit for no dimensions and one for the host, or a value's tag, with a bit
 * for integers below 0, which compare otherwise with uint64. */
static uint8_t code_of(const fl_value &v) {
    if (v.tag == FL_INT && v.i < 0)
        return (uint8_t)(0xc0 | v.tag);
    if (v.tag != FL_TENSOR || !v.t)
        return (uint8_t)(0x80 | (v.tag == FL_TENSOR ? (uint32_t)FL_NONE : v.tag));
    return (uint8_t)(v.t->dtype | (v.t->ndim ? 0 : 0x20) | (v.t->device_type == FL_CPU ? 0x40 : 0));
}

bool fl_is_number(const fl_value &v) {
    return v.tag == FL_INT || v.tag == FL_FLOAT || v.tag == FL_COMPLEX || v.tag == FL_BOOLEAN;
}

Signature fl_sign(const fl_op *op, const fl_value *in, int n, fl_tensor *const *outs,
                  bool with_numbers) {
    Signature s;
    s.add(&op, sizeof op);
    for (int i = 0; i < n; i++) {
        uint8_t code = code_of(in[i]);
        s.add(&code, 1);
        if (in[i].tag == FL_STRING)         /* strings choose kernels */
            s.add(in[i].s, in[i].len < kMostText ? in[i].len : kMostText);
        if (in[i].tag == FL_BOOLEAN)
            s.add(&in[i].i, 1);
        for (uint32_t k = 0; in[i].tag == FL_TENSORS && k < in[i].len && k < FL_VIEWS; k++) {
            uint8_t listed = in[i].ts[k] ? (uint8_t)in[i].ts[k]->dtype : (uint8_t)FL_NO_DTYPE;
            s.add(&listed, 1);
        }
        if (with_numbers && fl_is_number(in[i]))
            s.add(&in[i].i, in[i].tag == FL_COMPLEX ? sizeof in[i].c : sizeof in[i].i);
    }
    for (int i = 0; i < op->nouts; i++)
        s.add(&outs[i]->dtype, 1);
    s.add(&outs[0]->device_index, 1);       /* a kernel's handle is one device's */
    return s;
}

/* The slot that holds a key, or the empty one where it belongs. */
Plans::Slot &Plans::slot_of(std::vector<Slot> &slots, const void *key, size_t size,
                            uint64_t hash) const {
    for (size_t i = hash & (slots.size() - 1);; i = (i + 1) & (slots.size() - 1)) {
        Slot &s = slots[i];
        if (!s.plan
            || (s.hash == hash && s.key.size() == size && !memcmp(s.key.data(), key, size)))
            return s;
    }
}

const Plan *Plans::find(const Signature &s) const {
    return slot_of(const_cast<std::vector<Slot> &>(slots_), s.bytes, s.length, s.hash).plan;
}

/* Calls by ever new numbers would fill the table: it begins anew. */
void Plans::forget() {
    for (Slot &s : slots_) {
        if (s.plan)
            Py_XDECREF(s.plan->name);
        if (s.plan)
            delete s.plan->program;
        delete s.plan;
        s.plan = nullptr;
    }
    used_ = 0;
}

const Plan *Plans::keep(const Signature &s, const Plan &plan) {
    if (used_ >= kMostPlans)
        forget();
    if (2 * (used_ + 1) > slots_.size())
        grow();
    Slot &slot = slot_of(slots_, s.bytes, s.length, s.hash);
    if (!slot.plan) {
        slot.key.assign((const char *)s.bytes, s.length);
        slot.hash = s.hash;
        slot.plan = new Plan(plan);
        used_++;
    }
    return slot.plan;
}

void Plans::grow() {
    std::vector<Slot> larger(slots_.size() * 2);
    for (Slot &s : slots_)
        if (s.plan)
            slot_of(larger, s.key.data(), s.key.size(), s.hash) = s;
    slots_.swap(larger);
}

bool Plans::needs_numbers(const fl_op *op) const {
    for (const fl_op *known : by_number_)
        if (known == op)
            return true;
    return false;
}

void Plans::set_needs_numbers(const fl_op *op) {
    if (!needs_numbers(op))
        by_number_.push_back(op);
}
