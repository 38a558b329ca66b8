"""einsum: sums of products written with subscripts.

A call is planned once for its equation and shapes and the plan kept. A plan first brings every
operand to distinct labels (diagonals of repeated ones, sums over labels that nothing else has),
then contracts two operands at a time, each time by one batched product, in the order that takes
the fewest multiplications.
"""
from flambeau.core import _core

_op = _core.operators()
_matmul, _permute, _reshape = _op["matmul"], _op["permute"], _op["reshape"]

_PLANS: dict = {}
_MOST_PLANS = 1024
_EXHAUSTIVE = 5         # operands whose orders are all tried


def einsum(*args):
    """Sums of products of tensors, written with subscripts.

    Args:
        args: An equation such as ``"ij,jk->ik"`` and the tensors, one by one or in a list; or
            tensors and lists of subscript numbers in turn, the last list being the output's.

    Returns:
        The tensor that the equation describes.

    Raises:
        RuntimeError: the equation does not fit the tensors.

    Example:
        >>> import flambeau
        >>> flambeau.einsum("i,i->", flambeau.ones(3), flambeau.ones(3))
        tensor(3.)
    """
    if not args:
        raise TypeError("einsum(): must specify the equation string and at least one operand")
    if not isinstance(args[0], str):
        args = _from_lists(args)
    equation, operands = args[0], args[1:]
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    for x in operands:
        if not _core.is_tensor(x):
            raise TypeError(f"einsum(): operands must be tensors, got {type(x).__name__}")
    key = (equation, *[x.shape for x in operands])
    plan = _PLANS.get(key)
    if plan is None:
        if len(_PLANS) >= _MOST_PLANS:
            _PLANS.clear()
        plan = _PLANS[key] = _Plan(equation, [tuple(x.shape) for x in operands])
    return plan.run(list(operands))


def _from_lists(args):
    """The sublist form as an equation: numbers become letters."""
    count = len(args) // 2
    operands = args[0:2 * count:2]
    lists = [_letters(s) for s in args[1:2 * count:2]]
    output = "->" + _letters(args[-1]) if len(args) % 2 else ""
    return (",".join(lists) + output, *operands)


def _letters(subscripts):
    if not isinstance(subscripts, (list, tuple)):
        raise TypeError(f"einsum(): subscripts must be lists of ints, got "
                        f"{type(subscripts).__name__}")
    text = ""
    for s in subscripts:
        if s is Ellipsis:
            text += "..."
        elif isinstance(s, int) and 0 <= s < 52:
            text += chr(ord("A") + s) if s < 26 else chr(ord("a") + s - 26)
        else:
            raise ValueError(f"einsum(): subscripts in sublist format must be in the range "
                             f"[0, 52), got {s!r}")
    return text


# ---- reading -----------------------------------------------------------------------------------
def _read(term, what):
    """A term as a list of letters, with ``...`` for the ellipsis."""
    labels, i = [], 0
    while i < len(term):
        if term.startswith("...", i):
            if "..." in labels:
                raise RuntimeError(f"einsum(): found '...' more than once in {what}, {term!r}")
            labels.append("...")
            i += 3
        elif term[i] == " ":
            i += 1
        elif term[i].isascii() and term[i].isalpha():
            labels.append(term[i])
            i += 1
        else:
            raise RuntimeError(f"einsum(): invalid subscript {term[i]!r} in {what}, {term!r}: "
                               "subscripts are letters and '...'")
    return labels


def _expand(labels, ndim, index):
    """Labels with the ellipsis replaced by numbers that count from its end."""
    named = len(labels) - ("..." in labels)
    if named > ndim or (named < ndim and "..." not in labels):
        raise RuntimeError(f"einsum(): the number of subscripts in the equation ({named}) "
                           f"{'is more than' if named > ndim else 'does not match'} the number of "
                           f"dimensions ({ndim}) for operand {index}"
                           f"{'' if named > ndim else ' and no ellipsis was given'}")
    if "..." not in labels:
        return labels
    at = labels.index("...")
    return labels[:at] + list(range(ndim - named, 0, -1)) + labels[at + 1:]


