/* What the 32 lanes of a warp do together. A lane leaves a request and waits; the last one to come
 * answers all, so that results lie on the stacks of those who asked. */

struct fl_request {
    const void *in;
    void *out;
    int argument;
    void (*answer)(fl_warp &, uint32_t mask);
};

static int fl_lane(void) { return fl_running->now->number & 31; }

static void fl_ask(uint32_t mask, fl_request request, int line) {
    fl_thread &t = *fl_running->now;
    fl_warp &warp = fl_running->warps[t.number / 32];
    fl_thread *first = &fl_running->threads[t.number & ~31];
    if (!(mask >> fl_lane() & 1))
        FL_FAIL("line %d: lane %d is not in its own mask %08x", line, fl_lane(), mask);
    t.mask = mask;
    t.line = line;
    warp.requests[fl_lane()] = &request;
    warp.arrived |= 1u << fl_lane();
    if ((warp.arrived & mask) != mask) {
        t.state = FL_IN_WARP;
        fl_yield();
        return;
    }
    for (int l = 0; l < 32; l++)
        if (mask >> l & 1 && (first[l].mask != mask || warp.requests[l]->answer != request.answer))
            FL_FAIL("line %d: lane %d waits at line %d, with mask %08x instead of %08x or for "
                    "something else", line, l, first[l].line, first[l].mask, mask);
    request.answer(warp, mask);
    warp.arrived &= ~mask;
    for (int l = 0; l < 32; l++)
        if (mask >> l & 1 && &first[l] != &t)
            first[l].state = FL_READY;
}

/* ---- shuffles ---------------------------------------------------------------------------------- */
/* `argument` is the lane that is read. */
template <class T> static void fl_answer_shuffle(fl_warp &warp, uint32_t mask) {
    for (int l = 0; l < 32; l++) {
        if (!(mask >> l & 1))
            continue;
        int from = warp.requests[l]->argument;
        if (!(mask >> from & 1))
            FL_FAIL("lane %d reads lane %d, which is not in the mask %08x", l, from, mask);
        *(T *)warp.requests[l]->out = *(const T *)warp.requests[from]->in;
    }
}

template <class T> static T fl_shuffle(uint32_t mask, T value, int from, int line) {
    T out;
    fl_ask(mask, fl_request{&value, &out, from, fl_answer_shuffle<T>}, line);
    return out;
}

/* The lane to read within segments of `width` lanes: one's own where it lies in another one. */
static int fl_segment_lane(int wanted, int width) {
    int base = fl_lane() & ~(width - 1);
    return wanted < base || wanted >= base + width ? fl_lane() : wanted;
}

template <class T>
static T __shfl_sync(unsigned mask, T value, int from, int width = 32,
                     int line = __builtin_LINE()) {
    return fl_shuffle(mask, value, (fl_lane() & ~(width - 1)) + (from & (width - 1)), line);
}
template <class T>
static T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = 32,
                        int line = __builtin_LINE()) {
    return fl_shuffle(mask, value, fl_segment_lane(fl_lane() - (int)by, width), line);
}
template <class T>
static T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = 32,
                          int line = __builtin_LINE()) {
    return fl_shuffle(mask, value, fl_segment_lane(fl_lane() + (int)by, width), line);
}
template <class T>
static T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32,
                         int line = __builtin_LINE()) {
    return fl_shuffle(mask, value, fl_segment_lane(fl_lane() ^ bits, width), line);
}

/* ---- votes, matches, barriers ------------------------------------------------------------------ */
static void fl_answer_ballot(fl_warp &warp, uint32_t mask) {
    uint32_t ballot = 0;
    for (int l = 0; l < 32; l++)
        if (mask >> l & 1 && warp.requests[l]->argument)
            ballot |= 1u << l;
    for (int l = 0; l < 32; l++)
        if (mask >> l & 1)
            *(uint32_t *)warp.requests[l]->out = ballot;
}

static uint32_t fl_ballot(uint32_t mask, bool vote, int line) {
    uint32_t out;
    fl_ask(mask, fl_request{nullptr, &out, vote, fl_answer_ballot}, line);
    return out;
}

template <class T> static void fl_answer_match(fl_warp &warp, uint32_t mask) {
    for (int l = 0; l < 32; l++) {
        if (!(mask >> l & 1))
            continue;
        uint32_t same = 0;
        for (int k = 0; k < 32; k++)
            if (mask >> k & 1 && !memcmp(warp.requests[k]->in, warp.requests[l]->in, sizeof(T)))
                same |= 1u << k;
        *(uint32_t *)warp.requests[l]->out = same;
    }
}

template <class T> static uint32_t fl_match(uint32_t mask, T value, int line) {
    uint32_t out;
    fl_ask(mask, fl_request{&value, &out, 0, fl_answer_match<T>}, line);
    return out;
}

static uint32_t __ballot_sync(unsigned mask, int vote, int line = __builtin_LINE()) {
    return fl_ballot(mask, vote != 0, line);
}
static int __any_sync(unsigned mask, int vote, int line = __builtin_LINE()) {
    return fl_ballot(mask, vote != 0, line) != 0;
}
static int __all_sync(unsigned mask, int vote, int line = __builtin_LINE()) {
    return fl_ballot(mask, !vote, line) == 0;
}
template <class T>
static uint32_t __match_any_sync(unsigned mask, T value, int line = __builtin_LINE()) {
    return fl_match(mask, value, line);
}
static void __syncwarp(unsigned mask = 0xffffffffu, int line = __builtin_LINE()) {
    fl_ballot(mask, false, line);
}
