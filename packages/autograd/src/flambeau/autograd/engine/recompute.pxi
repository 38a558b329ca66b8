# Results that are computed again in backward instead of kept, under a budget: recompute_within().
#
# While such a block is open, a cheap operator's node has a recipe: the operator and its arguments.
# Who saves the result keeps the recipe. It costs no memory, for it is made only where somebody
# keeps the arguments anyway, or they can be computed again as well. The same operator over the
# same values gives the same bits; random operators have no recipes.

cdef enum:
    MAX_DEPTH = 8            # recipes that read each other: what backward holds at once
    SMALL_PART = 16          # arguments so much smaller than the result are copied, unless kept

cdef enum:                   # Recipe.choice
    NOT_CHOSEN = 0
    KEPT = 1
    RECOMPUTED = 2


@cython.final
cdef class Budget:
    """How much of what a block saves for backward may be kept."""

    cdef double part                    # of its bytes
    cdef int64_t least                  # results of fewer bytes are kept
    cdef int64_t kept, total            # bytes so far

    cdef bint affords(self, int64_t size) noexcept:
        """Take note of a result that is saved; whether it may be kept."""
        cdef bint fits
        self.total += size
        fits = <double>(self.kept + size) <= self.part * <double>self.total
        if fits:
            self.kept += size
        return fits


#: The recipes that hold aliases, as often as they do, by the address of the storage.
cdef unordered_map[size_t, vector[PyObject *]] _aliases


@cython.final
cdef class Recipe:
    """How to compute the first result of a call once more."""

    cdef const fl_op *op
    cdef fl_value values[FL_MAX_PARAMS]
    cdef uint32_t versions[FL_MAX_PARAMS]
    cdef int n
    cdef list held                      # a tensor, an Again, bytes of a list, or None
    cdef size_t storage                 # of the result
    cdef uint32_t written               # how often it was when it was made
    cdef int64_t size
    cdef int depth, choice
    cdef int readers                    # slots and recipes that want the result
    cdef object made                    # the result, as long as others of a pass want it
    cdef vector[size_t] aliased         # the storages whose aliases are held

    def __dealloc__(self):
        cdef size_t storage
        for storage in self.aliased:
            forget_reader(storage, <PyObject *>self)

    cdef object result(self, Node node):
        """The tensor, without history."""
        cdef fl_value values[FL_MAX_PARAMS]
        cdef fl_value outs[FL_MAX_OUTS]
        cdef int i
        if self.made is not None:
            return self.made
        again = []                      # holds what values point to
        for i in range(self.n):
            values[i] = self.values[i]
            if type(self.held[i]) is Again:
                again.append((<Again>self.held[i]).compute(node))
                values[i].t = pointer(again[len(again) - 1])
            elif values[i].tag == FL_TENSOR and values[i].t.version[0] != self.versions[i]:
                raise_recipe_lost(node, self, values[i].t, self.versions[i])
        for i in range(self.op.nouts):
            outs[i].tag = FL_NONE
            outs[i].len = 0
        dispatch_plainly(self.op, values, self.n, outs)
        made = <object>outs[0].t
        for i in range(self.op.nouts):
            Py_XDECREF(<PyObject *>outs[i].t)
        if self.readers > 1 and fl_task_in_hand is not NULL \
                and not (<Task>fl_task_in_hand).keep_graph:
            self.made = made
        return made

    cdef int hold(self, int i, object tensor) except -1:
        """Read a tensor as it is now."""
        self.held[i] = tensor
        self.values[i].t = pointer(tensor)
        self.versions[i] = version_at_saving(self.values[i].t)
        return 0

    cdef int copy_aliases(self, size_t storage) except -1:
        """Hold copies of what is not written to yet, instead of aliases."""
        cdef int i
        for i in range(self.n):
            if self.values[i].tag == FL_TENSOR and type(self.held[i]) is not Again \
                    and <size_t>self.values[i].t.storage == storage \
                    and self.values[i].t.version[0] == self.versions[i]:
                self.hold(i, clone(self.held[i]))
        return 0


cdef int forget_reader(size_t storage, PyObject *recipe) noexcept:
    """A recipe holds an alias less."""
    cdef size_t i
    if not _aliases.count(storage):
        return 0
    for i in range(_aliases[storage].size()):
        if _aliases[storage][i] is recipe:
            _aliases[storage][i] = _aliases[storage].back()
            _aliases[storage].pop_back()
            break
    if _aliases[storage].empty():
        _aliases.erase(storage)
    return 0


def copy_aliases(size_t storage):
    """Before others can write to memory uncounted: recipes hold copies of it."""
    cdef PyObject *reader
    readers = []
    for reader in _aliases[storage]:
        readers.append(<object>reader)
    _aliases.erase(storage)
    for recipe in readers:
        (<Recipe>recipe).copy_aliases(storage)