def _parse(equation, shapes):
    """The labels of each operand and of the output."""
    left, arrow, right = equation.partition("->")
    if not shapes:
        raise ValueError("einsum(): must provide at least one operand: einsum(equation, x, ...)")
    terms = left.split(",")
    if len(terms) != len(shapes):
        raise RuntimeError(f"einsum(): {'fewer' if len(terms) > len(shapes) else 'more'} operands "
                           f"were provided ({len(shapes)}) than specified in the equation "
                           f"({len(terms)}): {equation!r}")
    inputs = [_expand(_read(term, f"operand {i}"), len(shape), i)
              for i, (term, shape) in enumerate(zip(terms, shapes, strict=True))]
    widest = max((s for labels in inputs for s in labels if isinstance(s, int)), default=0)
    dots = list(range(widest, 0, -1))
    if arrow:
        output = _read(right, "the output")
        if "..." in output:
            at = output.index("...")
            output = output[:at] + dots + output[at + 1:]
    else:
        letters = [s for labels in inputs for s in labels if not isinstance(s, int)]
        output = dots + sorted({s for s in letters if letters.count(s) == 1})
    _check_output(output, inputs)
    return inputs, output


def _check_output(output, inputs):
    for s in output:
        if output.count(s) > 1:
            raise RuntimeError(f"einsum(): output subscript {s} appears more than once in the "
                               "output")
        if not any(s in labels for labels in inputs):
            raise RuntimeError(f"einsum(): output subscript {s} does not appear in the equation "
                               "for any input operand")


def _sizes_of(inputs, shapes):
    sizes: dict = {}
    for i, (labels, shape) in enumerate(zip(inputs, shapes, strict=True)):
        for label, n in zip(labels, shape, strict=True):
            known = sizes.get(label, 1)
            if n != 1 and known not in (1, n):
                raise RuntimeError(f"einsum(): subscript {label} has size {n} for operand {i} "
                                   "which does not broadcast with previously seen size "
                                   f"{known}")
            sizes[label] = n if known == 1 else known
    return sizes


# ---- planning ----------------------------------------------------------------------------------
class _Plan:
    """What to do with the operands, in order."""

    def __init__(self, equation, shapes):
        inputs, self.output = _parse(equation, shapes)
        self.sizes = _sizes_of(inputs, shapes)
        live = [{s for s, n in zip(labels, shape, strict=True) if n != 1 or self.sizes[s] == 1}
                for labels, shape in zip(inputs, shapes, strict=True)]
        self.prepare = []
        terms = []
        for i, (labels, shape) in enumerate(zip(inputs, shapes, strict=True)):
            others = set(self.output).union(*live[:i], *live[i + 1:])
            steps, labels = _prepare(labels, shape, self.sizes, others)
            self.prepare.append(steps)
            terms.append(labels)
        self.pairs = []
        for i, j in _order(terms, self.output, self.sizes):
            b = terms.pop(j)
            a = terms.pop(i)
            kept = set(self.output).union(*terms)
            pair = _Pair(a, b, kept, self.sizes)
            self.pairs.append((i, j, pair))
            terms.append(pair.labels)
        order = _order_of(terms[0], self.output)
        self.finish = [] if order is None else [(_permute, order)]

    def run(self, operands):
        for i, steps in enumerate(self.prepare):
            for op, *rest in steps:
                operands[i] = op(operands[i], *rest)
        for i, j, pair in self.pairs:
            b = operands.pop(j)
            a = operands.pop(i)
            operands.append(pair.run(a, b))
        result = operands[0]
        for op, *rest in self.finish:
            result = op(result, *rest)
        return result


