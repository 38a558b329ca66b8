/* The thread pool: see pool.h.
 *
 * One job exists at a time. Each participant owns an equal run of neighbouring chunks, so that
 * successive loops over the same data touch it from the same processor; who has finished its own
 * run takes chunks from the others.
 *
 * The gate admits workers to the job: the low bits count those inside, GATE_CLOSED says that the
 * job is over. The submitter closes the gate when no chunk is left and waits until the count is
 * zero; from then on no worker looks at the job, and it may be overwritten. Workers learn of jobs
 * through `epoch`: they watch it for a few microseconds and then sleep on it. */
#include "runtime/pool.h"

#include "runtime/error.h"
#include "runtime/host.h"
#include "runtime/park.h"

#include <pthread.h>
#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <initializer_list>

namespace {

const int MAX_THREADS = 512;
const uint32_t GATE_CLOSED = 1u << 31;
const uint32_t GATE_AWAITED = 1u << 30; /* the submitter sleeps until the count is zero */
const uint32_t GATE_COUNT = GATE_AWAITED - 1;

/* Waking a sleeper takes 20 to 50 us on a virtual machine, and costs the submitter 4 us; a worker
 * that still watches starts within 0.2 us. In a chain of operators the next loop is nearer than
 * that, so a worker whose last wait was short watches longer, all others sleep at once. */
const auto WORKER_SPIN = std::chrono::microseconds(4);
const auto BUSY_WORKER_SPIN = std::chrono::microseconds(60);
const auto SUBMITTER_SPIN = std::chrono::microseconds(50);

struct alignas(64) Range {
    std::atomic<int64_t> next{0};
    int64_t end = 0;
};

struct Job {
    fl_chunk_fn fn = nullptr;
    void *ctx = nullptr;
    int64_t n = 0;
    int64_t grain = 0;
    int participants = 0;
};

/* Everything is trivially destructible: workers may still look at it while the process exits. */
Job job;
Range ranges[MAX_THREADS];
alignas(64) std::atomic<uint32_t> gate{GATE_CLOSED};
alignas(64) std::atomic<uint32_t> epoch{0};
std::atomic<int32_t> sleepers{0};
alignas(64) std::atomic<bool> busy{false};
std::atomic<uint32_t> limit{0}; /* threads to use, the caller included; 0: not decided yet */
std::atomic<int> started{1};    /* threads that exist, the caller included */
thread_local bool inside = false;

class Clock {
  public:
    explicit Clock(std::chrono::microseconds span)
        : stop_(std::chrono::steady_clock::now() + span) {}

    /* Looks at the clock once in sixteen calls: it costs more than a pause. */
    bool expired() {
        fl_cpu_relax();
        return (++calls_ & 15) == 0 && passed();
    }

    bool passed() const { return std::chrono::steady_clock::now() >= stop_; }

  private:
    std::chrono::steady_clock::time_point stop_;
    unsigned calls_ = 0;
};

void run_range(int owner) {
    Range &range = ranges[owner];
    while (range.next.load(std::memory_order_relaxed) < range.end) {
        int64_t chunk = range.next.fetch_add(1, std::memory_order_relaxed);
        if (chunk >= range.end)
            return;
        int64_t begin = chunk * job.grain;
        job.fn(job.ctx, begin, std::min(begin + job.grain, job.n));
    }
}

void run_chunks(int participant) {
    inside = true;
    for (int i = 0; i < job.participants; i++)
        run_range((participant + i) % job.participants);
    inside = false;
}

void run_inline(int64_t n, int64_t grain, fl_chunk_fn fn, void *ctx) {
    for (int64_t begin = 0; begin < n; begin += grain)
        fn(ctx, begin, std::min(begin + grain, n));
}

void enter_and_work(int id) {
    uint32_t before = gate.fetch_add(1, std::memory_order_acquire);
    if (!(before & GATE_CLOSED))
        run_chunks(id);
    uint32_t after = gate.fetch_sub(1, std::memory_order_release) - 1;
    if ((after & GATE_AWAITED) && !(after & GATE_COUNT))
        fl_unpark(&gate, 1);
}

uint32_t sleep_on_epoch(uint32_t seen) {
    uint32_t now;
    sleepers.fetch_add(1);
    while ((now = epoch.load()) == seen)
        fl_park(&epoch, seen);
    sleepers.fetch_sub(1);
    return now;
}

/* `lively` says whether the last wait was short, and is told about this one. */
uint32_t await_epoch(uint32_t seen, bool &lively) {
    Clock spin(lively ? BUSY_WORKER_SPIN : WORKER_SPIN);
    Clock short_wait(BUSY_WORKER_SPIN);
    uint32_t now;
    while ((now = epoch.load(std::memory_order_acquire)) == seen)
        if (spin.expired()) {
            now = sleep_on_epoch(seen);
            break;
        }
    lively = !short_wait.passed();
    return now;
}

/* Workers beyond the limit sleep on the limit itself, where jobs do not wake them. */
void await_limit(uint32_t id) {
    for (uint32_t now = limit.load(); id >= now; now = limit.load())
        fl_park(&limit, now);
}

void *worker_main(void *argument) {
    uint32_t id = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(argument));
    uint32_t seen = epoch.load() - 1; /* the job that started this worker is still to be done */
    bool lively = false;
    for (;;) {
        await_limit(id);
        seen = await_epoch(seen, lively);
        if (id < limit.load())
            enter_and_work(static_cast<int>(id));
    }
}