@cython.final
cdef class Again:
    """A tensor that a recipe makes, or a view of it."""

    cdef Recipe recipe
    cdef tuple shape, strides           # None: as the recipe makes it
    cdef int64_t offset

    def __dealloc__(self):
        if self.recipe is not None:
            self.recipe.readers -= 1
            if self.recipe.readers == 0:
                self.recipe.made = None

    cdef object compute(self, Node node):
        cdef uint32_t mode
        whole = self.recipe.result(node)
        if self.shape is None:
            return whole
        mode = FL.get_mode()
        FL.set_mode(mode & ~<uint32_t>FL_M_GRAD)
        try:
            return ops.as_strided(whole, self.shape, self.strides, self.offset)
        finally:
            FL.set_mode(mode)


cdef int dispatch_plainly(const fl_op *op, const fl_value *values, int n,
                          fl_value *outs) except -1:
    """Run an operator as it was run: nothing is recorded, nothing is cast."""
    cdef uint32_t mode = FL.get_mode()
    cdef AutocastBlock open = None
    if op.flags & FL_O_AUTOCAST:
        open = innermost_autocast(first_tensor(values, n).device_type)
    FL.set_mode(mode & ~<uint32_t>(FL_M_GRAD | FL_M_INFERENCE))
    try:
        if open is None or not open.enabled:
            return FL.dispatch(op, values, n, outs)
        with AutocastBlock(open.device_type, open.dtype, False, True):
            return FL.dispatch(op, values, n, outs)
    finally:
        FL.set_mode(mode)


cdef fl_tensor *first_tensor(const fl_value *values, int n) noexcept:
    cdef int i
    for i in range(n):
        if values[i].tag == FL_TENSOR:
            return values[i].t
    return NULL


cdef int raise_recipe_lost(Node node, Recipe recipe, fl_tensor *t, uint32_t saved) except -1:
    raise RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace "
        f"operation: under activation_memory_budget, backward computes a result of "
        f"{recipe.op.name.decode()}() again for {called_name(node)}, from {describe(t)}. "
        f"{told_writer(t, saved)} Call backward() before the write, write to a clone(), or compile "
        "without the budget")


# ---- making recipes ----------------------------------------------------------------------------
cdef Budget open_budget():
    """This thread's, where no hooks of the user stand before it."""
    thread = PyThread_get_thread_ident()
    blocks = _pack_blocks.get(thread)
    if not blocks or thread in _pack_refusals or is_inside():
        return None
    innermost = blocks[len(blocks) - 1]
    return <Budget>innermost if type(innermost) is Budget else None


cdef int note_recipe(Node node, const fl_op *op, const fl_value *values, int n,
                     fl_tensor *out) except -1:
    """Give a node a recipe, where its result costs little and its arguments are kept."""
    cdef Budget budget
    cdef Recipe recipe
    if not node.plan.is_cheap or out.flags & FL_VIEW or n > FL_MAX_PARAMS:
        return 0
    budget = open_budget()
    if budget is None or size_of(out) < budget.least:
        return 0
    recipe = Recipe.__new__(Recipe)
    recipe.op = op
    recipe.n = n
    recipe.held = [None] * n
    recipe.size = size_of(out)
    recipe.storage = <size_t>out.storage
    recipe.written = version_of(out)
    recipe.depth = 1
    if holds_arguments(recipe, values):
        Py_INCREF(<PyObject *>recipe)
        node.recipe = <PyObject *>recipe
    return 0


cdef inline int64_t size_of(fl_tensor *t) noexcept:
    return t.numel * ITEM_SIZES[t.dtype]


cdef bint holds_arguments(Recipe recipe, const fl_value *values) except -1:
    """Keep all arguments; false where one would stay in memory for this alone."""
    cdef int i
    for i in range(recipe.n):
        recipe.values[i] = values[i]
        if values[i].tag == FL_TENSOR:
            if (recipe.op is OPS.batch_norm and (i == 3 or i == 4) and values[5].i):
                recipe.values[i].tag = FL_NONE      # running statistics are not moved twice
            elif not hold_tensor(recipe, i, values[i].t):
                return False
        elif values[i].tag == FL_INTS:
            kept = (<char *>values[i].is_)[:values[i].len * sizeof(int64_t)]
            recipe.held[i] = kept
            recipe.values[i].is_ = <int64_t *><char *>kept
        elif values[i].tag not in (FL_NONE, FL_INT, FL_FLOAT, FL_COMPLEX, FL_BOOLEAN, FL_DTYPE):
            return False
    return True


