/* Kernels of a list one by one, in the memory that they would have had at once: uncompiled, results
 * take blocks that were let go of and lie in the caches, while those of a list have one each. */
#pragma once
#include "deferral/queue.h"

/* Results are elsewhere as long as this lives. What they hold is garbage afterwards where nobody
 * needs it, as it is after code that does not write it. */
class fl_reuse {
  public:
    explicit fl_reuse(fl_queue *q);
    ~fl_reuse() { move(false); }
    fl_reuse(const fl_reuse &) = delete;

  private:
    struct Life {
        size_t first = SIZE_MAX, last = 0;  /* calls */
        bool is_made = false;               /* by the first of them */
        char *there = nullptr;
    };
    fl_queue *q;
    std::vector<Life> lives;
    void find_lives(void);
    void assign(void);
    void move(bool there);
};
