#include "runtime/epilogue.h"

static thread_local const fl_epilogue *offered = nullptr;

const fl_epilogue *fl_take_epilogue(const void *data, int64_t count, int64_t size) {
    const fl_epilogue *found = offered;
    if (!found || found->data != data || found->count != count || found->size != size)
        return nullptr;
    offered = nullptr;
    return found;
}

bool fl_offer_epilogue(const fl_epilogue *epilogue) {
    bool was_taken = !offered;
    offered = epilogue;
    return was_taken;
}
