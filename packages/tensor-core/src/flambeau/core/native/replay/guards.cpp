/* Checking guards: a few nanoseconds each, since every call that is replayed passes them. */
#include "replay/guards.h"
#include "replay/names.h"
#include "dispatch/captures.h"
#include "overrides/override.h"
#include <algorithm>

int (*fl_leaf_state)(fl_tensor *, PyObject **) = nullptr;
extern bool fl_fill_uninitialized;          /* creation/copies.cpp */

bool fl_is_unwatched(void) {
    PyObject *grad;
    return !fl_thread.watchers && !fl_thread.queue && !fl_recording && !fl_overrides.modes &&
           !fl_any_capture_scope() && !(fl_leaf_state && fl_leaf_state(nullptr, &grad));
}

static fl_geometry geometry_of(const fl_tensor *t) {
    return {t->data, t->storage, t->flags, t->dtype, t->device_type, t->device_index,
            std::vector<int64_t>(t->shape, t->shape + t->ndim),
            std::vector<int64_t>(t->strides, t->strides + t->ndim)};
}

static bool fits_geometry(const fl_geometry &g, const fl_tensor *t) {
    size_t n = g.shape.size(), bytes = n * sizeof(int64_t);
    return t->dtype == g.dtype && t->flags == g.flags && (size_t)t->ndim == n &&
           t->device_type == g.device_type && t->device_index == g.device_index &&
           memcmp(t->shape, g.shape.data(), bytes) == 0 &&
           memcmp(t->strides, g.strides.data(), bytes) == 0;
}

/* Whether none of a tensor's own attributes hides one of its class, as a method given to it does. */
static bool hides_nothing(fl_tensor *t) {
    PyObject *own = *(PyObject **)((char *)t + fl_tensor_type->tp_dictoffset);
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (own && PyDict_Next(own, &at, &key, &value))
        if (_PyType_Lookup(Py_TYPE(t), key))
            return false;
    return true;
}

static PyObject *grad_of(fl_tensor *t, int *state) {
    PyObject *grad = nullptr;
    *state = fl_leaf_state ? fl_leaf_state(t, &grad) : 0;
    return grad == Py_None ? nullptr : grad;
}

/* Whether no hooks hear of its gradient, which comes as it did: 0, or 3 where it had hooks. */
static bool same_leaf(fl_tensor *t, uint64_t before, PyObject **grad) {
    int state;
    *grad = grad_of(t, &state);
    return state % 3 == 0 && (uint64_t)state == before;
}

static bool same_list(PyObject *list, PyObject *items) {
    if (PyList_GET_SIZE(list) != PyTuple_GET_SIZE(items))
        return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items); i++)
        if (!fl_same_value(PyList_GET_ITEM(list, i), PyTuple_GET_ITEM(items, i)))
            return false;
    return true;
}

static bool same_item(PyObject *dict, PyObject *key, PyObject *value) {
    PyObject *now = PyDict_GetItemWithError(dict, key);
    if (!now && PyErr_Occurred())
        PyErr_Clear();
    return value ? now && fl_same_value(now, value) : !now;
}

/* A dict that was not written to since its contents were compared. Later Pythons write to the
 * attributes of an object without counting it. */
static bool is_as_before(const fl_guard &g, const PyObject *dict, uint64_t *version) {
    *version = PY_VERSION_HEX < 0x030D0000 ? fl_dict_version(dict) : 0;
    return *version && *version == g.tag;
}

/* The item of a dict, or all of them. */
static bool same_in_dict(const fl_guard &g, PyObject *dict) {
    uint64_t version;
    if (is_as_before(g, dict, &version))
        return true;
    bool same = g.kind == FL_G_DICT ? fl_same_dict(dict, g.key, g.value)
                                    : same_item(dict, g.key, g.value);
    g.tag = same ? version : 0;
    return same;
}

static bool same_attribute(const fl_guard &g) {
    PyObject *dict = PyObject_GenericGetDict(g.of, nullptr);
    if (!dict)
        PyErr_Clear();
    bool same = dict && same_in_dict(g, dict);
    Py_XDECREF(dict);
    return same;
}

static bool has_tag(PyObject *type, uint64_t tag) {
    PyTypeObject *t = (PyTypeObject *)type;
    return tag && (uint64_t)t->tp_version_tag == tag;       /* 0 once anything was assigned */
}

