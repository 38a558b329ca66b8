#include "libcuda.h"

#include <dlfcn.h>
#include <stdint.h>

#include "driver.h"

typedef int CUresult;
typedef struct CUctx_st *CUcontext;
typedef unsigned long long CUdeviceptr;

/* The functions that are used, as cuda.h declares them. */
#define FL_FUNCTIONS(F)                                                                          \
    F(cuInit, "cuInit", (unsigned))                                                              \
    F(retain, "cuDevicePrimaryCtxRetain", (CUcontext *, int))                                    \
    F(get_current, "cuCtxGetCurrent", (CUcontext *))                                             \
    F(set_current, "cuCtxSetCurrent", (CUcontext))                                               \
    F(context_synchronize, "cuCtxSynchronize", (void))                                           \
    F(stream_synchronize, "cuStreamSynchronize", (void *))                                       \
    F(launch_kernel, "cuLaunchKernel", (void *, unsigned, unsigned, unsigned, unsigned, unsigned, \
                                        unsigned, unsigned, void *, void **, void **))           \
    F(to_device, "cuMemcpyHtoDAsync_v2", (CUdeviceptr, const void *, size_t, void *))            \
    F(to_host, "cuMemcpyDtoHAsync_v2", (void *, CUdeviceptr, size_t, void *))                    \
    F(within, "cuMemcpyAsync", (CUdeviceptr, CUdeviceptr, size_t, void *))                       \
    F(stream_create, "cuStreamCreateWithPriority", (void **, unsigned, int))                     \
    F(stream_destroy, "cuStreamDestroy_v2", (void *))                                            \
    F(stream_query, "cuStreamQuery", (void *))                                                   \
    F(stream_wait, "cuStreamWaitEvent", (void *, void *, unsigned))                              \
    F(event_create, "cuEventCreate", (void **, unsigned))                                        \
    F(event_destroy, "cuEventDestroy_v2", (void *))                                              \
    F(event_record, "cuEventRecord", (void *, void *))                                           \
    F(event_query, "cuEventQuery", (void *))                                                     \
    F(event_synchronize, "cuEventSynchronize", (void *))                                         \
    F(event_elapsed, "cuEventElapsedTime", (float *, void *, void *))                            \
    F(host_alloc, "cuMemHostAlloc", (void **, size_t, unsigned))                                 \
    F(host_free, "cuMemFreeHost", (void *))                                                      \
    F(begin_capture, "cuStreamBeginCapture_v2", (void *, int))                                   \
    F(end_capture, "cuStreamEndCapture", (void *, void **))                                      \
    F(instantiate, "cuGraphInstantiateWithFlags", (void **, void *, unsigned long long))         \
    F(graph_launch, "cuGraphLaunch", (void *, void *))                                           \
    F(graph_destroy, "cuGraphDestroy", (void *))                                                 \
    F(exec_destroy, "cuGraphExecDestroy", (void *))                                              \
    F(error_name, "cuGetErrorName", (CUresult, const char **))                                   \
    F(error_text, "cuGetErrorString", (CUresult, const char **))

#define FL_DECLARE(name, symbol, arguments) static CUresult (*name) arguments;
FL_FUNCTIONS(FL_DECLARE)
#undef FL_DECLARE

#define FL_MOST_DEVICES 64
static CUcontext contexts[FL_MOST_DEVICES];

/* Makes a device's primary context, which CuPy and others use too, the thread's own. */
static CUresult enter(int device) {
    CUcontext now = nullptr;
    if (!contexts[device]) {
        CUresult status = retain(&contexts[device], device);
        if (status)
            return status;
    }
    CUresult status = get_current(&now);
    if (status || now == contexts[device])
        return status;
    return set_current(contexts[device]);
}

static int launch(void *, int device, void *stream, void *function, const uint32_t *grid,
                  const uint32_t *block, uint32_t shared_bytes, const void *argument,
                  size_t bytes) {
    void *extra[] = {(void *)1 /* CU_LAUNCH_PARAM_BUFFER_POINTER */, (void *)argument,
                     (void *)2 /* CU_LAUNCH_PARAM_BUFFER_SIZE */, &bytes, nullptr};
    CUresult status = enter(device);
    if (status)
        return status;
    return launch_kernel(function, grid[0], grid[1], grid[2], block[0], block[1], block[2],
                         shared_bytes, stream, nullptr, extra);
}

static int copy(void *, int device, void *stream, void *to, const void *from, size_t bytes,
                int kind) {
    CUresult status = enter(device);
    if (status)
        return status;
    const int way = kind & 3;
    if (way == FL_WITHIN)
        return within((CUdeviceptr)to, (CUdeviceptr)from, bytes, stream);
    status = way == FL_TO_DEVICE ? to_device((CUdeviceptr)to, from, bytes, stream)
                                 : to_host(to, (CUdeviceptr)from, bytes, stream);
    /* The host's memory may be freed or read at once. */
    return status || kind & FL_LATER ? status : stream_synchronize(stream);
}