def _prepare(labels, shape, sizes, others):
    """Steps to distinct labels that something else has too."""
    labels, shape = list(labels), list(shape)
    steps: list = []
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            if shape[first] != shape[second]:
                raise RuntimeError(f"einsum(): subscript {label} is repeated for one operand, but "
                                   f"the sizes don't match, {shape[first]} and {shape[second]}")
            steps.append((_op["diagonal"], 0, first, second))
            size = shape[first]
            for d in (second, first):
                del labels[d], shape[d]
            labels.append(label)
            shape.append(size)
    single = [d for d, s in enumerate(labels) if shape[d] == 1 and sizes[s] != 1]
    if single:
        steps.append((_op["squeeze"], single))
        labels = [s for d, s in enumerate(labels) if d not in single]
    alone = [d for d, s in enumerate(labels) if s not in others]
    if alone:
        steps.append((_op["sum"], alone))
        labels = [s for d, s in enumerate(labels) if d not in alone]
    return steps, labels


def _cost(a, b, sizes):
    count = 1
    for s in set(a) | set(b):
        count *= sizes[s]
    return count


def _joined(terms, i, j, output):
    rest = [t for k, t in enumerate(terms) if k not in (i, j)]
    kept = set(output).union(*rest)
    return [*rest, [s for s in dict.fromkeys([*terms[i], *terms[j]]) if s in kept]]


def _order(terms, output, sizes):
    """Pairs of positions to contract; the result of each goes to the end of the list."""
    if len(terms) <= _EXHAUSTIVE:
        return _cheapest(terms, output, sizes)[1]
    order = []
    while len(terms) > 1:
        _, i, j = min((_cost(terms[i], terms[j], sizes), i, j)
                      for i in range(len(terms)) for j in range(i + 1, len(terms)))
        order.append((i, j))
        terms = _joined(terms, i, j, output)
    return order


def _cheapest(terms, output, sizes):
    best: tuple | None = (0, []) if len(terms) == 1 else None
    for i in range(len(terms)):
        for j in range(i + 1, len(terms)):
            cost, rest = _cheapest(_joined(terms, i, j, output), output, sizes)
            cost += _cost(terms[i], terms[j], sizes)
            if best is None or cost < best[0]:
                best = (cost, [(i, j), *rest])
    return best


class _Pair:
    """One product of two operands: (batch, a's own, inner) times (batch, inner, b's own)."""

    def __init__(self, a, b, kept, sizes):
        batch = [s for s in a if s in b and s in kept]
        inner = [s for s in a if s in b and s not in kept]
        own_a = [s for s in a if s not in b]
        own_b = [s for s in b if s not in a]
        self.labels = batch + own_a + own_b
        self.order_a = _order_of(a, batch + own_a + inner)
        self.order_b = _order_of(b, batch + inner + own_b)
        shape = [sizes[s] for s in batch]
        n, k, m = (_count(group, sizes) for group in (own_a, inner, own_b))
        self.outer = not inner and len(own_a) <= 1 and len(own_b) <= 1
        self.shape_a = None if len(own_a) == 1 and len(inner) == 1 else (*shape, n, k)
        self.shape_b = None if len(own_b) == 1 and len(inner) == 1 else (*shape, k, m)
        whole = [sizes[s] for s in self.labels]
        self.shape = None if len(own_a) == 1 and len(own_b) == 1 else whole

    def run(self, a, b):
        if self.order_a is not None:
            a = _permute(a, self.order_a)
        if self.order_b is not None:
            b = _permute(b, self.order_b)
        if self.shape_a is not None:
            a = _reshape(a, self.shape_a)
        if self.shape_b is not None:
            b = _reshape(b, self.shape_b)
        result = _op["mul"](a, b) if self.outer else _matmul(a, b)
        return result if self.shape is None else _reshape(result, self.shape)


def _order_of(labels, wanted):
    order = [labels.index(s) for s in wanted]
    return None if order == list(range(len(order))) else order


def _count(labels, sizes):
    n = 1
    for s in labels:
        n *= sizes[s]
    return n
