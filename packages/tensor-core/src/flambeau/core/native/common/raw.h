/* Contiguous memory in a tensor's own dtype, for operators that move elements without reading
 * them, and lines: contiguous memory in which one dimension comes last. */
#pragma once
#include "dispatch/core.h"
#include <new>

/* Elements of 1, 2, 4, 8 or 16 bytes, moved as they are. */
struct fl_bytes16 {
    uint64_t half[2];
};
#define FL_BY_SIZE(size, function, ...)                                                          \
    switch (size) {                                                                              \
    case 1: function<uint8_t>(__VA_ARGS__); break;                                               \
    case 2: function<uint16_t>(__VA_ARGS__); break;                                              \
    case 4: function<uint32_t>(__VA_ARGS__); break;                                              \
    case 8: function<uint64_t>(__VA_ARGS__); break;                                              \
    default: function<fl_bytes16>(__VA_ARGS__); break;                                           \
    }

/* A tensor broadcast to a shape, contiguous, in a given dtype. */
class RawIn {
  public:
    RawIn(const fl_tensor *t, int dtype, int ndim, const int64_t *shape);
    RawIn(const fl_tensor *t, int dtype) : RawIn(t, dtype, t->ndim, t->shape) {}
    bool ok() const { return ptr_ != nullptr || bytes_ == 0; }
    const char *data() const { return ptr_; }
    RawIn(const RawIn &) = delete;
  private:
    char *ptr_, *owned_;
    size_t bytes_;
    CallRoom room_;
};

/* An optional tensor in a compute kind; NULL data when it is None. */
class OptionalIn {
  public:
    OptionalIn(const fl_value &v, int kind) : given_(fl_t(v) != nullptr) {
        if (given_)
            new (memory_) In(fl_t(v), kind);
    }
    ~OptionalIn() {
        if (given_)
            in()->~In();
    }
    bool ok() { return !given_ || in()->ok(); }
    template <class T> const T *as() { return given_ ? in()->as<T>() : nullptr; }
    const char *data() { return as<char>(); }
    OptionalIn(const OptionalIn &) = delete;
  private:
    In *in() { return (In *)memory_; }
    bool given_;
    alignas(In) char memory_[sizeof(In)];
};

/* Room for a result of a given dtype; commit() copies it to the tensor when it is not its own. */
class RawOut {
  public:
    RawOut(fl_tensor *t, int dtype);
    bool ok() const { return ptr_ != nullptr || bytes_ == 0; }
    char *data() { return ptr_; }
    void commit();
    RawOut(const RawOut &) = delete;
  private:
    fl_tensor *t_;
    char *ptr_, *owned_;
    int dtype_;
    size_t bytes_;
    CallRoom room_;
};

/* For operators that write a few elements of `self`: its contents, broadcast, into the room. */
void fl_load_out(RawOut &out, const fl_tensor *target, const fl_tensor *self);

/* The lines of a tensor along a dimension: [count, n] numbers of a kind. */
class LinesIn {
  public:
    LinesIn(const fl_tensor *t, int dim, int kind);
    bool ok() const { return ptr_ != nullptr || bytes_ == 0; }
    template <class T> const T *as() const { return (const T *)ptr_; }
    LinesIn(const LinesIn &) = delete;
  private:
    char *ptr_, *owned_;
    size_t bytes_;
    CallRoom room_;
};

class LinesOut {
  public:
    LinesOut(fl_tensor *t, int dim, int kind);
    bool ok() const { return ptr_ != nullptr || bytes_ == 0; }
    template <class T> T *as() { return (T *)ptr_; }
    void commit();
    LinesOut(const LinesOut &) = delete;
  private:
    fl_tensor *t_;
    int dim_, kind_;
    char *ptr_, *owned_;
    size_t bytes_;
    CallRoom room_;
};

/* For operators that write into `self`: give the target self's contents unless it is self. */
static inline void fl_start_from(fl_tensor *target, const fl_tensor *self) {
    if (target->data != self->data)
        fl_copy_tensor(target, self);
}
