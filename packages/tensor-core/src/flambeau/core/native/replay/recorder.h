/* One recording, from its first kernel to the tensors that leave the call. */
#pragma once
#include "replay/replay.h"
#include <deque>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

/* Elements in memory: which memory, and how they lie in it; `start` counts bytes. */
struct fl_extent {
    uint32_t memory;
    uint8_t dtype;
    int64_t start;
    std::vector<int64_t> shape, strides;
};

/* One kernel. Tensors among the values are numbers of extents, -1 for none. */
struct fl_kernel_run {
    const fl_op *op;
    std::vector<fl_value> values;
    std::vector<uint32_t> outs;
    std::vector<uint32_t> writes;       /* which counters of tensors that were there count it */
    const fl_op *caller, *called;       /* the composite that ran it, and the one of the user's call */
    bool is_fusible;                    /* may be planned together with others */
    bool has_tensors = false;           /* among the values, no longer numbers of extents */
};

struct fl_memory {
    fl_storage *outside = nullptr;      /* memory that was there before: a reference */
    bool is_born = false, is_alive = true, is_used = false;
    bool is_shared = false;             /* with another storage, over the same array */
    bool is_written = false;
    char *at = nullptr;
    uint64_t bytes = 0;
    std::string first;                  /* what somebody who is no kernel wrote there */
};

/* Writes to a tensor that was there before. */
struct fl_written {
    fl_tensor *alias;                   /* a reference to a tensor with this counter */
    uint32_t version, count;
    int64_t source = -1;                /* the argument that it is, whose number is another one */
};

struct fl_recorder {
    std::vector<fl_memory> memories;
    std::vector<fl_extent> extents;
    std::vector<fl_kernel_run> runs;
    std::deque<std::vector<int64_t>> words;     /* lists among the values */
    std::deque<std::string> strings;
    std::vector<PyObject *> objects;            /* generators among the values: references */
    std::unordered_map<const fl_storage *, uint32_t> outside;
    std::unordered_set<const fl_storage *> foreign;     /* made inside, over memory of others */
    std::vector<fl_written> writes;
    std::unordered_map<const uint32_t *, size_t> counters;
    int64_t sources_taken = 0;
    bool calls_python = false;                  /* functions of Flambeau's modules ran */
    std::string refusal;

    ~fl_recorder();
    void refuse(const std::string &why);
    void let_go(void);                          /* of what others could see that it holds */
    int64_t memory_of(const fl_tensor *t);      /* -1: refused */
    int64_t extent_of(const fl_tensor *t, bool fills);
    void note_write(fl_memory &m, bool is_written);
    int watch_writes(fl_tensor *t);
    uint32_t take_writes(const fl_tensor *t);   /* counted so far, and no longer by this */
    void count_writes(bool again);              /* up to now; `again`: from now on, too */
    bool uses(const fl_tensor *t) const;        /* whether a kernel takes memory that was there */
    bool made_all_writes(void) const;           /* other threads wrote nothing meanwhile */
    int record(const fl_op *op, const fl_value *in, int n, fl_tensor *const *outs);

  private:
    fl_value keep(const fl_value &v);
};

bool fl_may_overlap(const fl_storage *a, const fl_storage *b);
void fl_record_begin(fl_recorder *r);
void fl_record_end(fl_recorder *r);
void fl_record_pause(fl_recorder *r);
void fl_record_resume(fl_recorder *r);
/* The call that is recorded on this thread, if one is, must not be replayed. */
void fl_record_refuse(const char *why);
