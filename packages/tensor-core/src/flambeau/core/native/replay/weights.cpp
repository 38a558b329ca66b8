/* Packing weights for replays: which, and how long a copy stands for its weight. */
#include "replay/weights.h"
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

/* The extent of a weight that was there before and that no kernel of the recording writes. */
const fl_extent *weight_of(const fl_recorder *r, const fl_kernel_run &run) {
    if (run.op->index != FL_OP_linear || run.values[0].i < 0 || run.values[1].i < 0)
        return nullptr;
    const fl_extent &e = r->extents[(size_t)run.values[1].i];
    const fl_memory &m = r->memories[e.memory];
    const bool is_plain = m.outside && !m.is_written && m.outside->device_type == FL_CPU;
    return is_plain && e.dtype == FL_F32 && e.shape.size() == 2 ? &e : nullptr;
}

int64_t rows_of(const fl_extent &input) {
    int64_t rows = 1;
    for (size_t i = 0; i + 1 < input.shape.size(); i++)
        rows *= input.shape[i];
    return rows;
}

}  // namespace

fl_packed_weight::fl_packed_weight(const fl_storage *s, const fl_extent &e, int64_t count)
    : data((const float *)(s->ptr + e.start)), n(e.shape[0]), k(e.shape[1]), storage(s),
      elements(count) {}

fl_packed_weight::~fl_packed_weight() {
    auto is_gone = [](const std::weak_ptr<fl_packed_weight> &each) { return each.expired(); };
    known().erase(std::remove_if(known().begin(), known().end(), is_gone), known().end());
}

bool fl_packed_weight::is_of(const fl_storage *s, const fl_extent &e) const {
    return storage == s && data == (const float *)(s->ptr + e.start) && n == e.shape[0] &&
           k == e.shape[1];
}

std::shared_ptr<const float> fl_packed_weight::make(void) const {
    const size_t bytes = (size_t)elements * sizeof(float);
    float *to = bytes_of_all + (int64_t)bytes > MOST_BYTES ? nullptr : (float *)fl_alloc(bytes);
    if (!to)
        return nullptr;
    fl_pack_matrix(data, n, k, to);
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

std::shared_ptr<fl_packed_weight> fl_find_packed_weight(const fl_recorder *r,
                                                        const fl_kernel_run &run) {
    const fl_extent *e = weight_of(r, run);
    if (!e || e->strides[1] != 1 || e->strides[0] != e->shape[1])
        return nullptr;
    const int64_t rows = rows_of(r->extents[(size_t)run.values[0].i]);
    const int64_t elements = fl_packed_matrix_elements(rows, e->shape[0], e->shape[1]);
    if (!elements || rows > MOST_ROWS)
        return nullptr;
    const fl_storage *s = r->memories[e->memory].outside;
    for (const std::weak_ptr<fl_packed_weight> &each : known()) {
        std::shared_ptr<fl_packed_weight> found = each.lock();
        if (found && found->is_of(s, *e))
            return found;
    }
    auto made = std::make_shared<fl_packed_weight>(s, *e, elements);
    known().push_back(made);
    return made;
}

int64_t fl_packed_weight_bytes(void) { return bytes_of_all; }

fl_weight_offer::fl_weight_offer(fl_packed_weight *weight) : matrix_{} {
    if (weight)
        memory_ = weight->packed();
    if (!memory_)
        return;
    matrix_ = {weight->data, weight->n, weight->k, memory_.get()};
    fl_offer_packed_matrix(&matrix_);
}

fl_weight_offer::~fl_weight_offer() {
    if (memory_)
        fl_offer_packed_matrix(nullptr);
}
