/* pool.h: chunks do not depend on the threads, work is really shared, nesting, several
 * submitters, changing the number of threads, fork. */
#include "check.h"
#include "error.h"
#include "even.h"
#include "pool.h"

#include <atomic>
#include <pthread.h>
#include <set>
#include <stdlib.h>
#include <thread>
#include <utility>
#include <vector>

using Chunks = std::set<std::pair<int64_t, int64_t>>;

static Chunks chunks_of(int64_t n, int64_t grain) {
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    Chunks seen;
    fl_parallel(n, grain, [&](int64_t begin, int64_t end) {
        pthread_mutex_lock(&lock);
        CHECK(seen.insert({begin, end}).second);
        pthread_mutex_unlock(&lock);
    });
    return seen;
}

static void chunks_depend_on_shape_alone() {
    CHECK(chunks_of(0, 4).empty());
    CHECK(chunks_of(-3, 4).empty());
    CHECK((chunks_of(4, 4) == Chunks{{0, 4}}));
    for (int threads : {1, 2, 3, 7}) {
        fl_set_num_threads(threads);
        CHECK(fl_get_num_threads() == threads);
        CHECK((chunks_of(10, 4) == Chunks{{0, 4}, {4, 8}, {8, 10}}));
        CHECK(chunks_of(1001, 10).size() == 101);
        CHECK(chunks_of(5, 0).size() == 5);
    }
    CHECK(fl_chunk_count(10, 4) == 3 && fl_chunk_count(0, 4) == 0 && fl_chunk_count(8, 4) == 2);
}

static void even_chunks_leave_nobody_without_work() {
    CHECK(fl_even_grain(0, 10, 1) == 10 && fl_even_grain(10, 10, 1) == 10);
    CHECK(fl_even_grain(11, 10, 1) == 6 && fl_even_grain(512, 341, 1) == 256);
    CHECK(fl_even_grain(34400, 32768, 64) == 17216);
    for (int64_t n : {32769, 65536, 65537, 98304, 235146, 4194304}) {
        int64_t grain = fl_even_grain(n, 32768, 64), chunks = fl_chunk_count(n, grain);
        CHECK(grain <= 32768 && grain % 64 == 0 && chunks % 2 == 0);
        CHECK(grain - (n - (chunks - 1) * grain) < 64 * chunks);
    }
}

static double sum(const std::vector<double> &x) {
    std::vector<double> parts(fl_chunk_count(x.size(), 100));
    fl_parallel(x.size(), 100, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++)
            parts[begin / 100] += x[i];
    });
    double total = 0;
    for (double part : parts)
        total += part;
    return total;
}

static void same_bits_for_any_number_of_threads() {
    std::vector<double> x(98765);
    for (size_t i = 0; i < x.size(); i++)
        x[i] = 1.0 / (1.0 + static_cast<double>(i * i % 1013));
    fl_set_num_threads(1);
    double expected = sum(x);
    for (int threads : {2, 3, 5})
        for (int repeat = 0; repeat < 200; repeat++) {
            fl_set_num_threads(threads);
            CHECK(sum(x) == expected);
        }
}

/* Two chunks that wait for each other finish only when two threads run them. */
static void chunks_run_at_the_same_time() {
    fl_set_num_threads(2);
    std::atomic<int> arrived{0};
    alarm(30);
    fl_parallel(2, 1, [&](int64_t, int64_t) {
        arrived++;
        while (arrived < 2)
            std::this_thread::yield();
    });
    alarm(0);
    CHECK(arrived == 2);
}

static void nested_loops_run_inline() {
    fl_set_num_threads(3);
    std::atomic<int64_t> inner{0};
    CHECK(!fl_in_parallel());
    fl_parallel(8, 1, [&](int64_t, int64_t) {
        CHECK(fl_in_parallel());
        std::thread::id self = std::this_thread::get_id();
        fl_parallel(100, 7, [&](int64_t begin, int64_t end) {
            CHECK(std::this_thread::get_id() == self);
            inner += end - begin;
        });
    });
    CHECK(!fl_in_parallel());
    CHECK(inner == 800);
}

static void several_submitters() {
    fl_set_num_threads(2);
    std::vector<std::thread> submitters;
    std::atomic<int> wrong{0};
    for (int s = 0; s < 4; s++)
        submitters.emplace_back([&] {
            for (int repeat = 0; repeat < 500; repeat++) {
                std::atomic<int64_t> done{0};
                fl_parallel(64, 3, [&](int64_t begin, int64_t end) { done += end - begin; });
                wrong += done != 64;
            }
        });
    for (std::thread &submitter : submitters)
        submitter.join();
    CHECK(wrong == 0);
}

static int64_t count_to(int64_t n) {
    std::atomic<int64_t> done{0};
    fl_parallel(n, 1, [&](int64_t begin, int64_t end) { done += end - begin; });
    return done;
}

static void children_have_a_pool() {
    fl_set_num_threads(3);
    CHECK(count_to(100) == 100);
    CHECK(in_child([] {
        chunks_run_at_the_same_time();
        return count_to(100) == 100;
    }));
    std::atomic<bool> stop{false};
    std::thread other([&] {
        while (!stop)
            count_to(50);
    });
    for (int repeat = 0; repeat < 20; repeat++)
        CHECK(in_child([] { return count_to(100) == 100; }));
    stop = true;
    other.join();
    CHECK(count_to(100) == 100);
}

static void sleeping_workers_wake() {
    fl_set_num_threads(3);
    for (int repeat = 0; repeat < 50; repeat++) {
        usleep(300);
        CHECK(count_to(20) == 20);
    }
}

static void settings() {
    CHECK(fl_set_num_threads(0) == -1);
    CHECK(fl_error_kind_get() == FL_VALUE_ERROR);
    fl_error_clear();
}

int main() {
    CHECK(in_child([] {
        setenv("FLAMBEAU_NUM_THREADS", "5", 1);
        return fl_get_num_threads() == 5;
    }));
    CHECK(in_child([] {
        setenv("FLAMBEAU_NUM_THREADS", "many", 1);
        setenv("OMP_NUM_THREADS", "3", 1);
        setenv("MKL_NUM_THREADS", "4", 1);
        return fl_get_num_threads() == 3;
    }));
    chunks_depend_on_shape_alone();
    even_chunks_leave_nobody_without_work();
    same_bits_for_any_number_of_threads();
    chunks_run_at_the_same_time();
    nested_loops_run_inline();
    several_submitters();
    sleeping_workers_wake();
    children_have_a_pool();
    settings();
    return check_result();
}