bool start_worker(int id) {
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    void *argument = reinterpret_cast<void *>(static_cast<uintptr_t>(id));
    int failed = pthread_create(&thread, &attributes, worker_main, argument);
    pthread_attr_destroy(&attributes);
    return !failed;
}

/* Called by the holder of `busy` only. A system that refuses threads gets smaller loops. */
int ensure_started(int wanted) {
    int have = started.load(std::memory_order_relaxed);
    while (have < wanted && start_worker(have))
        started.store(++have, std::memory_order_relaxed);
    return std::min(have, wanted);
}

/* The child of a fork has the forking thread alone. */
void after_fork_in_child() {
    fl_park_after_fork();
    gate.store(GATE_CLOSED);
    sleepers.store(0);
    started.store(1);
    busy.store(false);
}

/* What a variable says, or 0; environment.py warns of others. "4,2" is OpenMP's for nested loops. */
int threads_from(const char *name) {
    const char *text = getenv(name);
    if (!text || !*text)
        return 0;
    char *end;
    long count = strtol(text, &end, 10);
    while (*end == ' ')
        end++;
    return (!*end || *end == ',') && count >= 1
               ? static_cast<int>(std::min<long>(count, MAX_THREADS))
               : 0;
}

int initial_limit() {
    for (const char *name : {"FLAMBEAU_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"})
        if (int count = threads_from(name))
            return count;
    return std::min(fl_host_cpus(), MAX_THREADS);
}

int decide_limit() {
    static const bool decided = [] {
        pthread_atfork(nullptr, nullptr, after_fork_in_child);
        uint32_t undecided = 0;
        limit.compare_exchange_strong(undecided, static_cast<uint32_t>(initial_limit()));
        return true;
    }();
    (void)decided;
    return static_cast<int>(limit.load(std::memory_order_relaxed));
}

inline int current_limit() {
    uint32_t now = limit.load(std::memory_order_relaxed);
    return now ? static_cast<int>(now) : decide_limit();
}

void publish(int64_t n, int64_t grain, int64_t chunks, int participants, fl_chunk_fn fn,
             void *ctx) {
    job.fn = fn;
    job.ctx = ctx;
    job.n = n;
    job.grain = grain;
    job.participants = participants;
    for (int i = 0; i < participants; i++) {
        ranges[i].next.store(chunks * i / participants, std::memory_order_relaxed);
        ranges[i].end = chunks * (i + 1) / participants;
    }
    gate.fetch_and(GATE_COUNT, std::memory_order_release);
    epoch.fetch_add(1);
    if (sleepers.load() > 0)
        fl_unpark(&epoch, participants - 1);
}

void close_and_wait() {
    uint32_t now = gate.fetch_or(GATE_CLOSED, std::memory_order_acquire);
    Clock clock(SUBMITTER_SPIN);
    while ((now & GATE_COUNT) && !clock.expired())
        now = gate.load(std::memory_order_acquire);
    if (!(now & GATE_COUNT))
        return;
    now = gate.fetch_or(GATE_AWAITED, std::memory_order_acquire) | GATE_AWAITED;
    while (now & GATE_COUNT) {
        fl_park(&gate, now);
        now = gate.load(std::memory_order_acquire);
    }
    gate.fetch_and(~GATE_AWAITED);
}

} // namespace

void fl_parallel_chunks(int64_t n, int64_t grain, fl_chunk_fn fn, void *ctx) {
    grain = std::max<int64_t>(grain, 1);
    int64_t chunks = fl_chunk_count(n, grain);
    int wanted = static_cast<int>(std::min<int64_t>(current_limit(), chunks));
    if (wanted < 2 || inside || busy.exchange(true, std::memory_order_acquire)) {
        run_inline(n, grain, fn, ctx);
        return;
    }
    int participants = ensure_started(wanted);
    publish(n, grain, chunks, participants, fn, ctx);
    run_chunks(0);
    close_and_wait();
    busy.store(false, std::memory_order_release);
}

int fl_get_num_threads(void) {
    return current_limit();
}

int fl_set_num_threads(int count) {
    if (count < 1)
        return fl_error(FL_VALUE_ERROR,
                        "set_num_threads(): got %d, but at least one thread (the caller) does "
                        "the work; pass 1 or more",
                        count);
    decide_limit();
    limit.store(static_cast<uint32_t>(std::min(count, MAX_THREADS)));
    fl_unpark(&limit, MAX_THREADS);
    epoch.fetch_add(1);
    fl_unpark(&epoch, MAX_THREADS);
    return 0;
}

int fl_in_parallel(void) {
    return inside;
}
