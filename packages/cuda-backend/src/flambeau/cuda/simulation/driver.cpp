/* The simulated device as a driver: it stands behind memory.cpp in one file. */
#include <stdio.h>
#include <unordered_map>

#include "../native/driver.h"

struct fl_dim3 {
    unsigned x, y, z;
};
struct fl_geometry {
    fl_dim3 grid, block;
    uint32_t shared_bytes, order;
    uint64_t seed;
};
typedef int (*fl_launcher)(const void *, const fl_geometry *, char *, size_t);

namespace {
int order;
uint64_t seed;
thread_local char message[512];
std::unordered_map<void *, int> launches;

int count_damaged() {
    int count = lost + fl_device_damaged();
    lost = 0;
    return count;
}

int launch(void *, int, void *, void *function, const uint32_t *grid, const uint32_t *block,
           uint32_t shared_bytes, const void *argument, size_t) {
    fl_geometry geometry = {{grid[0], grid[1], grid[2]}, {block[0], block[1], block[2]},
                            shared_bytes, (uint32_t)order, seed + 1};
    launches[function]++;
    fl_device_open();
    int status = ((fl_launcher)function)(argument, &geometry, message, sizeof message);
    int damaged = status ? 0 : count_damaged();
    fl_device_close();
    if (damaged)
        snprintf(message, sizeof message, "wrote past the ends of %d storages", damaged);
    return status || damaged;
}

int copy(void *, int, void *, void *to, const void *from, size_t bytes, int) {
    fl_device_open();
    memcpy(to, from, bytes);
    fl_device_close();
    return 0;
}

int synchronize(void *, int) { return 0; }

const char *error(void *, int) { return message; }

const fl_driver driver = {sizeof(fl_driver), 0, nullptr, launch, copy, synchronize, error};
}

extern "C" {

const fl_driver *fl_simulated_driver(void) { return &driver; }

void fl_set_order(int wanted, uint64_t of) {
    order = wanted;
    seed = of;
}

int fl_launches_of(void *function) { return launches[function]; }

const char *fl_last_error(void) { return message; }

int fl_run_kernel(void *function, const uint32_t *grid, const uint32_t *block,
                  uint32_t shared_bytes, const void *argument, size_t bytes) {
    return launch(nullptr, 0, nullptr, function, grid, block, shared_bytes, argument, bytes);
}
}
