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
    F(within, "cuMemcpyDtoDAsync_v2", (CUdeviceptr, CUdeviceptr, size_t, void *))                \
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
    if (kind == FL_WITHIN)
        return within((CUdeviceptr)to, (CUdeviceptr)from, bytes, stream);
    status = kind == FL_TO_DEVICE ? to_device((CUdeviceptr)to, from, bytes, stream)
                                  : to_host(to, (CUdeviceptr)from, bytes, stream);
    /* The host's memory may be freed or read at once. */
    return status ? status : stream_synchronize(stream);
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

static const fl_driver driver = {sizeof(fl_driver), 0, nullptr, launch, copy, synchronize, error};

PyObject *fl_nvidia_driver(PyObject *, PyObject *) {
    static void *library = nullptr;
    if (!library) {
        void *found = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
        if (!found)
            return PyErr_Format(PyExc_OSError, "no NVIDIA driver on this machine: %s", dlerror());
#define FL_FIND(name, symbol, arguments)                                                         \
    if (!(name = (CUresult(*) arguments)dlsym(found, symbol)))                                   \
        return PyErr_Format(PyExc_OSError, "the NVIDIA driver is too old: it lacks %s", symbol);
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
