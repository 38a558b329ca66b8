#include "blocks.h"

struct Block {
    PyObject_HEAD
    Blocks *owner;
    char *data;
    PyObject *keeper;           /* what the driver's memory belongs to */
    size_t bytes;
    void *stream;
    int device;
};

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

static uint64_t key_of(int device, void *stream, size_t bytes) {
    return ((uint64_t)device << 56) ^ ((uint64_t)(uintptr_t)stream * 0x9e3779b97f4a7c15u) ^ bytes;
}

void Blocks::start(PyObject *backend, bool exact) {
    backend_ = backend;
    exact_ = exact;
}

/* The backend's `reserve(device, bytes)`: an address and what keeps it. */
PyObject *Blocks::ask(int device, size_t bytes) {
    return PyObject_CallMethod(backend_, "reserve", "in", device, (Py_ssize_t)bytes);
}

Block *Blocks::reserve(int device, void *stream, size_t bytes) {
    PyObject *made = ask(device, bytes);
    if (!made && PyErr_ExceptionMatches(PyExc_MemoryError)) {
        PyErr_Clear();
        trim(device);
        made = ask(device, bytes);
    }
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
        BlockStatistics &s = statistics(device);
        s.reserved += (int64_t)bytes;
        s.most_reserved = s.reserved > s.most_reserved ? s.reserved : s.most_reserved;
    }
    Py_DECREF(made);
    return block;
}

PyObject *Blocks::take(int device, void *stream, size_t bytes, char **data) {
    if (!exact_)
        bytes = rounded(bytes);
    auto found = kept_.find(key_of(device, stream, bytes));
    Block *block;
    if (found != kept_.end() && !found->second.empty()) {
        block = found->second.back();
        found->second.pop_back();
        Py_SET_REFCNT((PyObject *)block, 1);
    } else if (!(block = reserve(device, stream, bytes))) {
        return nullptr;
    }
    BlockStatistics &s = statistics(device);
    s.allocated += (int64_t)bytes;
    s.most_allocated = s.allocated > s.most_allocated ? s.allocated : s.most_allocated;
    s.count++;
    *data = block->data;
    return (PyObject *)block;
}

static void release(Block *block, BlockStatistics &s) {
    s.reserved -= (int64_t)block->bytes;
    Py_DECREF(block->keeper);
    PyObject_Free(block);
}

void Blocks::give(Block *block) {
    BlockStatistics &s = statistics(block->device);
    s.allocated -= (int64_t)block->bytes;
    s.count--;
    if (exact_)
        release(block, s);
    else
        kept_[key_of(block->device, block->stream, block->bytes)].push_back(block);
}

void Blocks::trim(int device) {
    for (auto &[key, blocks] : kept_) {
        if (blocks.empty() || blocks.front()->device != device)
            continue;
        std::vector<Block *> gone;
        gone.swap(blocks);
        for (Block *block : gone)
            release(block, statistics(device));
    }
}
