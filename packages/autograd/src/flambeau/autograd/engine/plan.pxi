# A rule, compiled: what to save when an operator is recorded, and what to call in backward.
#
# Rules are written as functions whose parameter names say what they need (rules/*.py). On the
# first use of an operator the names become numbers here, so that recording and backward
# never look at a name again.

cdef enum:
    MAX_INPUTS = 16
    MAX_SLOTS = 24
    MAX_ARGS = 24
    MAX_RANKED = 4           # inputs whose ranks a node keeps, four bits each

cdef enum:                   # how a slot is filled
    SAVE_VALUE = 0           # the argument itself
    SAVE_RESULT = 1          # an output
    SAVE_SHAPE = 2           # the shape of an argument (of each tensor of a list)
    SAVE_DTYPE = 3           # the dtype of an argument
    SAVE_GEOMETRY = 4        # shape, strides and storage offset of an argument

cdef enum:                   # arguments of a call that are not slots
    ARG_GRAD = 255           # the gradient of output 0
    ARG_GRADS = 254          # a tuple: the gradient of each output, or None
    ARG_NEEDS = 253          # a tuple: whether each input wants a gradient

cdef enum:
    OUTPUTS_IN_LIST = 255    # rule_plan.outputs of a list: each node has its own number of them

cdef struct slot_plan:
    uint8_t kind
    uint8_t index            # number of the parameter or output
    uint32_t users           # bit i: the gradient of input i reads this slot

cdef struct call_plan:
    PyObject *function       # a rule's function, or NULL
    const fl_op *op          # a derived definition, called without boxing
    uint32_t inputs          # bits of the inputs it gives gradients for
    uint8_t first            # the lowest of them
    uint8_t many             # the function returns a tuple, one entry per input
    uint8_t nargs
    uint8_t args[MAX_ARGS]   # slot numbers, or ARG_...

cdef struct rule_plan:
    PyObject *name           # "MulBackward0"
    uint8_t ninputs, nslots, ncalls
    uint8_t takes_list       # the only input is a list of tensors
    uint8_t is_cheap         # computing the result again costs little: see recompute.pxi
    uint8_t broadcasts       # pointwise: gradients are summed to the input's shape
    uint8_t is_part          # a view of some elements: see parts.pxi
    uint8_t outputs          # outputs that may carry gradients: the first, or all
    uint8_t variant_slot     # slot that decides between Backward0 and Backward1, or 255
    uint8_t named_by_ranks   # nodes keep the ranks of their inputs: NAMES_BY_RANKS
    uint8_t inputs[MAX_INPUTS]
    slot_plan slots[MAX_SLOTS]
    call_plan calls[MAX_INPUTS]

cdef dict _FACTS = {"shape": SAVE_SHAPE, "dtype": SAVE_DTYPE, "geometry": SAVE_GEOMETRY}
cdef rule_plan NO_RULE       # stands for operators without a derivative
cdef list _kept_alive = []   # functions and names that plans point to


cdef rule_plan *plan_of(const fl_op *op) except NULL:
    if op.grad_rule is not NULL:
        return <rule_plan *>op.grad_rule
    return _compile_plan(<fl_op *>op)


cdef rule_plan *_compile_plan(fl_op *op) except NULL:
    cdef rule_plan *plan
    key = key_of(op)
    calls = find_rule(key)
    if not calls and (calls is not None or not op.flags & FL_O_DIFFERENTIABLE):
        op.grad_rule = &NO_RULE
        return &NO_RULE
    if calls is None and op.category == FL_POINTWISE:
        names = [param_name(op, k) for k in range(op.nparams)]
        calls = derived_calls(key, names, [name for k, name in enumerate(names)
                                           if op.params[<int>k].role <= FL_R_OPERAND])
    if calls is None:
        raise NotImplementedError(
            f"{key}() was called with a tensor that requires grad, but flambeau.autograd has no "
            f"derivative for it: add flambeau.autograd.rule({key!r}, <input>=lambda g, ...: ...), "
            f"declare flambeau.autograd.no_derivative({key!r}), or call it under no_grad()")
    plan = <rule_plan *>calloc(1, sizeof(rule_plan))
    if plan is NULL:
        raise MemoryError
    try:
        _fill_plan(plan, op, key, calls)
    except BaseException:
        free(plan)
        raise
    op.grad_rule = plan
    return plan


