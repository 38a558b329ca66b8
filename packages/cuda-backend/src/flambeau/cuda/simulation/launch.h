/* A launch: every block of the grid in turn; errors come back as text. */
#include <signal.h>

struct fl_geometry {
    fl_dim3 grid, block;
    uint32_t shared_bytes, order;
    uint64_t seed;
};

static void fl_on_fault(int, siginfo_t *info, void *) {
    FL_FAIL("reads or writes address %p, which belongs to no tensor", info->si_addr);
}

static void fl_watch_faults(struct sigaction *before) {
    static char stack[64 << 10];
    stack_t other = {};
    other.ss_sp = stack;
    other.ss_size = sizeof stack;
    sigaltstack(&other, nullptr);
    struct sigaction action = {};
    action.sa_sigaction = fl_on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGSEGV, &action, &before[0]);
    sigaction(SIGBUS, &action, &before[1]);
}

static void fl_run_grid(uint32_t shared_bytes) {
    int blocks = (int)(gridDim.x * gridDim.y * gridDim.z);
    int *turns = (int *)malloc(sizeof(int) * (size_t)blocks);
    fl_set_turns(turns, blocks);
    if (shared_bytes)
        fl_dynamic_offset = fl_carve((int)shared_bytes, FL_SHARED_BYTES);
    for (int i = 0; i < blocks; i++) {
        unsigned b = (unsigned)turns[i];
        blockIdx = {b % gridDim.x, b / gridDim.x % gridDim.y, b / gridDim.x / gridDim.y};
        fl_begin_shared();
        fl_run_block();
        fl_check_shared();
    }
    free(turns);
}

/* Numbers the threads of a block, x fastest. */
static void fl_name_threads(fl_thread *threads, int count) {
    for (int i = 0; i < count; i++) {
        unsigned t = (unsigned)i;
        threads[i].number = i;
        threads[i].index = {t % blockDim.x, t / blockDim.x % blockDim.y,
                            t / blockDim.x / blockDim.y};
    }
}

static int fl_launch_kernel(void (*body)(const void *), const void *argument,
                            const fl_geometry *g, char *message, size_t message_bytes) {
    struct sigaction before[2];
    int count = (int)(g->block.x * g->block.y * g->block.z);
    gridDim = g->grid;
    blockDim = g->block;
    fl_thread *threads = (fl_thread *)calloc((size_t)count, sizeof(fl_thread));
    fl_warp *warps = (fl_warp *)calloc((size_t)(count + 31) / 32, sizeof(fl_warp));
    int *turns = (int *)malloc(sizeof(int) * (size_t)count);
    fl_launch launch = {body, argument, (fl_order)g->order, g->seed | 1, threads, nullptr, warps,
                        turns, count, nullptr, 0, 0, message, message_bytes, {}};
    fl_name_threads(threads, count);
    fl_running = &launch;
    fl_watch_faults(before);
    int status = sigsetjmp(launch.failed, 1);
    if (!status)
        fl_run_grid(g->shared_bytes);
    sigaction(SIGSEGV, &before[0], nullptr);
    sigaction(SIGBUS, &before[1], nullptr);
    if (status)
        for (int i = 0; i < count; i++)
            if (threads[i].state != FL_NEW && threads[i].state != FL_DONE)
                fl_give_stack(threads[i].stack);
    free(threads);
    free(warps);
    free(turns);
    return status;
}

#define FL_LAUNCHER(kernel, type)                                                                \
    static void body_of_##kernel(const void *bytes) { kernel(*(const type *)bytes); }            \
    extern "C" int launch_##kernel(const void *bytes, const fl_geometry *geometry,               \
                                   char *message, size_t message_bytes) {                        \
        return fl_launch_kernel(body_of_##kernel, bytes, geometry, message, message_bytes);      \
    }                                                                                            \
    extern "C" unsigned size_##kernel(void) { return sizeof(type); }
