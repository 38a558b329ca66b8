/* Limits of the process: see host.h.
 *
 * A limit may stand in the process's own group or in any group above it, so every folder on the
 * way up to the root is read and the smallest limit counts. In a container the path named by
 * /proc/self/cgroup often lies outside the mounted tree; its missing folders say nothing and the
 * walk ends at the root, which is then the container's own group. */
#include "runtime/host.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <string>

namespace {

const int64_t UNLIMITED = INT64_MAX;
const int64_t USUAL_CACHE_BYTES = 32 << 20; /* where the system does not tell */

bool read_line(const std::string &path, std::string &line) {
    FILE *file = fopen(path.c_str(), "r");
    if (!file)
        return false;
    char buffer[256];
    bool ok = fgets(buffer, sizeof buffer, file) != nullptr;
    fclose(file);
    if (ok)
        line = buffer;
    return ok;
}

/* The number at the start of a file; UNLIMITED for "max", -1, absent files. */
int64_t read_limit(const std::string &path) {
    std::string line;
    if (!read_line(path, line))
        return UNLIMITED;
    char *end;
    long long value = strtoll(line.c_str(), &end, 10);
    return end == line.c_str() || value <= 0 ? UNLIMITED : value;
}

int64_t cpus_of(int64_t quota, int64_t period) {
    if (quota == UNLIMITED || period == UNLIMITED)
        return UNLIMITED;
    return std::max<int64_t>(1, quota / period);
}

int64_t cpus_v1(const std::string &folder) {
    return cpus_of(read_limit(folder + "/cpu.cfs_quota_us"),
                   read_limit(folder + "/cpu.cfs_period_us"));
}

int64_t cpus_v2(const std::string &folder) {
    std::string line;
    long long quota, period;
    if (!read_line(folder + "/cpu.max", line) ||
        sscanf(line.c_str(), "%lld %lld", &quota, &period) != 2 || quota <= 0 || period <= 0)
        return UNLIMITED;
    return cpus_of(quota, period);
}

int64_t memory_v1(const std::string &folder) {
    return read_limit(folder + "/memory.limit_in_bytes");
}

int64_t memory_v2(const std::string &folder) {
    return read_limit(folder + "/memory.max");
}

using Reader = int64_t (*)(const std::string &folder);

/* The smallest limit in root/path and the folders above it, root included. */
int64_t smallest_upward(const std::string &root, std::string path, Reader read) {
    int64_t smallest = read(root);
    while (path.size() > 1) {
        smallest = std::min(smallest, read(root + path));
        path.erase(path.rfind('/'));
    }
    return smallest;
}

bool lists(const std::string &controllers, const std::string &name) {
    return ("," + controllers + ",").find("," + name + ",") != std::string::npos;
}

/* Lines are "id:controllers:/path"; version 2 is the line without controllers. */
int64_t cgroup_limit(const char *table, const std::string &root, const std::string &controller,
                     Reader v1, Reader v2) {
    FILE *file = fopen(table, "r");
    if (!file)
        return UNLIMITED;
    int64_t smallest = UNLIMITED;
    char buffer[PATH_MAX + 256];
    while (fgets(buffer, sizeof buffer, file)) {
        std::string line(buffer);
        line.erase(line.find_last_not_of("\n") + 1);
        size_t first = line.find(':');
        size_t second = first == std::string::npos ? first : line.find(':', first + 1);
        if (second == std::string::npos || line[second + 1] != '/')
            continue;
        std::string controllers = line.substr(first + 1, second - first - 1);
        std::string path = line.substr(second + 1);
        if (controllers.empty())
            smallest = std::min(smallest, smallest_upward(root, path, v2));
        else if (lists(controllers, controller))
            smallest = std::min(smallest, smallest_upward(root + "/" + controllers, path, v1));
    }
    fclose(file);
    return smallest;
}

const char *const TABLE = "/proc/self/cgroup";
const char *const ROOT = "/sys/fs/cgroup";

int affinity_cpus() {
#ifdef __linux__
    for (int cpus = 1024; cpus <= 1 << 20; cpus *= 2) {
        cpu_set_t *set = CPU_ALLOC(cpus);
        size_t bytes = CPU_ALLOC_SIZE(cpus);
        int count = sched_getaffinity(0, bytes, set) == 0 ? CPU_COUNT_S(bytes, set) : 0;
        CPU_FREE(set);
        if (count > 0)
            return count;
    }
#endif
    return static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
}

} // namespace

int fl_cgroup_cpus_at(const char *table, const char *root) {
    int64_t limit = cgroup_limit(table, root, "cpu", cpus_v1, cpus_v2);
    return limit == UNLIMITED ? 0 : static_cast<int>(std::min<int64_t>(limit, INT_MAX));
}

int64_t fl_cgroup_memory_at(const char *table, const char *root) {
    int64_t limit = cgroup_limit(table, root, "memory", memory_v1, memory_v2);
    return limit == UNLIMITED ? 0 : limit;
}

/* Sizes read like "32768K". The C library's figure counts all caches of a level in the machine. */
int64_t fl_host_cache_at(const char *root) {
    int64_t largest = 0;
    for (int index = 0; index < 8; index++) {
        int64_t kib = read_limit(std::string(root) + "/index" + std::to_string(index) + "/size");
        if (kib != UNLIMITED)
            largest = std::max(largest, kib * 1024);
    }
    return largest ? largest : USUAL_CACHE_BYTES;
}

int64_t fl_host_cache(void) {
    static const int64_t bytes = fl_host_cache_at("/sys/devices/system/cpu/cpu0/cache");
    return bytes;
}

int fl_host_cpus(void) {
    int quota = fl_cgroup_cpus_at(TABLE, ROOT);
    int cpus = affinity_cpus();
    return quota ? std::min(cpus, quota) : cpus;
}

int64_t fl_host_memory(void) {
    int64_t physical = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
    int64_t limit = fl_cgroup_memory_at(TABLE, ROOT);
    return limit ? std::min(physical, limit) : physical;
}
