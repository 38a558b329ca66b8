/* What calls run, by operator and the kinds of their arguments. Python decides once. */
#pragma once
#include <flambeau/abi.h>
#include <string>
#include <vector>

#include "programs.h"

/* One call: the operator, and a byte for each argument and result, and for the device; numbers too
 * where the kernel depends on them. */
struct Signature {
    uint8_t bytes[sizeof(void *) + FL_MAX_PARAMS * (2 + 2 * sizeof(double)) + FL_MAX_OUTS
                  + 4 * FL_VIEWS + 1];
    uint32_t length = 0;
    uint64_t hash = 14695981039346656037u;

    void add(const void *data, size_t size);
};

bool fl_is_number(const fl_value &v);

Signature fl_sign(const fl_op *op, const fl_value *in, int n, fl_tensor *const *outs,
                  bool with_numbers);

struct Plan {
    PyObject *name = nullptr;       /* of the kernels; null where Python computes the call */
    void *near = nullptr;           /* for operands that lie alike and have the kernel's dtype */
    void *far = nullptr;            /* for all others */
    uint8_t own = 0, result = 0;    /* dtypes of near operands and results; FL_NO_DTYPE: any */
    uint32_t masks = 0;             /* arguments that are bool in near kernels, by bit */
    int width = 1;                  /* elements that a thread of the near kernel takes at once */
    int count = 0;
    uint8_t arguments[FL_MAX_PARAMS] = {};      /* the parameters that are packed, in order */
    const Program *program = nullptr;           /* of operators that are not elementwise */
    bool has_rows = false;          /* of compiled rows: `near` for short ones, `far` for long */
};

class Plans {
  public:
    const Plan *find(const Signature &s) const;
    /* Takes over the reference to the plan's name; the result holds until the next `keep`. */
    const Plan *keep(const Signature &s, const Plan &plan);
    /* Operators whose kernels depend on numbers. */
    bool needs_numbers(const fl_op *op) const;
    void set_needs_numbers(const fl_op *op);

  private:
    static constexpr size_t kMostPlans = 1 << 15;
    struct Slot {
        std::string key;
        uint64_t hash;
        Plan *plan = nullptr;
    };
    std::vector<Slot> slots_ = std::vector<Slot>(256);
    std::vector<const fl_op *> by_number_;
    size_t used_ = 0;

    Slot &slot_of(std::vector<Slot> &slots, const void *key, size_t size, uint64_t hash) const;
    void grow();
    void forget();
};