static int synchronize(void *, int device) {
    CUresult status = enter(device);
    return status ? status : context_synchronize();
}

static const char *error(void *, int status) {
    static thread_local char text[512];
    const char *name = nullptr, *words = nullptr;
    error_name(status, &name);
    error_text(status, &words);
    snprintf(text, sizeof text, "%s: %s", name ? name : "unknown error", words ? words : "");
    return text;
}

/* ---- streams, events, graphs ---------------------------------------------------------------- */
#define FL_NOT_READY 600        /* CUDA_ERROR_NOT_READY */

static int make_stream(void *, int device, int priority, void **stream) {
    CUresult status = enter(device);
    return status ? status : stream_create(stream, 1 /* CU_STREAM_NON_BLOCKING */, priority);
}

static int drop_stream(void *, int device, void *stream) {
    CUresult status = enter(device);
    return status ? status : stream_destroy(stream);
}

static int answer(CUresult status, int *done) {
    *done = status == 0;
    return status == FL_NOT_READY ? 0 : status;
}

static int stream_done(void *, int device, void *stream, int wait, int *done) {
    CUresult status = enter(device);
    if (status)
        return status;
    return answer(wait ? stream_synchronize(stream) : stream_query(stream), done);
}

static int make_event(void *, int device, int timed, void **event) {
    CUresult status = enter(device);
    return status ? status : event_create(event, timed ? 0 : 2 /* CU_EVENT_DISABLE_TIMING */);
}

static int drop_event(void *, int device, void *event) {
    CUresult status = enter(device);
    return status ? status : event_destroy(event);
}

static int record(void *, int device, void *event, void *stream) {
    CUresult status = enter(device);
    return status ? status : event_record(event, stream);
}

static int event_done(void *, int device, void *event, int wait, int *done) {
    CUresult status = enter(device);
    return status ? status : answer(wait ? event_synchronize(event) : event_query(event), done);
}

static int wait_for(void *, int device, void *stream, void *event) {
    CUresult status = enter(device);
    return status ? status : stream_wait(stream, event, 0);
}

static int elapsed(void *, void *from, void *to, float *milliseconds) {
    return event_elapsed(milliseconds, from, to);
}

static int pin(void *, size_t bytes, void **memory) {
    CUresult status = enter(0);
    return status ? status : host_alloc(memory, bytes, 1 /* CU_MEMHOSTALLOC_PORTABLE */);
}

static int unpin(void *, void *memory) { return host_free(memory); }

static int graph(void *, int device, void *stream, int step, void **graph) {
    void *captured = nullptr;
    CUresult status = enter(device);
    if (status)
        return status;
    switch (step) {
    /* Relaxed: in other modes allocations and queries of events end the capture with an error. */
    case FL_GRAPH_BEGIN: return begin_capture(stream, 2 /* CU_STREAM_CAPTURE_MODE_RELAXED */);
    case FL_GRAPH_LAUNCH: return graph_launch(*graph, stream);
    case FL_GRAPH_FREE: return exec_destroy(*graph);
    }
    status = end_capture(stream, &captured);
    if (status)
        return status;
    status = instantiate(graph, captured, 0);
    graph_destroy(captured);
    return status;
}

static const fl_driver driver = {
    sizeof(fl_driver), 0, nullptr, launch, copy, synchronize, error, make_stream, drop_stream,
    stream_done, make_event, drop_event, record, event_done, wait_for, elapsed, pin, unpin, graph};


PyObject *fl_nvidia_driver(PyObject *, PyObject *) {
    static void *library = nullptr;
    if (!library) {
        void *found = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
        if (!found)
            return PyErr_Format(PyExc_OSError, "no NVIDIA driver on this machine: %s", dlerror());
#define FL_FIND(name, symbol, arguments)                                                         \
    if (!(name = (CUresult(*) arguments)dlsym(found, symbol)))                                   \
        return PyErr_Format(PyExc_OSError, "the NVIDIA driver is too old: it lacks %s; "          \
                            "install 525 or newer, which is for CUDA 12", symbol);
        FL_FUNCTIONS(FL_FIND)
#undef FL_FIND
        CUresult status = cuInit(0);
        if (status)
            return PyErr_Format(PyExc_OSError, "the NVIDIA driver does not start: %s",
                                error(nullptr, status));
        library = found;
    }
    return PyLong_FromVoidPtr((void *)&driver);
}
