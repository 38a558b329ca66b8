/* What this process may use of the machine: processors and memory, after affinity and cgroups,
 * and the cache they share.
 *
 * The functions ending in _at read the cgroup files below other roots, which is how tests give
 * them limits. */
#ifndef FLAMBEAU_RUNTIME_HOST_H
#define FLAMBEAU_RUNTIME_HOST_H
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

int fl_host_cpus(void);         /* min(affinity mask, CPU quotas rounded down), at least 1 */
int64_t fl_host_memory(void);   /* min(physical memory, memory limits), in bytes */
int64_t fl_host_cache(void);    /* bytes of the last cache that the first processor reaches */

int64_t fl_host_cache_at(const char *root); /* `root` like /sys/devices/system/cpu/cpu0/cache */
/* `table` is a file like /proc/self/cgroup, `root` a folder like /sys/fs/cgroup. No limit: 0. */
int fl_cgroup_cpus_at(const char *table, const char *root);
int64_t fl_cgroup_memory_at(const char *table, const char *root);

#ifdef __cplusplus
}
#endif
#endif
