#include "blocks.h"

#include <algorithm>

struct Block {
    PyObject_HEAD
    Blocks *owner;
    char *data;
    PyObject *keeper;           /* what the driver's memory belongs to */
    size_t bytes;
    void *stream;
    int device;
    uint32_t pool;
    std::vector<void *> *users; /* other streams that worked on it; null for none */
    Block *previous, *next;     /* among those in use */
};

thread_local uint32_t fl_current_pool = 0;

static void give_back(PyObject *self) {
    Block *block = (Block *)self;
    block->owner->give(block);
}

static PyTypeObject block_type;

int fl_add_block_type(PyObject *) {
    Py_SET_REFCNT((PyObject *)&block_type, 1);
    block_type.tp_name = "flambeau.cuda._launch.Block";
    block_type.tp_basicsize = sizeof(Block);
    block_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
    block_type.tp_doc = "Memory of a device, which a storage holds.";
    block_type.tp_dealloc = give_back;
    return PyType_Ready(&block_type);
}

/* The size class: 512 bytes at least, then eight to each power of two. */
static size_t rounded(size_t bytes) {
    if (bytes <= 512)
        return 512;
    size_t step = (size_t)1 << (63 - __builtin_clzll(bytes - 1)) >> 3;
    return (bytes + step - 1) & ~(step - 1);
}

static uint64_t key_of(int device, void *stream, uint32_t pool, size_t bytes) {
    return ((uint64_t)device << 56) ^ ((uint64_t)(uintptr_t)stream * 0x9e3779b97f4a7c15u) ^
           ((uint64_t)pool * 0xbf58476d1ce4e5b9u) ^ bytes;
}

void Blocks::start(PyObject *backend, const fl_driver *driver, bool exact) {
    backend_ = backend;
    driver_ = driver;
    exact_ = exact;
}

/* ---- memory of the driver ------------------------------------------------------------------- */
/* The backend's `reserve(device, bytes)`: an address and what keeps it. */
PyObject *Blocks::ask(int device, size_t bytes) {
    return PyObject_CallMethod(backend_, "reserve", "in", device, (Py_ssize_t)bytes);
}

bool Blocks::is_beyond_limit(int device, size_t bytes) {
    const int64_t limit = limits_[(size_t)device];
    return limit && statistics(device).reserved + (int64_t)bytes > limit;
}

/* Once more with nothing kept; then the backend's `refuse(device, bytes, why)` raises. */
PyObject *Blocks::ask_again(int device, size_t bytes) {
    PyErr_Clear();
    BlockStatistics &s = statistics(device);
    s.retries++;
    trim(device);
    PyObject *made = is_beyond_limit(device, bytes) ? nullptr : ask(device, bytes);
    if (made || (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_MemoryError)))
        return made;
    s.failures++;
    PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *why = value ? PyObject_Str(value) : PyUnicode_FromString("");
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    PyObject *done = why ? PyObject_CallMethod(backend_, "refuse", "inO", device,
                                               (Py_ssize_t)bytes, why)
                         : nullptr;
    Py_XDECREF(why);
    if (done)
        PyErr_SetString(PyExc_SystemError, "refuse() returned instead of raising");
    Py_XDECREF(done);
    return nullptr;
}

Block *Blocks::reserve(int device, void *stream, size_t bytes) {
    PyObject *made = is_beyond_limit(device, bytes) ? nullptr : ask(device, bytes);
    if (!made && (!PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_MemoryError)))
        made = ask_again(device, bytes);
    if (!made)
        return nullptr;
    unsigned long long address = 0;
    PyObject *keeper = nullptr;
    if (!PyArg_ParseTuple(made, "KO", &address, &keeper)) {
        Py_DECREF(made);
        return nullptr;
    }
    Block *block = PyObject_New(Block, &block_type);
    if (block) {
        block->owner = this;
        block->data = (char *)(uintptr_t)address;
        block->keeper = Py_NewRef(keeper);
        block->bytes = bytes;
        block->stream = stream;
        block->device = device;
        block->pool = fl_current_pool;
        block->users = nullptr;
        BlockStatistics &s = statistics(device);
        s.reserved += (int64_t)bytes;
        s.most_reserved = s.reserved > s.most_reserved ? s.reserved : s.most_reserved;
        s.segments++;
        s.reserves++;
        s.bytes_reserved += (int64_t)bytes;
    }
    Py_DECREF(made);
    return block;
}

