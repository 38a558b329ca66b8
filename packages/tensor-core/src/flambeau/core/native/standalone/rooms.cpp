/* Results in the caller's buffers: see rooms.h. */
#include "standalone/rooms.h"
#include <algorithm>

Ref over_memory(void *data, size_t bytes, bool is_constant, int dtype, int ndim,
                const int64_t *shape) {
    fl_storage *s = fl_storage_foreign((char *)data, bytes, 0, nullptr, is_constant);
    fl_tensor *t = s ? fl_tensor_on(s, dtype, ndim, shape, nullptr, 0) : nullptr;
    if (s)
        fl_release(s);
    return made(t);
}

namespace {

bool overlap(const flambeau_tensor &a, const flambeau_tensor &b) {
    const uintptr_t i = (uintptr_t)a.data, j = (uintptr_t)b.data;
    return i < j ? j - i < a.bytes : i - j < b.bytes;
}

}  // namespace

Rooms find_rooms(const flambeau_program &p, const flambeau_tensor *inputs,
                 const flambeau_tensor *outputs) {
    Rooms rooms;
    for (size_t i = 0; i < p.gives.size(); i++) {
        const flambeau_tensor &out = outputs[i];
        bool is_apart = out.data != nullptr;
        for (size_t k = 0; k < p.takes.size(); k++)
            is_apart = is_apart && !overlap(out, inputs[k]);
        for (size_t k = 0; k < p.gives.size(); k++)
            is_apart = is_apart && (k == i || !overlap(out, outputs[k]));
        if (is_apart)
            rooms.emplace(p.gives[i].value, Room{out.data, out.bytes});
    }
    return rooms;
}

bool is_alone(const std::vector<Ref> &results, size_t index, const std::vector<Ref> &inputs,
              const flambeau_session &session) {
    const fl_storage *own = (const fl_storage *)results[index]->storage;
    auto lies_there = [&](const Ref &other) {
        return other && (const fl_storage *)other->storage == own;
    };
    if (own->readonly || results[index]->data != own->ptr ||
        !(results[index]->flags & FL_CONTIGUOUS))
        return false;
    for (const std::vector<Ref> *others : {&inputs, &session.captures})
        if (std::any_of(others->begin(), others->end(), lies_there))
            return false;
    return std::count_if(results.begin(), results.end(), lies_there) == 1;
}

const Room *room_of(const Rooms *rooms, int value) {
    if (!rooms)
        return nullptr;
    const auto found = rooms->find(value);
    return found == rooms->end() ? nullptr : &found->second;
}

Ref in_room(const Rooms *rooms, int value, const fl_spec &spec) {
    const Room *room = room_of(rooms, value);
    int64_t count, bytes;
    if (!room || spec.layout != FL_L_CONTIGUOUS ||
        !fl_count_elements(spec.ndim, spec.shape, &count) || !count ||
        __builtin_mul_overflow(count, fl_itemsize(spec.dtype), &bytes) ||
        (uint64_t)bytes > room->bytes ||
        (uintptr_t)room->data % (uintptr_t)fl_itemsize(spec.dtype))
        return Ref();
    return over_memory(room->data, (size_t)bytes, false, spec.dtype, spec.ndim, spec.shape);
}
