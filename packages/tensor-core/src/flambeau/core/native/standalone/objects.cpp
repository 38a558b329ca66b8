/* Memory and tensors where there is no Python: objects that begin with a count of references. */
#include "standalone/objects.h"
#include <atomic>
#include <new>

/* In the words where Python's objects have theirs. */
struct Header {
    std::atomic<intptr_t> references;
    void (*release)(void *);
};
static_assert(sizeof(Header) <= FL_OBJECT_WORDS * sizeof(intptr_t), "an object has room for it");

static void begin(void *object, void (*release)(void *)) {
    Header *header = new (object) Header;
    header->references.store(1, std::memory_order_relaxed);
    header->release = release;
}

void fl_hold(void *object) {
    ((Header *)object)->references.fetch_add(1, std::memory_order_relaxed);
}

void fl_release(void *object) {
    Header *header = (Header *)object;
    if (header->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
        header->release(object);
}

/* ---- storage ------------------------------------------------------------------------------- */

static void release_storage(void *object) {
    fl_storage *s = (fl_storage *)object;
    if (s->kind == FL_S_HEAP)
        fl_free(s->ptr, s->nbytes);
    fl_free(s, sizeof *s);
}

static fl_storage *blank_storage(size_t nbytes) {
    fl_storage *s = (fl_storage *)fl_alloc_or_error(sizeof(fl_storage));
    if (!s)
        return nullptr;
    memset((void *)s, 0, offsetof(fl_storage, small));
    begin(s, release_storage);
    s->nbytes = nbytes;
    s->kind = FL_S_INLINE;
    const uintptr_t mask = FL_ALLOC_ALIGNMENT - 1;
    s->ptr = (char *)(((uintptr_t)s->small + mask) & ~mask);
    return s;
}

fl_storage *fl_storage_new(size_t nbytes, int device_code) {
    if (device_code != FL_CPU) {
        fl_error(FL_NOT_IMPLEMENTED, "the runtime computes on the CPU alone");
        return nullptr;
    }
    fl_storage *s = blank_storage(nbytes);
    if (!s || (nbytes <= FL_SMALL && !fl_alloc_watched))
        return s;
    char *memory = (char *)fl_alloc_or_error(nbytes);
    if (!memory) {
        fl_release(s);
        return nullptr;
    }
    s->ptr = memory;
    s->kind = FL_S_HEAP;
    return s;
}

fl_storage *fl_storage_foreign(char *ptr, size_t nbytes, int, PyObject *, bool readonly) {
    fl_storage *s = blank_storage(nbytes);
    if (s) {
        s->ptr = ptr;
        s->kind = FL_S_FOREIGN;
        s->readonly = readonly;
    }
    return s;
}

int64_t fl_storage_offset(const fl_tensor *t) {
    return (t->data - ((fl_storage *)t->storage)->ptr) / fl_itemsize(t->dtype);
}

uint64_t fl_storage_bytes(const fl_tensor *t) { return ((fl_storage *)t->storage)->nbytes; }

/* ---- tensors ------------------------------------------------------------------------------- */

static const size_t GEOMETRY_BYTES = 2 * FL_MAX_DIMS * sizeof(int64_t);

static bool has_long_geometry(const fl_tensor *t) {
    return t->shape != ((const fl_tensor_full *)t)->inline_geometry;
}

static void release_tensor(void *object) {
    fl_tensor *t = (fl_tensor *)object;
    if (has_long_geometry(t))
        fl_free(t->shape, GEOMETRY_BYTES);
    if (t->storage)
        fl_release(t->storage);
    fl_free(t, sizeof(fl_tensor_full));
}

fl_tensor *fl_tensor_blank(void) {
    fl_tensor_full *t = (fl_tensor_full *)fl_alloc_or_error(sizeof(fl_tensor_full));
    if (!t)
        return nullptr;
    memset((void *)t, 0, sizeof *t);
    begin(t, release_tensor);
    t->head.shape = t->inline_geometry;
    t->head.strides = t->inline_geometry + 8;
    return &t->head;
}

int fl_tensor_geometry(fl_tensor *t, int ndim, const int64_t *shape, const int64_t *strides) {
    if (ndim > FL_MAX_DIMS)
        return fl_error(FL_VALUE_ERROR, "a tensor may have at most %d dimensions; this one would "
                        "have %d", FL_MAX_DIMS, ndim);
    if (ndim > 8 && !has_long_geometry(t)) {
        int64_t *room = (int64_t *)fl_alloc_or_error(GEOMETRY_BYTES);
        if (!room)
            return -1;
        t->shape = room;
        t->strides = room + FL_MAX_DIMS;
    }
    if (!fl_count_elements(ndim, shape, &t->numel))
        return fl_count_error("", ndim, shape);
    t->ndim = ndim;
    for (int i = 0; i < ndim; i++)
        t->shape[i] = shape[i];
    if (strides)
        memmove(t->strides, strides, sizeof(int64_t) * (size_t)ndim);
    else
        fl_contiguous_strides(ndim, shape, t->strides);
    t->flags &= ~(uint32_t)FL_CONTIGUOUS;
    if (!strides || fl_geometry_contiguous(ndim, shape, strides))
        t->flags |= FL_CONTIGUOUS;
    return 0;
}

/* Bytes from the first element to the end of the last; -1 with an error. */
static int64_t spanned_bytes(int dtype, int ndim, const int64_t *shape, const int64_t *strides) {
    int64_t last = 0, step, count, bytes;
    bool fits = fl_count_elements(ndim, shape, &count);
    bool is_empty = false;
    for (int i = 0; i < ndim; i++) {
        fits &= shape[i] >= 0 && (!strides || strides[i] >= 0);
        is_empty |= shape[i] == 0;
    }
    for (int i = 0; i < ndim && strides && fits && !is_empty; i++)
        fits &= !__builtin_mul_overflow(shape[i] - 1, strides[i], &step) &&
                !__builtin_add_overflow(last, step, &last);
    if (strides)
        count = is_empty ? 0 : last + 1;
    fits &= last < INT64_MAX && !__builtin_mul_overflow(count, fl_itemsize(dtype), &bytes);
    if (fits)
        return bytes;
    fl_error(FL_VALUE_ERROR, "a tensor of shape %s: sizes and strides must not be negative and "
             "their span must be countable", fl_shape_text(shape, ndim));
    return -1;
}

static void show(fl_tensor *t, fl_storage *s, int dtype, char *data) {
    fl_hold(s);
    t->storage = (PyObject *)s;
    t->data = data;
    t->version = &s->version;
    t->dtype = (uint8_t)dtype;
    if (s->readonly)
        t->flags |= FL_READONLY;
}

fl_tensor *fl_tensor_on(fl_storage *s, int dtype, int ndim, const int64_t *shape,
                        const int64_t *strides, int64_t offset_bytes) {
    fl_tensor *t = fl_tensor_blank();
    if (t && fl_tensor_geometry(t, ndim, shape, strides) < 0) {
        fl_release(t);
        return nullptr;
    }
    if (t)
        show(t, s, dtype, fl_advance(s->ptr, offset_bytes, 1));
    return t;
}

fl_tensor *fl_tensor_strided(int dtype, int device, int ndim, const int64_t *shape,
                             const int64_t *strides) {
    const int64_t bytes = spanned_bytes(dtype, ndim, shape, strides);
    fl_storage *s = bytes < 0 ? nullptr : fl_storage_new((size_t)bytes, device);
    if (!s)
        return nullptr;
    fl_tensor *t = fl_tensor_on(s, dtype, ndim, shape, strides, 0);
    fl_release(s);
    return t;
}

fl_tensor *fl_tensor_empty(int dtype, int device, int ndim, const int64_t *shape) {
    return fl_tensor_strided(dtype, device, ndim, shape, nullptr);
}

fl_tensor *fl_tensor_view(fl_tensor *source, int dtype, int ndim, const int64_t *shape,
                          const int64_t *strides, int64_t offset_bytes) {
    fl_tensor *t = fl_tensor_blank();
    if (t && fl_tensor_geometry(t, ndim, shape, strides) < 0) {
        fl_release(t);
        return nullptr;
    }
    if (t) {
        show(t, (fl_storage *)source->storage, dtype, fl_advance(source->data, offset_bytes, 1));
        t->flags |= FL_VIEW | (source->flags & FL_READONLY);
    }
    return t;
}