cdef bint hold_tensor(Recipe recipe, int i, fl_tensor *t) except -1:
    cdef Again again
    if t.flags & FL_INFERENCE or t.flags >> FL_LEVEL_SHIFT or <size_t>t.storage == recipe.storage:
        return False
    again = again_of(t)
    if again is not None and again.recipe.choice != KEPT and again.recipe.depth < MAX_DEPTH:
        recipe.held[i] = again
        recipe.depth = max(recipe.depth, again.recipe.depth + 1)
        return True
    held = alias_of(<object><PyObject *>t)      # which stays as it is where t.data is replaced
    if _core.is_exposed(held) or not t.version[0] & FL_VERSION_SAVED and not is_parameter(t):
        if size_of(t) * SMALL_PART > recipe.size:
            return False
        held = clone(held)
    else:
        recipe.aliased.push_back(<size_t>t.storage)
        _aliases[<size_t>t.storage].push_back(<PyObject *>recipe)
        _core.read_later(held, copy_aliases)
    recipe.hold(i, held)
    return True


cdef inline bint is_parameter(fl_tensor *t) noexcept:
    return is_leaf_record(t.autograd) and t.flags & FL_REQUIRES_GRAD != 0


cdef Again again_of(fl_tensor *t):
    """How to make a tensor again; None where there is no recipe, or it was written to since."""
    cdef fl_tensor *whole = t
    cdef Recipe recipe
    cdef Again again
    if t.flags & FL_VIEW:
        whole = <fl_tensor *>FL.base(t) if is_linked_view(t) else NULL
    if whole is NULL or not is_node(whole.autograd) or whole.output_nr != 0 \
            or (<Node>whole.autograd).recipe is NULL:
        return None
    recipe = <Recipe>(<Node>whole.autograd).recipe
    if <size_t>t.storage != recipe.storage or version_of(t) != recipe.written \
            or t.dtype != whole.dtype or _core.is_exposed(<object><PyObject *>t):
        return None
    again = Again.__new__(Again)
    again.recipe = recipe
    recipe.readers += 1
    if t is not whole:
        again.shape, again.strides = shape_of(t), strides_of(t)
        again.offset = storage_offset(t)
    return again


# ---- saving ------------------------------------------------------------------------------------
cdef bint pack_input(Budget budget, slot_t *slot, fl_tensor *t) except -1:
    """Have a slot keep how to make an argument, and not the argument."""
    cdef Again again = again_of(t)
    if again is None:
        if not t.version[0] & FL_VERSION_SAVED and not is_parameter(t):
            budget.kept += size_of(t)
            budget.total += size_of(t)
        return False
    return pack_again(budget, slot, t, again, -1)


cdef bint pack_result(slot_t *slot, Node node, fl_tensor *t) except -1:
    """The same for the first result of a node with a recipe."""
    cdef Budget budget = open_budget()
    cdef Again again = Again.__new__(Again)
    again.recipe = <Recipe>node.recipe
    again.recipe.readers += 1
    return pack_again(budget, slot, t, again, 0)


cdef bint pack_again(Budget budget, slot_t *slot, fl_tensor *t, Again again,
                     int output_nr) except -1:
    cdef Recipe recipe = again.recipe
    cdef Packed packed
    if recipe.choice == NOT_CHOSEN:
        recipe.choice = KEPT if budget.affords(recipe.size) else RECOMPUTED
    if recipe.choice == KEPT:
        return False
    packed = new_packed(t, output_nr)
    packed.again = again
    Py_INCREF(<PyObject *>packed)
    hold(slot, S_PACKED, <PyObject *>packed)
    slot.output_nr = 0
    return True


@cython.final
cdef class recompute_within:
    """A block in which cheap results are computed again in backward, to keep less.

    Hooks for saved tensors that are open keep what they keep.

    Args:
        part: how much may be kept of what is saved for backward, from 0 to 1.
        least: results of fewer bytes are kept.
    """

    cdef double part
    cdef int64_t least

    def __init__(self, double part, int64_t least=1 << 14):
        self.part, self.least = part, least

    def __enter__(self):
        global _packing, _budgets
        cdef Budget budget = Budget.__new__(Budget)
        thread = PyThread_get_thread_ident()
        blocks = _pack_blocks.setdefault(thread, [])
        budget.part, budget.least = self.part, self.least
        hooked = len(blocks) > 0 and type(blocks[len(blocks) - 1]) is not Budget
        blocks.append(blocks[len(blocks) - 1] if hooked else budget)
        _packing += 1
        _budgets += 1
        return self

    def __exit__(self, *exception):
        global _budgets
        close_block()       # no call that Python counts: the block ends after a RecursionError too
        _budgets -= 1
