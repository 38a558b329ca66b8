/* Memory of a block, with NaN in it when the block begins and marks between its variables, and
 * copies into it that happen as late as the kernel allows. */

#define FL_SHARED_BYTES (227 << 10)
#define FL_STATIC_SHARED_BYTES (48 << 10)
#define FL_MARK 64

static __attribute__((aligned(128))) unsigned char fl_shared_memory[FL_SHARED_BYTES + (16 << 10)];
static int fl_shared_ends[256], fl_shared_count, fl_shared_used;
static unsigned fl_dynamic_bytes;
static int fl_dynamic_offset;

static int fl_carve(int bytes, int limit) {
    int at = (fl_shared_used + 127) & ~127;
    if (at + bytes > limit || fl_shared_count == 256)
        FL_FAIL("%d bytes of shared memory, with %d in use, exceed %d", bytes, at, limit);
    fl_shared_used = at + bytes + FL_MARK;
    fl_shared_ends[fl_shared_count++] = at + bytes;
    memset(fl_shared_memory + at, 0xff, bytes);
    memset(fl_shared_memory + at + bytes, 0xa5, FL_MARK);
    return at;
}

static void fl_begin_shared(void) {
    for (int i = 0, from = 0; i < fl_shared_count; i++) {
        memset(fl_shared_memory + from, 0xff, fl_shared_ends[i] - from);
        from = fl_shared_ends[i] + FL_MARK;
    }
}

static void fl_check_shared(void) {
    for (int i = 0; i < fl_shared_count; i++)
        for (int k = 0; k < FL_MARK; k++)
            if (fl_shared_memory[fl_shared_ends[i] + k] != 0xa5)
                FL_FAIL("a thread of the block wrote %d bytes past the end of the %dth variable in "
                        "shared memory", k + 1, i + 1);
}

template <class T> struct fl_type {
    typedef T type;
};

template <class T> static T &fl_shared_variable(int *offset) {
    if (*offset < 0)
        *offset = fl_carve((int)sizeof(T), FL_STATIC_SHARED_BYTES);
    return *(T *)(fl_shared_memory + *offset);
}

#define FL_SHARED(name, ...)                                                                     \
    static int name##_offset = -1;                                                               \
    typename fl_type<__VA_ARGS__>::type &name = fl_shared_variable<__VA_ARGS__>(&name##_offset)
#define FL_SHARED_DYNAMIC(name, ...)                                                             \
    __VA_ARGS__ *name = (__VA_ARGS__ *)(fl_shared_memory + fl_dynamic_offset)

/* ---- asynchronous copies ----------------------------------------------------------------------- */
template <int BYTES> static void fl_copy_async(void *to, const void *from) {
    static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16, "cp.async copies 4, 8 or 16 bytes");
    fl_thread &t = *fl_running->now;
    if (((uintptr_t)to | (uintptr_t)from) % BYTES)
        FL_FAIL("an asynchronous copy of %d bytes needs addresses that are multiples of it", BYTES);
    if (t.copy_count == FL_COPIES)
        FL_FAIL("more than %d asynchronous copies wait", FL_COPIES);
    t.copies[t.copy_count++] = {to, from, BYTES};
}

static void fl_copy_commit(void) {
    fl_thread &t = *fl_running->now;
    if (t.group_count == FL_COPIES)
        FL_FAIL("more than %d groups of asynchronous copies wait", FL_COPIES);
    t.group_ends[t.group_count++] = t.copy_count;
}

/* Waits until at most LEFT groups are under way. */
template <int LEFT> static void fl_copy_wait(void) {
    fl_thread &t = *fl_running->now;
    int groups = t.group_count - LEFT;
    if (groups <= 0)
        return;
    int count = t.group_ends[groups - 1];
    for (int i = 0; i < count; i++)
        memcpy(t.copies[i].to, t.copies[i].from, t.copies[i].bytes);
    t.copy_count -= count;
    memmove(t.copies, t.copies + count, sizeof(fl_copy) * t.copy_count);
    t.group_count -= groups;
    for (int i = 0; i < t.group_count; i++)
        t.group_ends[i] = t.group_ends[i + groups] - count;
}
