/* The cache of Fourier plans: a few dozen lengths per type, the least recently used is evicted.
 *
 * Plans in use are counted and never dropped; when every slot is in use, or a plan is larger
 * than the cache may become, the plan belongs to its caller alone. */
#include "fft/fft_plan.h"
#include "runtime/mutex.h"
#include <new>

namespace {

const int SLOTS = 48;
const int64_t MOST_BYTES = (int64_t)64 << 20;

template <class T> struct Slot {
    FftPlan<T> *plan = nullptr;
    bool real = false;
    int users = 0;
    uint64_t used = 0;
};

template <class T> struct Cache {
    Mutex lock;
    Slot<T> slots[SLOTS];
    uint64_t clock = 0;
    int64_t bytes = 0;

    int find(int64_t n, bool real) {
        for (int i = 0; i < SLOTS; i++)
            if (slots[i].plan && slots[i].plan->n == n && (slots[i].real || !real)) {
                slots[i].users++;
                slots[i].used = ++clock;
                return i;
            }
        return -1;
    }
    int oldest() {
        int found = -1;
        for (int i = 0; i < SLOTS; i++)
            if (slots[i].plan && !slots[i].users &&
                (found < 0 || slots[i].used < slots[found].used))
                found = i;
        return found;
    }
    int empty() {
        for (int i = 0; i < SLOTS; i++)
            if (!slots[i].plan)
                return i;
        return -1;
    }
    /* A slot for a plan, which is then in use; -1 when there is none. */
    int put(FftPlan<T> *plan, bool real) {
        int64_t more = plan->bytes();
        if (more > MOST_BYTES)
            return -1;
        int at = empty();
        while (at < 0 || bytes + more > MOST_BYTES) {
            int old = oldest();
            if (old < 0)
                return -1;
            bytes -= slots[old].plan->bytes();
            delete slots[old].plan;
            slots[old] = Slot<T>();
            at = old;
        }
        slots[at].plan = plan;
        slots[at].real = real;
        slots[at].users = 1;
        slots[at].used = ++clock;
        bytes += more;
        return at;
    }
};

template <class T> Cache<T> &cache() {
    static Cache<T> *const the = new Cache<T>;   /* never destroyed: threads may outlive exit */
    return *the;
}

}  // namespace

template <class T> FftHeld<T>::FftHeld(int64_t n, bool real) : plan_(nullptr), slot_(-1) {
    Cache<T> &all = cache<T>();
    {
        MutexGuard guard(all.lock);
        slot_ = all.find(n, real);
        if (slot_ >= 0)
            plan_ = all.slots[slot_].plan;
    }
    if (plan_)
        return;
    FftPlan<T> *made = new (std::nothrow) FftPlan<T>;
    if (!made || !made->make(n, real)) {
        delete made;
        fl_error(FL_MEMORY_ERROR, "no memory for the tables of a Fourier transform of length %lld",
                 (long long)n);
        return;
    }
    plan_ = made;
    MutexGuard guard(all.lock);
    slot_ = all.put(made, real);
}

template <class T> FftHeld<T>::~FftHeld() {
    if (slot_ < 0) {
        delete plan_;
        return;
    }
    Cache<T> &all = cache<T>();
    MutexGuard guard(all.lock);
    all.slots[slot_].users--;
}

template class FftHeld<float>;
template class FftHeld<double>;
