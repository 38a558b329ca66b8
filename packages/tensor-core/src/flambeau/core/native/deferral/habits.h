/* Which calls gained nothing by waiting the last times that a compiled function came to them. */
#pragma once
#include <cstdint>
#include <unordered_map>

struct fl_op;

/* What became of a call at one place of a function. */
struct fl_habit {
    uint8_t alone = 0;          /* how often it ran by itself, as it would have done at once */
    bool gained = false;        /* it shared a loop or rows, or was not needed */
    void note(bool was_alone) {
        if (!was_alone)
            gained = true;
        else if (alone < UINT8_MAX)
            alone++;
    }
    bool is_pointless(void) const { return alone >= 3 && !gained; }
};

/* Places are known by the calls that led there since the function was entered, so that a function
 * that does something else the next time has other places. Nothing but speed depends on them. */
class fl_habits {
    std::unordered_map<uint64_t, fl_habit> table;
    uint64_t place = 0;

  public:
    void enter(const void *function);
    /* Where a call leads to from here. */
    uint64_t next(const fl_op *op, int64_t numel, int dtype) const;
    fl_habit *move(uint64_t to) {
        place = to;
        return &table[to];
    }
    bool is_pointless(uint64_t at) const {
        auto found = table.find(at);
        return found != table.end() && found->second.is_pointless();
    }
    void forget(void) { table.clear(); }
};
