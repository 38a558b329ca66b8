/* A mutex and its guard, as in <mutex>, which takes longer to read than most files to compile. */
#ifndef FLAMBEAU_RUNTIME_MUTEX_H
#define FLAMBEAU_RUNTIME_MUTEX_H
#include <pthread.h>

class Mutex {
  public:
    Mutex() = default;
    Mutex(const Mutex &) = delete;
    void lock() { pthread_mutex_lock(&mutex_); }
    bool try_lock() { return pthread_mutex_trylock(&mutex_) == 0; }
    void unlock() { pthread_mutex_unlock(&mutex_); }

  private:
    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

/* Holds a mutex as long as it lives. */
class MutexGuard {
  public:
    explicit MutexGuard(Mutex &mutex) : mutex_(mutex) { mutex_.lock(); }
    MutexGuard(const MutexGuard &) = delete;
    ~MutexGuard() { mutex_.unlock(); }

  private:
    Mutex &mutex_;
};
#endif
