/* Streams of the simulated device, and the work that is asked of them; memory.cpp stands before.
 *
 * In late mode nothing is done when it is asked for: every stream has a queue, and work is done
 * when the host waits for its stream, or a stream that is waited for waits for it. What nobody
 * ordered therefore comes out of order, and a missing event shows in the numbers. */
#include <chrono>
#include <deque>
#include <memory>
#include <stdio.h>
#include <stdlib.h>
#include <unordered_map>
#include <vector>

#include "../native/driver.h"

struct fl_dim3 {
    unsigned x, y, z;
};
struct fl_geometry {
    fl_dim3 grid, block;
    uint32_t shared_bytes, order;
    uint64_t seed;
};
typedef int (*fl_host_function)(void);
typedef int (*fl_launcher)(const void *, const fl_geometry *, char *, size_t);

namespace {
enum Status { kDone = 0, kNotReady = 600, kInvalid = 400, kLost = 719 };

struct Stream;

/* A place in a stream: what an event stood for when it was recorded. */
struct Mark {
    Stream *stream;
    bool done = false;
    double time = 0;
};

struct Work {
    enum Kind { LAUNCH, COPY, RECORD, WAIT, FREE, HOST } kind;
    fl_launcher function = nullptr;
    fl_host_function host = nullptr;
    fl_geometry geometry = {};
    std::vector<char> bytes;        /* the argument, or what is copied */
    void *to = nullptr;
    const void *from = nullptr;     /* null: `bytes` are copied */
    size_t count = 0;
    std::shared_ptr<Mark> mark;
};

struct Graph {
    std::vector<Work> works;
};

struct Stream {
    int device = 0;
    std::deque<Work> queue;
    Graph *capturing = nullptr;
};

struct Event {
    std::shared_ptr<Mark> mark;
};

std::recursive_mutex running;
int order;
uint64_t seed;
bool late;
int lost_status;                    /* once set, every call fails with it, as on a lost device */
int failure;                        /* of late work, for who waits next */
thread_local char message[512];
char late_message[512];
std::unordered_map<void *, int> launches;
std::vector<Stream *> streams;
Stream defaults[64];

double now() {
    using namespace std::chrono;
    return duration<double, std::milli>(steady_clock::now().time_since_epoch()).count();
}

int count_damaged() {
    int count = lost + fl_device_damaged();
    lost = 0;
    return count;
}

int run_kernel(const Work &w) {
    launches[(void *)w.function]++;
    fl_device_open();
    int status = w.function(w.bytes.data(), &w.geometry, message, sizeof message);
    int damaged = status ? 0 : count_damaged();
    fl_device_close();
    if (damaged)
        snprintf(message, sizeof message, "wrote past the ends of %d storages", damaged);
    return status || damaged;
}

void finish(Mark &mark);

int perform(Work &w) {
    switch (w.kind) {
    case Work::LAUNCH: return run_kernel(w);
    case Work::COPY:
        fl_device_open();
        memmove(w.to, w.from ? w.from : w.bytes.data(), w.count);
        fl_device_close();
        return 0;
    case Work::RECORD:
        w.mark->time = now();
        w.mark->done = true;
        return 0;
    case Work::WAIT: finish(*w.mark); return 0;
    case Work::FREE: fl_device_free(w.to); return 0;
    case Work::HOST: return w.host();
    }
    return 0;
}

void run_first(Stream &s) {
    Work w = std::move(s.queue.front());
    s.queue.pop_front();
    int status = perform(w);
    if (status && !failure) {
        failure = status;
        memcpy(late_message, message, sizeof message);
    }
}

/* Two streams that wait for each other cannot be made: an event stands for what was asked
 * before. */
void finish(Mark &mark) {
    while (!mark.done && !mark.stream->queue.empty())
        run_first(*mark.stream);
}

void drain(Stream &s) {
    while (!s.queue.empty())
        run_first(s);
}

/* The failure of late work, once. */
int take_failure() {
    int status = failure;
    failure = 0;
    if (status)
        memcpy(message, late_message, sizeof message);
    return status;
}

Stream &stream_of(int device, void *stream) {
    return stream ? *(Stream *)stream : defaults[device & 63];
}

int ask(Stream &s, Work &&w) {
    if (lost_status) {
        snprintf(message, sizeof message, "the device is lost");
        return lost_status;
    }
    if (s.capturing) {
        if (w.kind != Work::FREE)
            s.capturing->works.push_back(std::move(w));
        return 0;
    }
    s.queue.push_back(std::move(w));
    if (late)
        return 0;
    drain(s);
    return take_failure();
}
}