cdef int _fill_plan(rule_plan *plan, fl_op *op, str key, list calls) except -1:
    names = [param_name(op, k) for k in range(op.nparams)]
    name, variant = backward_name(key)
    _kept_alive.append((name, calls))
    plan.name = <PyObject *>name
    plan.broadcasts = op.category == FL_POINTWISE
    plan.is_part = key in PARTS
    plan.is_cheap = op.category == FL_POINTWISE and not op.flags & FL_O_RANDOM or key in CHEAP
    plan.named_by_ranks = key in NAMES_BY_RANKS
    plan.outputs = 1
    plan.variant_slot = 255
    wanted = sorted({names.index(i) for inputs, _ in calls for i in inputs})
    if len(wanted) > MAX_INPUTS:
        raise ValueError(f"the rule of {key}() has {len(wanted)} inputs; {MAX_INPUTS} is the limit")
    for k in wanted:
        plan.inputs[plan.ninputs] = k
        plan.ninputs += 1
        if op.params[<int>k].role == FL_R_TENSORS:
            plan.takes_list = 1
    if plan.named_by_ranks and plan.ninputs > MAX_RANKED:
        raise ValueError(f"the rule of {key}() has {plan.ninputs} inputs; names by rank look at "
                         f"{MAX_RANKED}")
    if plan.takes_list and plan.ninputs > 1:
        raise ValueError(f"the rule of {key}() has a list of tensors beside other inputs; "
                         "write a rule for the list alone")
    for inputs, target in calls:
        _fill_call(plan, op, key, names, [wanted.index(names.index(i)) for i in inputs], target)
    if variant is not None and variant in names:
        for s in range(plan.nslots):
            if plan.slots[s].kind == SAVE_VALUE and plan.slots[s].index == names.index(variant):
                plan.variant_slot = s
    return 0


cdef int _fill_call(rule_plan *plan, fl_op *op, str key, list names, list inputs,
                    object target) except -1:
    cdef call_plan *call = &plan.calls[plan.ncalls]
    call.first = min(inputs)
    for i in inputs:
        call.inputs |= <uint32_t>1 << <int>i
    if isinstance(target, tuple):
        derived, renamed = target
        call.op = FL.find_op(derived.encode())
        args = ["g"] + [renamed.get(p, p) for p in
                        [param_name(call.op, k) for k in range(1, call.op.nparams)]]
    else:
        call.function = <PyObject *>target
        call.many = len(inputs) > 1
        args = _parameters(target, key)
    if len(args) > MAX_ARGS:
        raise ValueError(f"the rule of {key}() takes {len(args)} arguments; at most {MAX_ARGS} fit")
    call.nargs = len(args)
    for i, arg in enumerate(args):
        call.args[<int>i] = _argument(plan, op, key, names, arg, call.inputs)
    plan.ncalls += 1
    return 0


cdef int _argument(rule_plan *plan, fl_op *op, str key, list names, str arg,
                   uint32_t users) except -1:
    """The number that stands for a rule's parameter name."""
    if arg in names:
        return _slot(plan, SAVE_VALUE, names.index(arg), users)
    if arg == "g":
        return ARG_GRAD
    if arg == "grads":
        plan.outputs = OUTPUTS_IN_LIST if op.flags & FL_O_LIST else op.nouts
        return ARG_GRADS
    if arg == "needs":
        return ARG_NEEDS
    if arg.startswith("result") and (arg[6:] or "0").isdigit():
        return _slot(plan, SAVE_RESULT, int(arg[6:] or "0"), users)
    parameter, _, fact = arg.rpartition("_")
    if parameter in names and fact in _FACTS:
        return _slot(plan, _FACTS[fact], names.index(parameter), users)
    raise ValueError(
        f"the rule of {key}() has a parameter {arg!r}; it can be g, grads, needs, result, "
        f"result1 ..., one of {', '.join(names)}, or one of these with _shape, _dtype or _geometry")


cdef int _slot(rule_plan *plan, int kind, int index, uint32_t users) except -1:
    cdef int s
    for s in range(plan.nslots):
        if plan.slots[s].kind == kind and plan.slots[s].index == index:
            plan.slots[s].users |= users
            return s
    if plan.nslots == MAX_SLOTS:
        raise ValueError(f"a rule can save {MAX_SLOTS} values at most")
    plan.slots[plan.nslots].kind = kind
    plan.slots[plan.nslots].index = index
    plan.slots[plan.nslots].users = users
    plan.nslots += 1
    return plan.nslots - 1


def _parameters(function, str key):
    """Names of a rule function's parameters."""
    code = getattr(function, "__code__", None)
    if code is None:
        raise TypeError(f"the rule of {key}() must be a Python function, not "
                        f"{type(function).__name__}: write a lambda around it")
    return list(code.co_varnames[:code.co_argcount])


cdef str param_name(const fl_op *op, int k):
    return op.params[k].name.decode()


cdef str key_of(const fl_op *op):
    name = op.name.decode()
    overload = op.overload.decode() if op.overload is not NULL else ""
    return f"{name}.{overload}" if overload else name


def forget_plan(str key):
    """Let a changed rule be compiled again; nodes made before keep the old one."""
    cdef fl_op *op
    try:
        op = FL.find_op(key.encode())
    except KeyError:
        return
    op.grad_rule = NULL
