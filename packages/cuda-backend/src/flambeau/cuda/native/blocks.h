/* Memory of devices, kept for the next tensor of about its size.
 *
 * A block that a tensor gives back is handed out again at once: work of one stream happens in
 * order, so what the old tensor's kernels read is read before the new one's write. One that other
 * streams used, too, waits for what they were asked until then. Sizes are classes of which each is
 * at most an eighth larger than the one before. */
#pragma once
#include <Python.h>
#include <stddef.h>
#include <stdint.h>
#include <unordered_map>
#include <vector>

#include "driver.h"

struct Block;

struct BlockStatistics {
    int64_t allocated, reserved;            /* bytes in use, and with those that are kept */
    int64_t most_allocated, most_reserved;
    int64_t count;                          /* of blocks in use */
    int64_t segments;                       /* blocks in use or kept */
    int64_t takes, bytes_taken, reserves, bytes_reserved;       /* ever */
    int64_t retries, failures;              /* requests that had to be repeated, and that failed */
};

/* Blocks of a graph are its own: 0 for all others. */
extern thread_local uint32_t fl_current_pool;

class Blocks {
  public:
    /* With `exact`, sizes are what is asked for and nothing is kept. */
    void start(PyObject *backend, const fl_driver *driver, bool exact);
    /* A block as a Python object that gives itself back; null with an exception. */
    PyObject *take(int device, void *stream, size_t bytes, char **data);
    /* Gives what is kept on a device, and belongs to no graph, back to the driver, once all work
     * there is done: the driver may give it to any stream. Nothing while a graph is captured, which
     * nobody can wait for. */
    void trim(int device);
    void drop_pool(int device, uint32_t pool);
    /* Another stream works on the block that begins here; false where there is none. */
    bool use(const char *data, void *stream);
    /* A stream ends: waits for it where blocks are its own, which are the default stream's then. */
    void leave(int device, void *stream);
    /* A list of (address, bytes, stream, pool, in use) of a device. */
    PyObject *snapshot(int device);
    void set_limit(int device, int64_t bytes) { limits_[(size_t)device] = bytes; }
    BlockStatistics &statistics(int device) { return statistics_[(size_t)device]; }

    void give(Block *block);

  private:
    struct Used {
        Block *block;
        std::vector<void *> events;
    };
    PyObject *backend_ = nullptr;
    const fl_driver *driver_ = nullptr;
    bool exact_ = false;
    Block *live_ = nullptr;                 /* in use, the newest first */
    std::unordered_map<uint64_t, std::vector<Block *>> kept_;
    std::vector<Used> used_;                /* given back, but other streams are still to come */
    std::vector<BlockStatistics> statistics_ = std::vector<BlockStatistics>(256);
    std::vector<int64_t> limits_ = std::vector<int64_t>(256);

    Block *reserve(int device, void *stream, size_t bytes);
    PyObject *ask(int device, size_t bytes);
    PyObject *ask_again(int device, size_t bytes);
    bool is_beyond_limit(int device, size_t bytes);
    void release(Block *block);
    void keep(Block *block);
    void let_pass(Used &used);
    bool has_work(int device, void *stream) const;
    void look_after_used(void);
    void link(Block *block);
    void unlink(Block *block);
};

int fl_add_block_type(PyObject *module);
