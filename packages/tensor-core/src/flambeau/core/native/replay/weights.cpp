/* Packing weights for replays: which, and how long a copy stands for its weight. */
#include "replay/weights.h"
#include "conv/winograd.h"
#include "op_index.h"
#include "runtime/alloc.h"
#include <algorithm>

namespace {

/* Products with more rows spend less than a fiftieth of their time on packing. */
const int64_t MOST_ROWS = 256;
/* Replays that find a weight unchanged until it is packed: training writes to it at each. */
const int USES_BEFORE_PACKING = 3;
/* Of all copies together. */
const int64_t MOST_BYTES = 64 << 20;

int64_t bytes_of_all = 0;

/* The weights that programs read; these own them. */
std::vector<std::weak_ptr<fl_packed_weight>> &known(void) {
    static auto *all = new std::vector<std::weak_ptr<fl_packed_weight>>;
    return *all;
}

/* Whether versions tell of all writes, and all that were counted have been made. */
bool tells_of_writes(const fl_storage *s) {
    return s->kind != FL_S_FOREIGN && !(s->is_shared & ~(uint32_t)FL_S_READ_LATER) && !s->queue;
}

/* ---- layouts --------------------------------------------------------------------------------- */

int64_t product_elements(const fl_kernel_run &run) {
    const fl_tensor *input = run.values[0].t, *weight = run.values[1].t;
    const int64_t n = weight->shape[0], k = weight->shape[1], rows = input->numel / k;
    return rows > MOST_ROWS ? 0 : fl_packed_matrix_elements(rows, n, k);
}

/* The layout for Winograd's convolution, if it suits. */
void set_windows(const fl_kernel_run &run, fl_weight_layout *l) {
    fl_conv_nd c;
    if (fl_conv_read_forward(run.op, run.values.data(), 2, &c) < 0)
        return fl_error_clear();
    if (!fl_conv_suits_winograd(c.p))
        return;
    l->windows = fl_conv_layout_of(c.p);
    l->elements = fl_conv_laid_elements(l->windows, l->outputs, l->inputs);
}

fl_weight_layout layout_of(const fl_kernel_run &run) {
    const fl_tensor *w = run.values[1].t;
    const bool is_product = run.op->index == FL_OP_linear;
    if (w->dtype != FL_F32 || w->ndim != (is_product ? 2 : 4) || !w->numel ||
        !run.values[0].t->numel || !fl_is_contiguous(w))
        return {};
    fl_weight_layout l = {(const float *)w->data, w->shape[0], w->shape[1], !is_product,
                          FL_CONV_DIRECT, 0};
    if (is_product)
        l.elements = product_elements(run);
    else
        set_windows(run, &l);
    return l;
}

void pack(const fl_weight_layout &l, float *to) {
    if (l.has_windows)
        fl_conv_lay_windows(l.windows, l.data, l.outputs, l.inputs, to);
    else
        fl_pack_matrix(l.data, l.outputs, l.inputs, to);
}

}  // namespace

/* ---- one weight ------------------------------------------------------------------------------ */

fl_packed_weight::~fl_packed_weight() {
    auto is_gone = [](const std::weak_ptr<fl_packed_weight> &each) { return each.expired(); };
    known().erase(std::remove_if(known().begin(), known().end(), is_gone), known().end());
}

bool fl_packed_weight::is_of(const fl_storage *s, const fl_weight_layout &l) const {
    return storage == s && layout.data == l.data && layout.has_windows == l.has_windows &&
           layout.windows == l.windows && layout.outputs == l.outputs && layout.inputs == l.inputs;
}

std::shared_ptr<const float> fl_packed_weight::make(void) const {
    const size_t bytes = (size_t)layout.elements * sizeof(float);
    float *to = bytes_of_all + (int64_t)bytes > MOST_BYTES ? nullptr : (float *)fl_alloc(bytes);
    if (!to)
        return nullptr;
    pack(layout, to);
    bytes_of_all += (int64_t)bytes;
    return std::shared_ptr<const float>(to, [bytes](const float *memory) {
        bytes_of_all -= (int64_t)bytes;
        fl_free(const_cast<float *>(memory), bytes);
    });
}

std::shared_ptr<const float> fl_packed_weight::packed(void) {
    const uint32_t now = storage->version & ~FL_VERSION_SAVED;
    if (now != version || !tells_of_writes(storage)) {
        version = now;
        uses = 0;
        memory.reset();
    } else if (!memory && uses < USES_BEFORE_PACKING && ++uses == USES_BEFORE_PACKING) {
        memory = make();
    }
    return memory;
}

/* ---- weights of programs --------------------------------------------------------------------- */

const fl_storage *fl_constant_weight(const fl_recorder *r, const fl_kernel_run &run) {
    const bool reads_one = run.op->index == FL_OP_linear || run.op->index == FL_OP_conv2d;
    if (!reads_one || run.values[0].i < 0 || run.values[1].i < 0)
        return nullptr;
    const fl_memory &m = r->memories[r->extents[(size_t)run.values[1].i].memory];
    return m.is_written || !m.outside || m.outside->device_type != FL_CPU ? nullptr : m.outside;
}

std::shared_ptr<fl_packed_weight> fl_find_packed_weight(const fl_storage *s,
                                                        const fl_kernel_run &run) {
    const fl_weight_layout layout = layout_of(run);
    if (!layout.elements)
        return nullptr;
    for (const std::weak_ptr<fl_packed_weight> &each : known()) {
        std::shared_ptr<fl_packed_weight> found = each.lock();
        if (found && found->is_of(s, layout))
            return found;
    }
    auto made = std::make_shared<fl_packed_weight>(s, layout);
    known().push_back(made);
    return made;
}

int64_t fl_packed_weight_bytes(void) { return bytes_of_all; }

fl_weight_offer::fl_weight_offer(fl_packed_weight *weight) {
    if (weight)
        memory_ = weight->packed();
    if (!memory_)
        return;
    const fl_weight_layout &l = weight->layout;
    if (l.has_windows) {
        windows_ = {l.data, memory_.get(), l.windows};
        fl_conv_offer_packed(&windows_);
    } else {
        matrix_ = {l.data, l.outputs, l.inputs, memory_.get()};
        fl_offer_packed_matrix(&matrix_);
    }
}

fl_weight_offer::~fl_weight_offer() {
    if (!memory_)
        return;
    fl_offer_packed_matrix(nullptr);
    fl_conv_offer_packed(nullptr);
}
