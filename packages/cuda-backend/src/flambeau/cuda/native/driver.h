/* What the launch path asks of a driver: NVIDIA's, found at run time, or the simulation's. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* FL_LATER may be added: both ends stay as they are until the stream has come that far. */
enum fl_copy_kind { FL_TO_DEVICE = 0, FL_TO_HOST = 1, FL_WITHIN = 2, FL_LATER = 4 };

/* What a graph is asked for. */
enum fl_graph_step { FL_GRAPH_BEGIN = 0, FL_GRAPH_END = 1, FL_GRAPH_LAUNCH = 2, FL_GRAPH_FREE = 3 };

/* Functions return 0, or a status for `error` of which the text describes the last failure. */
struct fl_driver {
    uint32_t struct_size, reserved;
    void *ctx;
    int (*launch)(void *ctx, int device, void *stream, void *function, const uint32_t *grid,
                  const uint32_t *block, uint32_t shared_bytes, const void *argument,
                  size_t bytes);
    /* Without FL_LATER it returns when the host's memory may be read or changed. FL_WITHIN copies
     * from other devices, too. */
    int (*copy)(void *ctx, int device, void *stream, void *to, const void *from, size_t bytes,
                int kind);
    int (*synchronize)(void *ctx, int device);
    const char *(*error)(void *ctx, int status);
    /* Streams, of which null is the default one, and events. */
    int (*make_stream)(void *ctx, int device, int priority, void **stream);
    int (*drop_stream)(void *ctx, int device, void *stream);
    /* *done: whether all of it is; with `wait`, when it is. */
    int (*stream_done)(void *ctx, int device, void *stream, int wait, int *done);
    int (*make_event)(void *ctx, int device, int timed, void **event);
    int (*drop_event)(void *ctx, int device, void *event);
    int (*record)(void *ctx, int device, void *event, void *stream);
    int (*event_done)(void *ctx, int device, void *event, int wait, int *done);
    /* Lets what the stream is asked from now on wait for an event. */
    int (*wait)(void *ctx, int device, void *stream, void *event);
    int (*elapsed)(void *ctx, void *from, void *to, float *milliseconds);
    /* Memory of the host that copies go on with while the host does something else. */
    int (*pin)(void *ctx, size_t bytes, void **memory);
    int (*unpin)(void *ctx, void *memory);
    /* What a stream is asked between BEGIN and END is kept as *graph, and done at each LAUNCH. */
    int (*graph)(void *ctx, int device, void *stream, int step, void **graph);
};
