/* The simulated device as a driver: it stands behind streams.cpp in one file. */
namespace {
int launch(void *, int device, void *stream, void *function, const uint32_t *grid,
           const uint32_t *block, uint32_t shared_bytes, const void *argument, size_t bytes) {
    std::lock_guard<std::recursive_mutex> held(running);
    Work w;
    w.kind = Work::LAUNCH;
    w.function = (fl_launcher)function;
    w.geometry = {{grid[0], grid[1], grid[2]}, {block[0], block[1], block[2]},
                  shared_bytes, (uint32_t)order, seed + 1};
    w.bytes.assign((const char *)argument, (const char *)argument + bytes);
    return ask(stream_of(device, stream), std::move(w));
}

int copy(void *, int device, void *stream, void *to, const void *from, size_t bytes, int kind) {
    std::lock_guard<std::recursive_mutex> held(running);
    Stream &s = stream_of(device, stream);
    const int way = kind & 3;
    if (s.capturing && way != FL_WITHIN && !(kind & FL_LATER)) {
        snprintf(message, sizeof message, "a copy that the host waits for, while a graph is being "
                 "captured");
        return kInvalid;
    }
    Work w;
    w.kind = Work::COPY;
    w.to = to;
    w.from = from;
    w.count = bytes;
    if (way == FL_TO_DEVICE && !(kind & FL_LATER)) {
        w.bytes.assign((const char *)from, (const char *)from + bytes);
        w.from = nullptr;
    }
    int status = ask(s, std::move(w));
    if (status || way != FL_TO_HOST || kind & FL_LATER)
        return status;
    drain(s);
    return take_failure();
}

int synchronize(void *, int device) {
    std::lock_guard<std::recursive_mutex> held(running);
    if (lost_status) {
        snprintf(message, sizeof message, "the device is lost");
        return lost_status;
    }
    for (size_t i = streams.size(); i-- > 0;)
        if (streams[i]->device == device)
            drain(*streams[i]);
    drain(defaults[device & 63]);
    return take_failure();
}

const char *error(void *, int) { return message; }

int make_stream(void *, int device, int, void **stream) {
    std::lock_guard<std::recursive_mutex> held(running);
    Stream *made = new Stream;
    made->device = device;
    streams.push_back(made);
    *stream = made;
    return 0;
}

/* The stream stays, as marks may point to it; its work is done. */
int drop_stream(void *, int, void *stream) {
    std::lock_guard<std::recursive_mutex> held(running);
    drain(*(Stream *)stream);
    return 0;
}

int stream_done(void *, int device, void *stream, int wait, int *done) {
    std::lock_guard<std::recursive_mutex> held(running);
    Stream &s = stream_of(device, stream);
    if (s.capturing) {
        snprintf(message, sizeof message, "a wait of the host, while a graph is being captured");
        return kInvalid;
    }
    if (wait)
        drain(s);
    *done = s.queue.empty();
    return wait ? take_failure() : 0;
}

int make_event(void *, int, int, void **event) {
    *event = new Event;
    return 0;
}

int drop_event(void *, int, void *event) {
    std::lock_guard<std::recursive_mutex> held(running);
    delete (Event *)event;
    return 0;
}

int record(void *, int device, void *event, void *stream) {
    std::lock_guard<std::recursive_mutex> held(running);
    Stream &s = stream_of(device, stream);
    Work w;
    w.kind = Work::RECORD;
    w.mark = std::make_shared<Mark>();
    w.mark->stream = &s;
    ((Event *)event)->mark = w.mark;
    return ask(s, std::move(w));
}

int event_done(void *, int, void *event, int wait, int *done) {
    std::lock_guard<std::recursive_mutex> held(running);
    Event &e = *(Event *)event;
    if (e.mark && wait)
        finish(*e.mark);
    *done = !e.mark || e.mark->done;
    return wait ? take_failure() : 0;
}

int wait_for(void *, int device, void *stream, void *event) {
    std::lock_guard<std::recursive_mutex> held(running);
    Event &e = *(Event *)event;
    if (!e.mark || e.mark->done)
        return 0;
    Work w;
    w.kind = Work::WAIT;
    w.mark = e.mark;
    return ask(stream_of(device, stream), std::move(w));
}

int elapsed(void *, void *from, void *to, float *milliseconds) {
    std::lock_guard<std::recursive_mutex> held(running);
    const Mark *a = ((Event *)from)->mark.get(), *b = ((Event *)to)->mark.get();
    if (!a || !b || !a->done || !b->done) {
        snprintf(message, sizeof message, "an event was not recorded, or has not come yet");
        return a && b ? kNotReady : kInvalid;
    }
    *milliseconds = (float)(b->time - a->time);
    return 0;
}

int pin(void *, size_t bytes, void **memory) {
    *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!*memory)
        snprintf(message, sizeof message, "the host has no memory");
    return *memory ? 0 : 2;
}

