/* alloc.h: waste, alignment, reuse, statistics, the limit of the cache, threads, fork, modes. */
#include "alloc.h"
#include "check.h"
#include "error.h"

#include <atomic>
#include <stdlib.h>
#include <string.h>
#include <string>
#include <thread>
#include <vector>

static fl_alloc_info stats() {
    fl_alloc_info info;
    fl_alloc_stats(&info);
    return info;
}

static void waste_is_bounded() {
    for (size_t bytes = 512; bytes < size_t(1) << 40; bytes += bytes / 61 + 1) {
        size_t size = fl_alloc_class(bytes);
        CHECK(size >= bytes && size - bytes <= bytes / 8 && size % 64 == 0);
        CHECK(fl_alloc_class(size) == size);
    }
    CHECK(fl_alloc_class(0) == 64 && fl_alloc_class(1) == 64 && fl_alloc_class(65) == 128);
}

static void blocks_are_apart_and_aligned() {
    std::vector<size_t> sizes = {0, 1, 64, 65, 1000, 70000, size_t(3) << 20};
    std::vector<char *> blocks;
    for (size_t bytes : sizes)
        for (int copy = 0; copy < 3; copy++) {
            blocks.push_back(static_cast<char *>(fl_alloc(bytes)));
            CHECK(reinterpret_cast<uintptr_t>(blocks.back()) % FL_ALLOC_ALIGNMENT == 0);
            memset(blocks.back(), static_cast<int>(blocks.size()), bytes);
        }
    for (size_t i = 0; i < blocks.size(); i++) {
        size_t bytes = sizes[i / 3];
        for (size_t j = 0; j < bytes; j += 61)
            CHECK(blocks[i][j] == static_cast<char>(i + 1));
        fl_free(blocks[i], bytes);
    }
}

static void freed_blocks_come_back() {
    for (size_t bytes : {size_t(100), size_t(5000), size_t(200000), size_t(9) << 20}) {
        void *first = fl_alloc(bytes);
        fl_free(first, bytes);
        int64_t taken = stats().system_count;
        void *second = fl_alloc(fl_alloc_class(bytes));
        CHECK(second == first);
        CHECK(stats().system_count == taken);
        void *smaller = fl_alloc(bytes / 2);
        CHECK(smaller != first);
        fl_free(second, bytes);
        void *half = fl_alloc(bytes / 2);
        CHECK(half != first);
        fl_free(half, bytes / 2);
        fl_free(smaller, bytes / 2);
    }
}

/* The block freed last is still in the processor's cache. */
static void the_warmest_block_comes_first() {
    for (size_t bytes : {size_t(100), size_t(200000)}) {
        void *first = fl_alloc(bytes);
        void *second = fl_alloc(bytes);
        fl_free(first, bytes);
        fl_free(second, bytes);
        void *again = fl_alloc(bytes);
        CHECK(again == second);
        fl_free(again, bytes);
    }
}

static void statistics_add_up() {
    fl_alloc_trim();
    fl_alloc_reset_peak();
    fl_alloc_info before = stats();
    CHECK(before.cached_bytes == 0);
    void *a = fl_alloc(1 << 20);
    void *b = fl_alloc(1 << 20);
    fl_free(a, 1 << 20);
    fl_alloc_info during = stats();
    CHECK(during.live_bytes - before.live_bytes == 1 << 20);
    CHECK(during.peak_live_bytes - before.peak_live_bytes == 2 << 20);
    CHECK(during.cached_bytes == 1 << 20);
    CHECK(during.alloc_count - before.alloc_count == 2);
    CHECK(during.free_count - before.free_count == 1);
    CHECK(during.system_count - before.system_count == 2);
    fl_alloc_reset_peak();
    CHECK(stats().peak_live_bytes == during.live_bytes);
    fl_free(b, 1 << 20);
    fl_free(nullptr, 5);
    CHECK(stats().live_bytes == before.live_bytes);
    fl_alloc_trim();
    CHECK(stats().cached_bytes == 0);
}

/* Blocks of many classes, freed one after another, would pile up without the limit. */
static void the_cache_is_bounded() {
    fl_alloc_trim();
    for (size_t mib = 2; mib < 40; mib++)
        fl_free(fl_alloc(mib << 20), mib << 20);
    fl_alloc_info info = stats();
    CHECK(info.cached_bytes > 0 && info.cached_bytes <= info.cache_limit);
    CHECK(info.cache_limit < 300 << 20);
    void *last = fl_alloc(39 << 20);
    CHECK(stats().system_count == info.system_count);
    fl_free(last, 39 << 20);
}

