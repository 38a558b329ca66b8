/* Which memory was made inside a function that a transform differentiates: by address. A storage
 * that was there before has an address that no storage made since can have, so that nothing needs
 * to be forgotten when memory is freed. */
#include "dispatch/captures.h"
#include "dispatch/python.h"
#include "runtime/mutex.h"
#include <algorithm>
#include <unordered_map>
#include <vector>

int fl_capture_scopes = 0;

struct CaptureScope {
    uint64_t began;
    std::vector<const void *> arguments;        /* their storages */
};
static Mutex guard;
static uint64_t clock_of_scopes = 0;
static std::unordered_map<const void *, uint64_t> births;       /* the latest at each address */
static thread_local std::vector<CaptureScope> scopes;

static void begin_scope(void) { __atomic_add_fetch(&fl_capture_scopes, 1, __ATOMIC_RELAXED); }

static void end_scope(void) {
    if (__atomic_sub_fetch(&fl_capture_scopes, 1, __ATOMIC_RELAXED) == 0)
        births.clear();
}

static uint64_t birth_of(const void *memory) {
    auto found = births.find(memory);
    return found == births.end() ? 0 : found->second;
}

uint64_t fl_births_enter(void) {
    MutexGuard lock(guard);
    begin_scope();
    return ++clock_of_scopes;
}

void fl_births_exit(void) {
    MutexGuard lock(guard);
    end_scope();
}

bool fl_is_born_since(const fl_tensor *t, uint64_t began) {
    MutexGuard lock(guard);
    return birth_of(fl_root_storage(t->storage)) >= began;
}

void fl_capture_enter(fl_tensor *const *arguments, size_t n) {
    CaptureScope scope;
    for (size_t i = 0; i < n; i++)
        scope.arguments.push_back(fl_root_storage(arguments[i]->storage));
    MutexGuard lock(guard);
    scope.began = ++clock_of_scopes;
    scopes.push_back(std::move(scope));
    begin_scope();
}

void fl_capture_exit(void) {
    MutexGuard lock(guard);
    scopes.pop_back();
    end_scope();
}

void fl_capture_born(const fl_storage *s) {
    MutexGuard lock(guard);
    births[s] = clock_of_scopes;
}

bool fl_is_differentiated_inside(const fl_tensor *t) {
    return !scopes.empty() && !fl_is_captured(t);
}

bool fl_is_captured(const fl_tensor *t) {
    if (scopes.empty())
        return false;
    MutexGuard lock(guard);
    const void *memory = fl_root_storage(t->storage);
    uint64_t born = birth_of(memory);
    for (const CaptureScope &scope : scopes) {
        const auto &own = scope.arguments;
        if (born < scope.began && std::find(own.begin(), own.end(), memory) == own.end())
            return true;
    }
    return false;
}