void Blocks::release(Block *block) {
    BlockStatistics &s = statistics(block->device);
    s.reserved -= (int64_t)block->bytes;
    s.segments--;
    Py_DECREF(block->keeper);
    PyObject_Free(block);
}

/* ---- blocks of tensors ---------------------------------------------------------------------- */
void Blocks::link(Block *block) {
    block->previous = nullptr;
    block->next = live_;
    if (live_)
        live_->previous = block;
    live_ = block;
}

void Blocks::unlink(Block *block) {
    (block->previous ? block->previous->next : live_) = block->next;
    if (block->next)
        block->next->previous = block->previous;
}

PyObject *Blocks::take(int device, void *stream, size_t bytes, char **data) {
    if (!exact_)
        bytes = rounded(bytes);
    if (!used_.empty() && !fl_current_pool)
        look_after_used();
    auto found = kept_.find(key_of(device, stream, fl_current_pool, bytes));
    Block *block;
    if (found != kept_.end() && !found->second.empty()) {
        block = found->second.back();
        found->second.pop_back();
        Py_SET_REFCNT((PyObject *)block, 1);
    } else if (!(block = reserve(device, stream, bytes))) {
        return nullptr;
    }
    link(block);
    BlockStatistics &s = statistics(device);
    s.allocated += (int64_t)bytes;
    s.most_allocated = s.allocated > s.most_allocated ? s.allocated : s.most_allocated;
    s.count++;
    s.takes++;
    s.bytes_taken += (int64_t)bytes;
    *data = block->data;
    return (PyObject *)block;
}

void Blocks::keep(Block *block) {
    if (exact_ && !block->pool)
        release(block);
    else
        kept_[key_of(block->device, block->stream, block->pool, block->bytes)].push_back(block);
}

void Blocks::give(Block *block) {
    BlockStatistics &s = statistics(block->device);
    s.allocated -= (int64_t)block->bytes;
    s.count--;
    unlink(block);
    if (!block->users) {
        keep(block);
        return;
    }
    used_.push_back({block, {}});
    if (!fl_current_pool)
        let_pass(used_.back());
}

/* ---- several streams ------------------------------------------------------------------------ */
bool Blocks::use(const char *data, void *stream) {
    for (Block *block = live_; block; block = block->next) {
        if (block->data != data)
            continue;
        if (block->stream == stream)
            return true;
        if (!block->users)
            block->users = new std::vector<void *>;
        for (void *known : *block->users)
            if (known == stream)
                return true;
        block->users->push_back(stream);
        return true;
    }
    return false;
}

/* Waits, without holding up anybody, until other streams have done what they were asked. Not while
 * a graph is captured: its events would be the graph's, and never come. */
void Blocks::let_pass(Used &used) {
    Block *block = used.block;
    for (void *stream : *block->users) {
        void *event = nullptr;
        if (driver_->make_event(driver_->ctx, block->device, 0, &event) ||
            driver_->record(driver_->ctx, block->device, event, stream))
            driver_->synchronize(driver_->ctx, block->device);
        else
            used.events.push_back(event);
    }
    delete block->users;
    block->users = nullptr;
}

void Blocks::look_after_used(void) {
    for (size_t i = used_.size(); i-- > 0;) {
        Used &u = used_[i];
        if (u.block->users)
            let_pass(u);
        while (!u.events.empty()) {
            int done = 0;
            if (driver_->event_done(driver_->ctx, u.block->device, u.events.back(), 0, &done) ||
                !done)
                break;
            driver_->drop_event(driver_->ctx, u.block->device, u.events.back());
            u.events.pop_back();
        }
        if (!u.events.empty())
            continue;
        Block *block = u.block;
        used_.erase(used_.begin() + (ptrdiff_t)i);
        keep(block);
    }
}