static void blocks_cross_threads() {
    fl_alloc_trim();
    int64_t live = stats().live_bytes;
    std::vector<void *> blocks;
    std::thread([&] {
        for (int i = 0; i < 1000; i++)
            blocks.push_back(fl_alloc(i * 7));
    }).join();
    for (int i = 0; i < 1000; i++)
        fl_free(blocks[i], i * 7);
    std::thread([&] {
        for (int i = 0; i < 1000; i++)
            fl_free(fl_alloc(i * 7), i * 7);
    }).join();
    CHECK(stats().live_bytes == live);
    CHECK(stats().alloc_count == stats().free_count);
    fl_alloc_trim();
    CHECK(stats().cached_bytes == 0);
}

static void many_threads_at_once() {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++)
        threads.emplace_back([t] {
            std::vector<std::pair<unsigned char *, size_t>> mine;
            unsigned random = 12345 + t;
            for (int step = 0; step < 20000; step++) {
                random = random * 1664525 + 1013904223;
                size_t bytes = (random >> 8) % (step % 100 ? 3000 : 300000) + 1;
                unsigned char *block = static_cast<unsigned char *>(fl_alloc(bytes));
                block[0] = block[bytes - 1] = static_cast<unsigned char>(t);
                mine.push_back({block, bytes});
                if (mine.size() > 50) {
                    auto [old, size] = mine[random % 50];
                    CHECK(old[0] == t && old[size - 1] == t);
                    fl_free(old, size);
                    mine[random % 50] = mine.back();
                    mine.pop_back();
                }
            }
            for (auto [block, bytes] : mine)
                fl_free(block, bytes);
        });
    for (std::thread &thread : threads)
        thread.join();
    CHECK(stats().alloc_count == stats().free_count);
}

static void children_can_allocate() {
    std::atomic<bool> stop{false};
    std::thread other([&] {
        while (!stop)
            fl_free(fl_alloc(100000), 100000);
    });
    for (int repeat = 0; repeat < 20; repeat++)
        CHECK(in_child([] {
            for (int i = 0; i < 300; i++)
                fl_free(fl_alloc(i * 1000), i * 1000);
            return true;
        }));
    stop = true;
    other.join();
}

static void refusal_is_explained() {
    size_t absurd = size_t(1) << 60;
    CHECK(fl_alloc(absurd) == nullptr);
    CHECK(fl_alloc_or_error(absurd) == nullptr);
    CHECK(fl_error_kind_get() == FL_MEMORY_ERROR);
    CHECK(strstr(fl_error_text(), "1152921504606846976 bytes") != nullptr);
    fl_error_clear();
}

static bool filled(const void *block, size_t bytes, int value) {
    const unsigned char *p = static_cast<const unsigned char *>(block);
    for (size_t i = 0; i < bytes; i++)
        if (p[i] != value)
            return false;
    return true;
}

/* The mode is read once, when the library is loaded: another one needs another process. */
static bool in_mode(const char *mode) {
    return in_child([mode] {
        setenv("FLAMBEAU_ALLOC", mode, 1);
        execl("/proc/self/exe", "test_alloc", mode, static_cast<char *>(nullptr));
        return false;
    });
}

static bool poison_fills() {
    for (size_t bytes : {size_t(40), size_t(100000), size_t(3) << 20}) {
        void *block = fl_alloc(bytes);
        CHECK(filled(block, bytes, 0xFF));
        memset(block, 1, bytes);
        fl_free(block, bytes);
        CHECK(filled(block, bytes, 0xFF)); /* still mapped: it waits in the cache */
    }
    return strcmp(fl_alloc_mode(), "poison") == 0;
}

static bool plain_is_exact() {
    CHECK(fl_alloc_class(1001) == 1001);
    void *block = fl_alloc(1001);
    CHECK(stats().live_bytes == 1001 && stats().cached_bytes == 0);
    fl_free(block, 1001);
    CHECK(stats().live_bytes == 0 && stats().cached_bytes == 0);
    CHECK(stats().alloc_count == 1 && stats().free_count == 1);
    return strcmp(fl_alloc_mode(), "plain") == 0;
}

int main(int argc, char **argv) {
    if (argc > 1 && std::string(argv[1]) == "overrun") {
        float *x = static_cast<float *>(fl_alloc(7 * sizeof(float)));
        volatile float *end = x + 7;
        *end = 1;
        return 0;
    }
    if (argc > 1)
        return (strcmp(argv[1], "plain") ? poison_fills() : plain_is_exact()) ? check_result() : 1;
    CHECK(in_mode("poison"));
    CHECK(in_mode("plain"));
    waste_is_bounded();
    blocks_are_apart_and_aligned();
    freed_blocks_come_back();
    the_warmest_block_comes_first();
    statistics_add_up();
    the_cache_is_bounded();
    blocks_cross_threads();
    many_threads_at_once();
    children_can_allocate();
    refusal_is_explained();
    return check_result();
}