/* Code, defaults and those of keywords, None where there are none. */
static bool same_function(PyObject *fn, PyObject *parts) {
    auto is = [parts](PyObject *now, Py_ssize_t i) {
        return (now ? now : Py_None) == PyTuple_GET_ITEM(parts, i);
    };
    return is(PyFunction_GET_CODE(fn), 0) && is(PyFunction_GET_DEFAULTS(fn), 1) &&
           is(PyFunction_GET_KW_DEFAULTS(fn), 2);
}

static bool guard_holds(const fl_guard &g) {
    fl_tensor *t = (fl_tensor *)g.of;
    PyObject *grad;
    switch (g.kind) {
    case FL_G_ITEM: case FL_G_DICT: return same_in_dict(g, g.of);
    case FL_G_CELL: return fl_same_value(PyCell_GET(g.of), g.value);
    case FL_G_LIST: return same_list(g.of, g.value);
    case FL_G_ATTRIBUTE: return same_attribute(g);
    case FL_G_TYPE: return (PyObject *)Py_TYPE(g.of) == g.value;
    case FL_G_FUNCTION: return same_function(g.of, g.value);
    case FL_G_CLASS: return has_tag(g.of, g.tag);
    case FL_G_ANSWER: return fl_same_answer(g.of, g.value);
    case FL_G_NAMES: return fl_names_generation() == g.tag;
    case FL_G_TENSOR:
        return (PyObject *)Py_TYPE(t) == g.value && t->data == g.geometry.data &&
               t->storage == g.geometry.storage &&
               fits_geometry(g.geometry, t) && hides_nothing(t);
    case FL_G_HOOKS: return same_leaf(t, g.tag, &grad);
    case FL_G_LEAF: return same_leaf(t, g.tag, &grad) && grad == g.value;
    }
    return false;
}

void fl_guards::let_go(void) {
    std::vector<fl_guard> guards;
    guards.swap(list);
    for (fl_guard &g : guards) {
        Py_XDECREF(g.of);
        Py_XDECREF(g.key);
        Py_XDECREF(g.value);
    }
}

fl_guards::~fl_guards() {
    let_go();
    std::vector<fl_argument *> parts{&args, &kwargs};
    while (!parts.empty()) {
        fl_argument *part = parts.back();
        parts.pop_back();
        Py_XDECREF(part->object);
        for (fl_argument &p : part->parts)
            parts.push_back(&p);
    }
    for (fl_slot &p : slots) {
        Py_DECREF(p.of);
        Py_DECREF(p.key);
        Py_XDECREF(p.found.object);
    }
    Py_XDECREF(failed);
}

/* Arguments may not share this memory, which is held. */
void fl_guards::keep_apart(const PyObject *storage) {
    storages.insert(std::upper_bound(storages.begin(), storages.end(), storage), storage);
}

void fl_guards::keep_apart_all(const fl_recorder *r) {
    auto is_source = [this](const PyObject *storage) {
        for (const fl_tensor *t : sources)
            if ((const PyObject *)fl_root_storage(t->storage) == storage)
                return true;
        return false;
    };
    for (const fl_memory &m : r->memories)
        if (m.outside && !is_source((const PyObject *)m.outside))
            keep_apart((const PyObject *)m.outside);
}

static const char *const NAMES[] = {"item", "cell", "list", "dict", "attribute", "type", "class",
                                    "function", "answer", "names", "tensor", "hooks", "leaf"};

