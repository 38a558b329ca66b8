/* References that release themselves. */
#pragma once
#include "dispatch/objects.h"

class Ref {
  public:
    Ref() {}
    explicit Ref(fl_tensor *t) : t_(t) {}           /* takes the reference */
    Ref(Ref &&other) : t_(other.t_) { other.t_ = nullptr; }
    Ref(const Ref &other) : t_(other.t_) {
        if (t_)
            fl_hold(t_);
    }
    Ref &operator=(Ref other) {
        fl_tensor *t = t_;
        t_ = other.t_;
        other.t_ = t;
        return *this;
    }
    ~Ref() {
        if (t_)
            fl_release(t_);
    }
    void clear() { *this = Ref(); }
    fl_tensor *get() const { return t_; }
    fl_tensor *operator->() const { return t_; }
    explicit operator bool() const { return t_ != nullptr; }

  private:
    fl_tensor *t_ = nullptr;
};