/* ---- what is kept --------------------------------------------------------------------------- */
void Blocks::drop_pool(int device, uint32_t pool) {
    for (auto &[key, blocks] : kept_) {
        if (blocks.empty() || blocks.front()->device != device || blocks.front()->pool != pool)
            continue;
        std::vector<Block *> gone;
        gone.swap(blocks);
        for (Block *block : gone)
            release(block);
    }
    for (Block *block = live_; pool && block; block = block->next)
        if (block->device == device && block->pool == pool)
            block->pool = 0;            /* results that outlive their graph */
    for (Used &u : used_)
        if (pool && u.block->device == device && u.block->pool == pool)
            u.block->pool = 0;
}

void Blocks::trim(int device) {
    if (fl_current_pool)
        return;
    for (Used &u : used_)
        if (u.block->users)
            let_pass(u);
    if (driver_->synchronize(driver_->ctx, device))
        return;
    look_after_used();
    drop_pool(device, 0);
}

/* ---- streams that end ----------------------------------------------------------------------- */
static bool is_user(const Block &block, void *stream) {
    return block.users && std::count(block.users->begin(), block.users->end(), stream);
}

bool Blocks::has_work(int device, void *stream) const {
    for (Block *block = live_; block; block = block->next)
        if (block->device == device && (block->stream == stream || is_user(*block, stream)))
            return true;
    for (const Used &u : used_)
        if (u.block->device == device && (u.block->stream == stream || is_user(*u.block, stream)))
            return true;
    for (auto &[key, blocks] : kept_)
        if (!blocks.empty() && blocks.front()->device == device && blocks.front()->stream == stream)
            return true;
    return false;
}

static void leave_block(Block *block, int device, void *stream) {
    if (block->device != device)
        return;
    if (block->users)
        block->users->erase(std::remove(block->users->begin(), block->users->end(), stream),
                            block->users->end());
    if (block->stream == stream)
        block->stream = nullptr;
}

/* Waiting may run Python, which takes blocks and gives them back: it comes before all else. */
void Blocks::leave(int device, void *stream) {
    int done = 0;
    if (!has_work(device, stream))
        return;
    driver_->stream_done(driver_->ctx, device, stream, 1, &done);
    for (Block *block = live_; block; block = block->next)
        leave_block(block, device, stream);
    for (Used &u : used_)
        leave_block(u.block, device, stream);
    std::vector<Block *> kept;
    for (auto &[key, blocks] : kept_)
        if (!blocks.empty() && blocks.front()->device == device
            && blocks.front()->stream == stream) {
            kept.insert(kept.end(), blocks.begin(), blocks.end());
            blocks.clear();
        }
    for (Block *block : kept) {
        block->stream = nullptr;
        keep(block);
    }
}

static PyObject *described(const Block *block, bool in_use) {
    return Py_BuildValue("(KnKIO)", (unsigned long long)(uintptr_t)block->data,
                         (Py_ssize_t)block->bytes, (unsigned long long)(uintptr_t)block->stream,
                         block->pool, in_use ? Py_True : Py_False);
}

static int append(PyObject *list, const Block *block, bool in_use) {
    PyObject *row = described(block, in_use);
    int status = row ? PyList_Append(list, row) : -1;
    Py_XDECREF(row);
    return status;
}

PyObject *Blocks::snapshot(int device) {
    PyObject *list = PyList_New(0);
    int status = list ? 0 : -1;
    for (Block *block = live_; block && !status; block = block->next)
        if (block->device == device)
            status = append(list, block, true);
    for (auto &[key, blocks] : kept_)
        for (Block *block : blocks)
            if (!status && block->device == device)
                status = append(list, block, false);
    if (status)
        Py_CLEAR(list);
    return list;
}