/* (kind, object, key, value): keys and values may be missing, which NotImplemented says. */
int fl_guards::add(PyObject *o) {
    const char *name;
    PyObject *of, *key, *value;
    if (!PyArg_ParseTuple(o, "sOOO", &name, &of, &key, &value))
        return -1;
    fl_guard g;
    int kind = 0;
    while (kind < FL_G_LEAF && strcmp(NAMES[kind], name))
        kind++;
    g.kind = (fl_guard_kind)kind;
    g.of = Py_NewRef(of);
    g.key = key == Py_NotImplemented ? nullptr : Py_NewRef(key);
    g.value = value == Py_NotImplemented ? nullptr : Py_NewRef(value);
    if (g.kind == FL_G_CLASS) {
        PyObject *text = PyObject_GetAttrString(of, "__doc__");     /* gives the class a tag */
        Py_XDECREF(text);
        PyErr_Clear();
#if PY_VERSION_HEX >= 0x030C0000
        PyUnstable_Type_AssignVersionTag((PyTypeObject *)of);
#endif
        g.tag = (uint64_t)((PyTypeObject *)of)->tp_version_tag;
    } else if (g.kind == FL_G_NAMES) {
        g.tag = fl_names_generation();
    } else if (g.kind == FL_G_HOOKS || g.kind == FL_G_LEAF) {
        grad_of((fl_tensor *)of, &kind);
        g.tag = (uint64_t)kind;
    } else if (g.kind == FL_G_TENSOR) {
        g.geometry = geometry_of((fl_tensor *)of);
        g.key = Py_NewRef((PyObject *)fl_root_storage(((fl_tensor *)of)->storage));
        g.value = Py_NewRef((PyObject *)Py_TYPE(of));
        keep_apart(g.key);
    }
    list.push_back(std::move(g));
    PyObject *grad;
    if (g.kind == FL_G_LEAF ? same_leaf((fl_tensor *)of, list.back().tag, &grad)
                            : guard_holds(list.back()))
        return 0;                   /* a gradient may have changed since it was noted */
    PyErr_Format(PyExc_RuntimeError, "%s of an object of class %.100s changed meanwhile",
                 name, Py_TYPE(of)->tp_name);
    return -1;
}

/* Take over guards of another kind than of tensors, if all of them hold. */
bool fl_guards::adopt(const fl_guards &other) {
    for (const fl_guard &g : other.list)
        if (!guard_holds(g))
            return false;
    for (const fl_guard &g : other.list) {
        Py_XINCREF(g.of);
        Py_XINCREF(g.key);
        Py_XINCREF(g.value);
        list.push_back(g);
    }
    return true;
}

/* A tree of arguments; tensors become sources. */
int fl_guards::note(PyObject *o, fl_argument &to) {
    if (fl_tensor_check(o)) {
        auto found = std::find(sources.begin(), sources.end(), (fl_tensor *)o);
        to.kind = found == sources.end() ? FL_A_SOURCE : FL_A_AGAIN;
        to.source = found - sources.begin();
        to.geometry = geometry_of((fl_tensor *)o);
        if (to.kind == FL_A_SOURCE)
            sources.push_back((fl_tensor *)o);
        to.object = Py_NewRef((PyObject *)Py_TYPE(o));
        return 0;
    }
    bool tuple = PyTuple_CheckExact(o), is_list = PyList_CheckExact(o), dict = PyDict_CheckExact(o);
    to.kind = tuple ? FL_A_TUPLE : is_list ? FL_A_LIST : dict ? FL_A_DICT : FL_A_OBJECT;
    PyObject *parts = dict ? PyDict_Values(o) : tuple || is_list ? Py_NewRef(o) : nullptr;
    if (dict) {
        PyObject *keys = PyDict_Keys(o);
        to.object = keys ? PyList_AsTuple(keys) : nullptr;
        Py_XDECREF(keys);
    }
    Py_ssize_t n = parts ? PySequence_Fast_GET_SIZE(parts) : 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        to.parts.emplace_back();
        if (note(PySequence_Fast_GET_ITEM(parts, i), to.parts.back()) < 0) {
            Py_DECREF(parts);
            return -1;
        }
    }
    Py_XDECREF(parts);
    if (to.kind == FL_A_OBJECT)
        to.object = Py_NewRef(o);
    return 0;
}

int fl_guards::take_arguments(PyObject *given, PyObject *named) {
    mode = fl_thread.mode;
    default_dtype = fl_default_dtype;
    by_dtype = fl_promote_by_dtype;
    fills = fl_fill_uninitialized;
    return note(given, args) < 0 || note(named, kwargs) < 0 ? -1 : 0;
}

/* Borrowed; NULL where nothing is. */
static PyObject *value_at(PyObject *of, PyObject *key) {
    int state;
    if (fl_tensor_check(of))
        return grad_of((fl_tensor *)of, &state);
    PyObject *value = PyCell_Check(of) ? PyCell_GET(of) : PyDict_GetItemWithError(of, key);
    PyErr_Clear();
    return value;
}

int fl_guards::take_slot(PyObject *of, PyObject *key) {
    PyObject *value = value_at(of, key);
    if (!value)
        return PyErr_SetString(PyExc_RuntimeError, "there is no tensor any more"), -1;
    slots.push_back({Py_NewRef(of), Py_NewRef(key), (fl_tensor *)value, {}});
    return note(value, slots.back().found);
}