int unpin(void *, void *memory) {
    free(memory);
    return 0;
}

int graph(void *, int device, void *stream, int step, void **graph) {
    std::lock_guard<std::recursive_mutex> held(running);
    Stream &s = stream_of(device, stream);
    switch (step) {
    case FL_GRAPH_BEGIN: s.capturing = new Graph; return 0;
    case FL_GRAPH_END:
        *graph = s.capturing;
        s.capturing = nullptr;
        return 0;
    case FL_GRAPH_FREE: delete (Graph *)*graph; return 0;
    }
    for (const Work &w : ((Graph *)*graph)->works)
        if (int status = ask(s, Work(w)))
            return status;
    return 0;
}

const fl_driver driver = {
    sizeof(fl_driver), 0, nullptr, launch, copy, synchronize, error, make_stream, drop_stream,
    stream_done, make_event, drop_event, record, event_done, wait_for, elapsed, pin, unpin, graph};
}

extern "C" {

const fl_driver *fl_simulated_driver(void) { return &driver; }

void fl_set_order(int wanted, uint64_t of) {
    order = wanted;
    seed = of;
}

/* Whether work waits in its stream until somebody waits for it. */
void fl_set_late(int wanted) {
    std::lock_guard<std::recursive_mutex> held(running);
    for (int i = 0; i < 64; i++)
        drain(defaults[i]);
    for (Stream *s : streams)
        drain(*s);
    late = wanted;
}

/* From here on every call fails, until 0 is set. */
void fl_lose_device(int status) { lost_status = status; }

/* What a stream has not done yet. */
int fl_works_of(int device, void *stream) {
    std::lock_guard<std::recursive_mutex> held(running);
    return (int)stream_of(device, stream).queue.size();
}

/* Memory is freed in the order of its stream. */
void fl_device_free_in(int device, void *stream, void *handle) {
    std::lock_guard<std::recursive_mutex> held(running);
    Work w;
    w.kind = Work::FREE;
    w.to = handle;
    Stream &s = stream_of(device, stream);
    if (s.queue.empty())
        fl_device_free(handle);
    else
        s.queue.push_back(std::move(w));
}

int fl_is_capturing(int device, void *stream) {
    return stream_of(device, stream).capturing != nullptr;
}

/* What a library does in a stream, computed by the host. */
int fl_ask_host(int device, void *stream, fl_host_function function) {
    std::lock_guard<std::recursive_mutex> held(running);
    Work w;
    w.kind = Work::HOST;
    w.host = function;
    return ask(stream_of(device, stream), std::move(w));
}

/* How often a kernel ran, or for null all of them. */
int fl_launches_of(void *function) {
    if (function)
        return launches[function];
    int all = 0;
    for (const auto &each : launches)
        all += each.second;
    return all;
}

const char *fl_last_error(void) { return message; }

int fl_run_kernel(void *function, const uint32_t *grid, const uint32_t *block,
                  uint32_t shared_bytes, const void *argument, size_t bytes) {
    int status = launch(nullptr, 0, nullptr, function, grid, block, shared_bytes, argument, bytes);
    int done;
    return status ? status : stream_done(nullptr, 0, nullptr, 1, &done);
}
}
