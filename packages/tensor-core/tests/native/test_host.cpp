/* host.h: limits of both cgroup versions, in the process's own group and in those above it,
 * and the size of the cache. */
#include "check.h"
#include "host.h"

#include <stdlib.h>
#include <string>
#include <sys/stat.h>

static std::string root;

static void write_file(const std::string &path, const std::string &text) {
    for (size_t slash = root.size(); (slash = path.find('/', slash + 1)) != std::string::npos;)
        mkdir(path.substr(0, slash).c_str(), 0700);
    FILE *file = fopen(path.c_str(), "w");
    CHECK(file != nullptr);
    fputs(text.c_str(), file);
    fclose(file);
}

static int cpus() {
    return fl_cgroup_cpus_at((root + "/table").c_str(), root.c_str());
}

static int64_t memory() {
    return fl_cgroup_memory_at((root + "/table").c_str(), root.c_str());
}

static void version_two() {
    write_file(root + "/table", "0::/outer/inner\n");
    CHECK(cpus() == 0 && memory() == 0);
    write_file(root + "/outer/inner/cpu.max", "max 100000\n");
    write_file(root + "/outer/inner/memory.max", "max\n");
    CHECK(cpus() == 0 && memory() == 0);
    write_file(root + "/outer/cpu.max", "350000 100000\n");
    write_file(root + "/outer/memory.max", "1000000\n");
    CHECK(cpus() == 3 && memory() == 1000000);
    write_file(root + "/outer/inner/cpu.max", "50000 100000\n");
    write_file(root + "/outer/inner/memory.max", "4096\n");
    CHECK(cpus() == 1 && memory() == 4096);
}

static void version_one() {
    write_file(root + "/table", "5:cpu,cpuacct:/job\n4:memory:/absent\nnonsense\n");
    CHECK(cpus() == 0 && memory() == 0);
    write_file(root + "/cpu,cpuacct/job/cpu.cfs_quota_us", "-1\n");
    write_file(root + "/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
    CHECK(cpus() == 0);
    write_file(root + "/cpu,cpuacct/job/cpu.cfs_quota_us", "400000\n");
    write_file(root + "/memory/memory.limit_in_bytes", "77777\n");
    CHECK(cpus() == 4 && memory() == 77777);
}

static void cache() {
    std::string folder = root + "/cache";
    const int64_t unknown = fl_host_cache_at(folder.c_str());
    CHECK(unknown >= 1 << 20);
    write_file(folder + "/index0/size", "48K\n");
    write_file(folder + "/index3/size", "32768K\n");
    CHECK(fl_host_cache_at(folder.c_str()) == 32 << 20);
}

int main() {
    char name[] = "/tmp/flambeau-host-XXXXXX";
    root = mkdtemp(name);
    version_two();
    version_one();
    cache();
    CHECK(fl_cgroup_cpus_at("/nonexistent", "/nonexistent") == 0);
    CHECK(fl_host_cpus() >= 1);
    CHECK(fl_host_memory() > 0);
    CHECK(fl_host_cache() > 0);
    CHECK(system(("rm -r " + root).c_str()) == 0);
    return check_result();
}
