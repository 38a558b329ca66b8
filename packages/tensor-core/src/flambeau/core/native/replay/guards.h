/* What has to be as it was when a call was recorded, for the recording to stand for the call. */
#pragma once
#include "replay/recorder.h"
#include <vector>

enum fl_guard_kind {
    FL_G_ITEM,          /* dict, key, value or NULL where there is none */
    FL_G_CELL,          /* cell, contents */
    FL_G_LIST,          /* list, tuple of its items */
    FL_G_DICT,          /* dict, (keys, values) in order */
    FL_G_ATTRIBUTE,     /* object, name, value in its own dict or NULL */
    FL_G_TYPE,          /* object, its type */
    FL_G_CLASS,         /* type: nothing was assigned to it or its bases */
    FL_G_FUNCTION,      /* function, its code and defaults */
    FL_G_ANSWER,        /* function without arguments, what it returns */
    FL_G_NAMES,         /* Flambeau's own modules have what they had: see names.h */
    FL_G_TENSOR,        /* tensor: class, memory, geometry and flags */
    FL_G_HOOKS,         /* tensor: a leaf that has none */
    FL_G_LEAF           /* the same, and its gradient or NULL */
};

struct fl_geometry {
    char *data;
    PyObject *storage;
    uint32_t flags;
    uint8_t dtype, device_type, device_index;
    std::vector<int64_t> shape, strides;
};

struct fl_guard {
    fl_guard_kind kind;
    PyObject *of = nullptr, *key = nullptr, *value = nullptr;
    /* CLASS: its version; NAMES: the generation; of dicts: the version that was right last, or 0 */
    mutable uint64_t tag = 0;
    fl_geometry geometry;
};

/* An argument: a tensor that is new at every call, an object, or a container of such. */
enum fl_argument_kind { FL_A_SOURCE, FL_A_AGAIN, FL_A_OBJECT, FL_A_TUPLE, FL_A_LIST, FL_A_DICT };
struct fl_argument {
    fl_argument_kind kind;
    int64_t source = 0;             /* AGAIN: the same tensor as that one */
    PyObject *object = nullptr;     /* OBJECT; DICT: its keys, a tuple */
    fl_geometry geometry;
    std::vector<fl_argument> parts;
};

/* Where a tensor lies that may be another one at each call: an item of a dict, what a cell holds, or
 * the gradient of a leaf. */
struct fl_slot {
    PyObject *of, *key;             /* references; `key` of a dict */
    fl_tensor *tensor;              /* when it was recorded: borrowed */
    fl_argument found;
};

struct fl_guards {
    std::vector<fl_guard> list;
    fl_argument args, kwargs;
    std::vector<fl_slot> slots;
    std::vector<fl_tensor *> sources;           /* of the last call that fitted: borrowed */
    std::vector<const PyObject *> storages;     /* of tensors that are no arguments, sorted */
    uint32_t mode = 0;
    int default_dtype = 0;
    bool by_dtype = false, fills = false;
    PyObject *failed = nullptr;                 /* what did not fit, for people */

    ~fl_guards();
    void let_go(void);
    int add(PyObject *description);
    bool adopt(const fl_guards &other);
    int take_arguments(PyObject *args, PyObject *kwargs);
    int take_slot(PyObject *of, PyObject *key);
    void keep_apart(const PyObject *storage);
    void keep_apart_all(const fl_recorder *r);
    bool still_hold(void);
    bool take_again(PyObject *args, PyObject *kwargs);
    bool hold(PyObject *args, PyObject *kwargs);

  private:
    bool fits(const fl_argument &a, PyObject *o);
    bool slots_fit(void);
    bool sources_apart(void) const;
    void note_failure(const fl_guard &g);
    bool all_hold(bool gradients);
    int note(PyObject *o, fl_argument &to);
};

/* Set by the autograd package: 0 for a plain leaf, 1 where it has hooks, 2 for a computed tensor;
 * `grad` is borrowed. Of NULL: whether a mode of autograd is on that replays know nothing of. */
extern int (*fl_leaf_state)(fl_tensor *t, PyObject **grad);
/* Whether two objects are one, or values of one type that nobody can tell apart. */
bool fl_same_value(PyObject *a, PyObject *b);
/* Whether a dict has these keys and values, in this order. */
bool fl_same_dict(PyObject *dict, PyObject *keys, PyObject *values);
/* Whether a function that cannot change anything returns what it did. */
bool fl_same_answer(PyObject *ask, PyObject *answer);
/* Whether nothing watches this thread. */
bool fl_is_unwatched(void);
