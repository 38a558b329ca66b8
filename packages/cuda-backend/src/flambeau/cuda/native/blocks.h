/* Memory of devices, kept for the next tensor of about its size.
 *
 * A block that a tensor gives back is handed out again at once: work of one stream happens in
 * order, so what the old tensor's kernels read is read before the new one's write. Sizes are
 * classes of which each is at most an eighth larger than the one before. */
#pragma once
#include <Python.h>
#include <stddef.h>
#include <stdint.h>
#include <unordered_map>
#include <vector>

struct Block;

struct BlockStatistics {
    int64_t allocated, reserved;            /* bytes in use, and with those that are kept */
    int64_t most_allocated, most_reserved;
    int64_t count;                          /* of blocks in use */
};

class Blocks {
  public:
    /* With `exact`, sizes are what is asked for and nothing is kept. */
    void start(PyObject *backend, bool exact);
    /* A block as a Python object that gives itself back; null with an exception. */
    PyObject *take(int device, void *stream, size_t bytes, char **data);
    /* Gives what is kept on a device back to the driver. */
    void trim(int device);
    BlockStatistics &statistics(int device) { return statistics_[(size_t)device]; }

    void give(Block *block);

  private:
    PyObject *backend_ = nullptr;
    bool exact_ = false;
    std::unordered_map<uint64_t, std::vector<Block *>> kept_;
    std::vector<BlockStatistics> statistics_ = std::vector<BlockStatistics>(256);

    Block *reserve(int device, void *stream, size_t bytes);
    PyObject *ask(int device, size_t bytes);
};

int fl_add_block_type(PyObject *module);
