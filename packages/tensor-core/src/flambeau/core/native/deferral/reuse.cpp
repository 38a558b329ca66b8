/* Which result takes whose memory: blocks of one size, the last that was let go of first. */
#include "deferral/reuse.h"
#include <map>

fl_reuse::fl_reuse(fl_queue *queue) : q(queue), lives(queue->slots.size()) {
    find_lives();
    assign();
    move(true);
}

void fl_reuse::find_lives(void) {
    for (size_t i = 0; i < q->calls.size(); i++) {
        const fl_queue::Call &c = q->calls[i];
        for (size_t k = 0; k < (size_t)(c.n + c.nouts); k++) {
            const fl_value &v = q->values[c.first + k];
            if (v.tag != FL_TENSOR)
                continue;
            Life &life = lives[v.len];
            if (life.first == SIZE_MAX) {
                life.first = i;
                life.is_made = k >= c.n;
            }
            life.last = i;
        }
    }
    for (size_t s = 0; s < lives.size(); s++) {
        const fl_queue::Slot &slot = q->slots[s];
        lives[s].is_made &= slot.is_kept && !slot.storage->device_type;
        if (slot.kept_at > lives[s].last + 1)
            lives[s].last = slot.kept_at - 1;
    }
}

void fl_reuse::assign(void) {
    std::map<size_t, std::vector<char *>> free;
    for (size_t i = 0; i < q->calls.size(); i++) {
        for (size_t s = 0; s < lives.size(); s++) {
            if (!lives[s].is_made || lives[s].first != i)
                continue;
            std::vector<char *> &blocks = free[q->slots[s].storage->nbytes];
            lives[s].there = blocks.empty() ? q->slots[s].storage->ptr : blocks.back();
            if (!blocks.empty())
                blocks.pop_back();
        }
        for (size_t s = 0; s < lives.size(); s++)
            if (lives[s].is_made && lives[s].last == i)
                free[q->slots[s].storage->nbytes].push_back(lives[s].there);
    }
}

void fl_reuse::move(bool there) {
    for (fl_value &v : q->values) {
        if (v.tag != FL_TENSOR || !lives[v.len].there)
            continue;
        char *own = q->slots[v.len].storage->ptr, *other = lives[v.len].there;
        v.t->data += there ? other - own : own - other;
    }
}
