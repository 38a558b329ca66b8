/* isin_of: whether elements are among others, which stand in a table of flags where they are whole
 * numbers close together, else in a hash table. */
#include "common/args.h"
#include "common/raw.h"
#include <algorithm>

namespace {

uint64_t key_of(int64_t x) { return (uint64_t)x; }
template <class T> uint64_t key_of(T x) {
    uint64_t key = 0;
    x = x == 0 ? T(0) : x;              /* -0 equals 0 */
    memcpy(&key, &x, sizeof x);
    return key;
}

/* Flags of the numbers from the least to the greatest. */
class Flags {
  public:
    Flags(const int64_t *x, int64_t n, uint64_t most) {
        auto ends = std::minmax_element(x, x + n);
        least_ = (uint64_t)*ends.first;
        uint64_t span = (uint64_t)*ends.second - least_;
        wanted_ = span < most;
        if (!wanted_)
            return;
        size_ = span + 1;
        at_ = (char *)fl_alloc((size_t)size_);
        if (!at_)
            return;
        memset(at_, 0, (size_t)size_);
        for (int64_t i = 0; i < n; i++)
            at_[(uint64_t)x[i] - least_] = 1;
    }
    ~Flags() { fl_free(at_, (size_t)size_); }
    bool wanted() const { return wanted_; }
    bool ok() const { return at_ != nullptr; }
    bool has(int64_t x) const {
        uint64_t position = (uint64_t)x - least_;
        return position < size_ && at_[position];
    }
    Flags(const Flags &) = delete;
  private:
    uint64_t least_ = 0, size_ = 0;
    bool wanted_ = false;
    char *at_ = nullptr;
};

/* Keys in a table at most half full, in the first free position from their hash on. */
class Hashed {
  public:
    template <class T> Hashed(const T *x, int64_t n) {
        while ((int64_t)1 << bits_ < 2 * n)
            bits_++;
        slots_ = (uint64_t *)fl_alloc(bytes());
        if (!slots_)
            return;
        memset(slots_, 0, bytes());
        for (int64_t i = 0; i < n; i++)
            if (x[i] == x[i])           /* NaN equals nothing */
                put(key_of(x[i]));
    }
    ~Hashed() { fl_free(slots_, bytes()); }
    bool ok() const { return slots_ != nullptr; }
    template <class T> bool has(T x) const {
        const uint64_t key = key_of(x);
        if (key == 0)
            return zero_;
        for (uint64_t i = hash(key);; i = (i + 1) & mask())
            if (slots_[i] == key || slots_[i] == 0)
                return slots_[i] == key && x == x;
    }
    Hashed(const Hashed &) = delete;
  private:
    size_t bytes() const { return (size_t)8 << bits_; }
    uint64_t mask() const { return ((uint64_t)1 << bits_) - 1; }
    uint64_t hash(uint64_t key) const { return key * 0x9e3779b97f4a7c15ull >> (64 - bits_); }
    void put(uint64_t key) {            /* 0 stands for a free position */
        if (key == 0)
            zero_ = true;
        uint64_t i = hash(key);
        while (slots_[i] && slots_[i] != key)
            i = (i + 1) & mask();
        slots_[i] = key;
    }
    int bits_ = 4;
    bool zero_ = false;
    uint64_t *slots_;
};

template <class T, class Table>
void look_up(const Table &table, const T *x, bool *found, int64_t n) {
    fl_parallel(n, FL_GRAIN, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++)
            found[i] = table.has(x[i]);
    });
}

template <class T> int find(const fl_tensor *elements, const In &x, const In &tests, int64_t count,
                            bool *found) {
    const int64_t n = elements->numel;
    const T *from = x.as<T>(), *among = tests.as<T>();
    if constexpr (sizeof(T) == 8 && T(1) / 2 == 0) {
        Flags flags(among, count, (uint64_t)(4 * (n + count) + 4096));
        if (flags.wanted()) {
            if (!flags.ok())
                return -1;
            look_up(flags, from, found, n);
            return 0;
        }
    }
    Hashed table(among, count);
    if (!table.ok())
        return -1;
    look_up(table, from, found, n);
    return 0;
}

}  // namespace

extern "C" int fl_infer_isin_of(const fl_op *op, const fl_value *in, int n, fl_spec *outs) {
    if (fl_same_device(op, in, n) < 0 || fl_expect_order(op, "elements", in[0].t) < 0 ||
        fl_expect_same_dtype(op, in[0].t, "test_elements", in[1].t) < 0)
        return -1;
    fl_spec_like(outs, in[0].t);
    outs->dtype = FL_BOOL;
    return 0;
}

extern "C" int fl_run_isin_of(const fl_op *op, const fl_value *in, int, fl_tensor *const *outs) {
    const fl_tensor *elements = in[0].t, *tests = in[1].t;
    int kind = fl_kind_of_dtype[elements->dtype];
    kind = kind == FL_K_BOOL ? FL_K_I64 : kind;
    In x(elements, kind), among(tests, kind);
    RawOut found(outs[0], FL_BOOL);
    if (!x.ok() || !among.ok() || !found.ok())
        return -1;
    bool *to = (bool *)found.data();
    const int64_t count = tests->numel;
    int status = 0;
    if (count == 0)
        std::fill(to, to + elements->numel, false);
    else if (elements->numel)
        status = kind == FL_K_F32   ? find<float>(elements, x, among, count, to)
                 : kind == FL_K_F64 ? find<double>(elements, x, among, count, to)
                                    : find<int64_t>(elements, x, among, count, to);
    if (status < 0)
        return fl_error(FL_MEMORY_ERROR, "%s: no memory for a table of %lld elements",
                        fl_op_title(op), (long long)count);
    found.commit();
    return 0;
}
