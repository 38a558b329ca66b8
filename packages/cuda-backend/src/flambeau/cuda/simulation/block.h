/* A block of threads: who runs next, and barriers. Blocks run one after the other. */

enum fl_state { FL_NEW, FL_READY, FL_AT_BARRIER, FL_IN_WARP, FL_DONE };
enum fl_order { FL_FORWARD, FL_REVERSED, FL_SHUFFLED };

struct fl_copy {
    void *to;
    const void *from;
    int bytes;
};

#define FL_COPIES 64

struct fl_thread {
    void *stack_pointer;
    char *stack;
    fl_state state;
    fl_dim3 index;
    int number;             /* in the block */
    int line;               /* where it waits */
    uint32_t mask;          /* whom it waits for, in its warp */
    fl_copy copies[FL_COPIES];      /* asynchronous copies that have not happened yet */
    int copy_count, group_ends[FL_COPIES], group_count;
};

struct fl_request;
struct fl_warp {
    fl_request *requests[32];
    uint32_t arrived;
};

struct fl_launch {
    void (*body)(const void *);
    const void *argument;
    fl_order order;
    uint64_t random;
    fl_thread *threads, *now;
    fl_warp *warps;
    int *turns;             /* the order in which threads run in a round */
    int count;
    void *scheduler;        /* the scheduler's stack pointer while a thread runs */
    int votes, vote_result; /* of __syncthreads_count and its siblings */
    char *message;
    size_t message_bytes;
    sigjmp_buf failed;
};

static fl_launch *fl_running;
static fl_dim3 blockIdx, threadIdx, blockDim, gridDim;

/* Ends the launch: what a GPU would answer with an error, a hang or garbage. */
#define FL_FAIL(...)                                                                             \
    do {                                                                                         \
        int used = snprintf(fl_running->message, fl_running->message_bytes,                      \
                            "block (%u, %u, %u), thread (%u, %u, %u): ", blockIdx.x, blockIdx.y, \
                            blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z);                  \
        snprintf(fl_running->message + used, fl_running->message_bytes - used, __VA_ARGS__);     \
        siglongjmp(fl_running->failed, 1);                                                       \
    } while (0)

static void fl_yield(void) {
    fl_switch(&fl_running->now->stack_pointer, fl_running->scheduler);
}

static void fl_thread_main(void) {
    fl_running->body(fl_running->argument);
    fl_running->now->state = FL_DONE;
    fl_yield();
}

static void fl_run_thread(fl_thread &t) {
    if (t.state == FL_NEW) {
        t.stack = fl_take_stack();
        t.stack_pointer = fl_new_fiber(t.stack, fl_thread_main);
    }
    t.state = FL_READY;
    fl_running->now = &t;
    threadIdx = t.index;
    fl_switch(&fl_running->scheduler, t.stack_pointer);
    if (t.state == FL_DONE) {
        if (t.copy_count)
            FL_FAIL("the thread ends before it waited for its asynchronous copies");
        fl_give_stack(t.stack);
    }
}

static uint32_t fl_draw(void) {
    uint64_t &s = fl_running->random;
    s ^= s << 13;
    s ^= s >> 7;
    s ^= s << 17;
    return (uint32_t)(s >> 32);
}

static void fl_set_turns(int *turns, int count) {
    bool back = fl_running->order == FL_REVERSED;
    for (int i = 0; i < count; i++)
        turns[i] = back ? count - 1 - i : i;
    if (fl_running->order == FL_SHUFFLED)
        for (int i = count - 1; i > 0; i--) {
            int j = (int)(fl_draw() % (uint32_t)(i + 1)), kept = turns[i];
            turns[i] = turns[j];
            turns[j] = kept;
        }
}

/* Nobody can run: everybody who is left is at one barrier, or the kernel would hang. */
static void fl_open_barrier(void) {
    const fl_thread *first = nullptr;
    for (int i = 0; i < fl_running->count; i++) {
        const fl_thread &t = fl_running->threads[i];
        if (t.state == FL_DONE)
            continue;
        first = first ? first : &t;
        threadIdx = t.index;
        if (t.state == FL_IN_WARP)
            FL_FAIL("waits at line %d for lanes %08x of its warp, of which some never come",
                    t.line, t.mask);
        if (t.line != first->line)
            FL_FAIL("waits at the barrier of line %d, thread %d at that of line %d: a GPU hangs, "
                    "or mixes them", t.line, first->number, first->line);
    }
    fl_running->vote_result = fl_running->votes;
    fl_running->votes = 0;
    for (int i = 0; i < fl_running->count; i++)
        if (fl_running->threads[i].state == FL_AT_BARRIER)
            fl_running->threads[i].state = FL_READY;
}

static void fl_run_block(void) {
    fl_launch &l = *fl_running;
    int live = l.count;
    l.votes = 0;
    for (int i = 0; i < l.count; i++) {
        fl_thread &t = l.threads[i];
        t.state = FL_NEW;
        t.copy_count = t.group_count = 0;
    }
    memset(l.warps, 0, sizeof(fl_warp) * ((l.count + 31) / 32));
    while (live) {
        bool moved = false;
        fl_set_turns(l.turns, l.count);
        for (int i = 0; i < l.count; i++) {
            fl_thread &t = l.threads[l.turns[i]];
            if (t.state != FL_NEW && t.state != FL_READY)
                continue;
            fl_run_thread(t);
            live -= t.state == FL_DONE;
            moved = true;
        }
        if (!moved)
            fl_open_barrier();
    }
}

/* ---- barriers -------------------------------------------------------------------------------- */
static void __syncthreads(int line = __builtin_LINE()) {
    fl_thread &t = *fl_running->now;
    t.state = FL_AT_BARRIER;
    t.line = line;
    fl_yield();
}

static int __syncthreads_count(int vote, int line = __builtin_LINE()) {
    fl_running->votes += vote != 0;
    __syncthreads(line);
    return fl_running->vote_result;
}

static int __syncthreads_or(int vote, int line = __builtin_LINE()) {
    return __syncthreads_count(vote, line) != 0;
}

static int __syncthreads_and(int vote, int line = __builtin_LINE()) {
    return __syncthreads_count(!vote, line) == 0;
}

static void __threadfence(void) {}
static void __threadfence_block(void) {}