bool fl_guards::slots_fit(void) {
    for (const fl_slot &p : slots) {
        PyObject *value = value_at(p.of, p.key);
        if (!value || !fits(p.found, value)) {
            Py_XSETREF(failed, Py_BuildValue("sOO", "slot", p.of, p.key));
            return false;
        }
    }
    return true;
}

bool fl_guards::fits(const fl_argument &a, PyObject *o) {
    switch (a.kind) {
    case FL_A_SOURCE:
        if ((PyObject *)Py_TYPE(o) != a.object || !fits_geometry(a.geometry, (fl_tensor *)o) ||
            !hides_nothing((fl_tensor *)o))
            return false;
        sources.push_back((fl_tensor *)o);
        return true;
    case FL_A_AGAIN: return (fl_tensor *)o == sources[(size_t)a.source];
    case FL_A_OBJECT: return fl_same_value(o, a.object);
    case FL_A_TUPLE: case FL_A_LIST: {
        size_t n = a.parts.size();
        bool of_type = a.kind == FL_A_TUPLE ? PyTuple_CheckExact(o) : PyList_CheckExact(o);
        if (!of_type || (size_t)PySequence_Fast_GET_SIZE(o) != n)
            return false;
        for (size_t i = 0; i < n; i++)
            if (!fits(a.parts[i], PySequence_Fast_GET_ITEM(o, (Py_ssize_t)i)))
                return false;
        return true;
    }
    case FL_A_DICT: {
        if (!PyDict_CheckExact(o) || PyDict_GET_SIZE(o) != PyTuple_GET_SIZE(a.object))
            return false;
        PyObject *key, *value;
        Py_ssize_t at = 0;
        for (size_t i = 0; PyDict_Next(o, &at, &key, &value); i++)
            if (!fl_same_value(key, PyTuple_GET_ITEM(a.object, (Py_ssize_t)i)) ||
                !fits(a.parts[i], value))
                return false;
        return true;
    }
    }
    return false;
}

/* Arguments that share memory with each other, or with what a call reaches otherwise, would make
 * other programs of it. */
bool fl_guards::sources_apart(void) const {
    for (size_t i = 0; i < sources.size(); i++) {
        const fl_storage *s = fl_root_storage(sources[i]->storage);
        for (size_t k = 0; k < i; k++)
            if (fl_may_overlap(s, fl_root_storage(sources[k]->storage)))
                return false;
        if (std::binary_search(storages.begin(), storages.end(), (const PyObject *)s))
            return false;
        const bool is_shared = s->kind == FL_S_FOREIGN || s->is_shared & FL_S_WRITABLE_OUTSIDE;
        for (size_t k = 0; is_shared && k < storages.size(); k++)
            if (fl_may_overlap(s, (const fl_storage *)storages[k]))
                return false;
    }
    return true;
}

/* Whether nothing has changed since, gradients aside. */
bool fl_guards::still_hold(void) { return all_hold(false) && sources_apart(); }

/* Whether the arguments are what they were. */
bool fl_guards::take_again(PyObject *given, PyObject *named) {
    sources.clear();
    if (fl_thread.mode != mode || !fits(args, given) || !fits(kwargs, named))
        return false;
    for (const fl_slot &p : slots)
        if (p.found.kind == FL_A_SOURCE)
            sources.push_back(p.tensor);
    return true;
}

void fl_guards::note_failure(const fl_guard &g) {
    Py_XSETREF(failed, Py_BuildValue("sOO", NAMES[g.kind], g.of,
                                     g.key && g.kind != FL_G_TENSOR ? g.key : Py_None));
}

bool fl_guards::all_hold(bool gradients) {
    for (const fl_guard &g : list)
        if ((gradients || g.kind != FL_G_LEAF) && FL_UNLIKELY(!guard_holds(g))) {
            note_failure(g);
            return false;
        }
    return true;
}

bool fl_guards::hold(PyObject *given, PyObject *named) {
    sources.clear();
    if (fl_thread.mode != mode || !fl_is_unwatched() || fl_default_dtype != default_dtype ||
        fl_promote_by_dtype != by_dtype || fl_fill_uninitialized != fills)
        return false;
    return fits(args, given) && fits(kwargs, named) && slots_fit() && sources_apart() &&
           all_hold(true);
}
