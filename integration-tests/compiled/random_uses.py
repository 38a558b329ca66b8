"""More lines for random programs: whoever else comes to memory while kernels wait.

Hooks, finalizers, generators, threads, signals, other processes, transforms, modes, nested compiled
functions (``compiled``, which is no more than a name where a program runs as it is).
"""

from __future__ import annotations

LINES: dict[str, tuple[int, tuple[str, ...]]] = {
    "hook": (3, (
        "if A.requires_grad:\n    A.register_hook(lambda g: g * 2 + A.detach().sum())",
        "if A.requires_grad:\n    A.register_hook(lambda g: notes.append(g.tolist()))",
        "if A.requires_grad and not A.is_leaf:\n    A.retain_grad()",
        "w.leaf.register_post_accumulate_grad_hook(lambda p: p.grad.mul_(0.5))",
        "w.leaf.register_hook(lambda g: g.clamp(-1, 1))",
        "with autograd.graph.saved_tensors_hooks(lambda t: t.clone().numpy(), "
        "flambeau.from_numpy):\n"
        "    N = (A * w.leaf).exp().tanh()",
        "with autograd.graph.saved_tensors_hooks(lambda t: t + 0, lambda t: t * 1):\n"
        "    (w.leaf.sigmoid() * A).sum().backward()",
        "with autograd.graph.save_on_cpu():\n    N = w.leaf.exp() * A",
        "with autograd.graph.saved_tensors_hooks(lambda t: w.list.append(t) or len(w.list) - "
        "1, lambda k: w.list[k]):\n"
        "    N = w.leaf.exp().square()",
        "w.model.register_forward_hook(lambda m, i, o: o * 2)",
        "w.model[0].register_forward_pre_hook(lambda m, i: (i[0] + 1,))",
        "w.model[0].register_full_backward_hook(lambda m, i, o: None)",
        "w.model[2].register_forward_hook(lambda m, i, o: notes.append(o.detach().sum().item()))",
        "w.optimizer.register_step_pre_hook(lambda *a: w.leaf.data.mul_(0.9))",
        "w.optimizer.register_step_post_hook(lambda *a: notes.append(w.leaf.tolist()))",
        "N = w.leaf * 2\nN.register_hook(lambda g: w.x.add_(1) and None)\nN.sum().backward()",
    )),
    "lifetime": (3, (
        "N = A * 2\nfinalize(w.leaf.detach(), notes.append, 1)",
        "N = A + 1\nfinal = Final(lambda: notes.append(N.tolist()))\nN.mul_(2)\ndel final\n"
        "N.add_(1)",
        "final = Final(lambda: A.add_(1))\nA.mul_(2)\ndel final\nA.mul_(3)",
        "N = A * 2\nN.kept = Final(lambda: notes.append(B.tolist()))\nB.mul_(2)\nN = N + 1",
        "ring = [A * 2]\nring.append(ring)\ndel ring\ngc.collect()",
        "gc.set_threshold(1)\nN = [A * k for k in range(3)][1]\ngc.set_threshold(700, 10, 10)",
        "ring = [Final(lambda: A.mul_(2))]\nring.append(ring)\ndel ring\nA.add_(1)\n"
        "gc.collect()\nA.add_(3)",
        "N = A + 1\nweak = weakref.ref(N)\nN = weak() * 2\nnotes.append(weak() is None)",
        "cell = weakref.WeakValueDictionary(a=A)\nN = cell['a'] + 1",
        "store = (A + 1).untyped_storage()\nnotes.append(bytes(store))",
        "N = A.clone()\nM = N + 1\nstore = N.untyped_storage()\ndel N\nN = M * 2",
    )),
    "generator": (2, (
        "def walk(a):\n    for k in range(3):\n        a = a * 2\n        yield a\n"
        "        a.add_(1)\nsteps = walk(A)\nN = next(steps)\nM = next(steps)\nsteps.close()",
        "def walk(a):\n    try:\n        while True:\n            got = yield a\n"
        "            a = a + (0 if got is None else got)\n    finally:\n        a.add_(5)\n"
        "steps = walk(A * 1)\nN = next(steps)\nM = steps.send(B)\ndel steps",
        "N = list(compiled(lambda a: (a * k for k in range(3)))(A))[2]",
        "def walk(a):\n    yield a.add_(1)\n    yield compiled(lambda b: b * 2)(a)\n"
        "N, M = walk(A)",
        "@contextlib.contextmanager\ndef scaled(a):\n    a.mul_(2)\n    yield a\n    a.div_(2)\n"
        "with scaled(A) as inner:\n    N = inner + 1",
        "N = functools.reduce(lambda a, b: a * b + 1, [A, B, A])",
    )),
    "exception": (2, (
        "def fails(a):\n    a.add_(1)\n    b = a * 2\n    raise KeyError(b)\ntry:\n"
        "    compiled(fails)(A)\nexcept KeyError as error:\n    N = error.args[0] + 1",
        "try:\n    A.add_(1)\n    A.mul_(2)\n    A[99]\nexcept IndexError:\n    A.add_(3)\n"
        "finally:\n    N = A * 2",
        "try:\n    compiled(lambda a: a.add_(1).reshape(-1, 77, 13))(A)\nexcept RuntimeError:\n"
        "    notes.append(A.tolist())",
        "try:\n    N = A * 2\n    N.add_(1)\n    raise Stop\nexcept Stop as stop:\n"
        "    notes.append(stop.__traceback__.tb_frame.f_locals['A'].sum().item())",
        "A.add_(1)\nassert A.sum() < 1000, A",
        "def deep(a, k):\n    if k == 0:\n        raise Stop\n    try:\n"
        "        compiled(deep)(a + 1, k - 1)\n    finally:\n        a.mul_(2)\ntry:\n"
        "    deep(A, 4)\nexcept Stop:\n    N = A + 1",
    )),
    "nested": (3, (
        "N = compiled(lambda a, b: a * b + 1)(A, B)", "N = compiled(compiled(F.gelu))(A)",
        "N = compiled(w.model)(w.x)", "compiled(lambda: A.add_(1))()\nN = A * 2",
        "F.mse_loss(compiled(w.model)(w.x), w.x[:, :2]).backward()",
        "@compiled\ndef half(a):\n    a = a * 0.5\n"
        "    return half(a) if a.abs().max() > 1 else a\nN = half(A.float().clamp(-9, 9))",
        "N = compiled(checkpoint)(lambda a: F.dropout(a.exp(), 0.5), w.leaf, use_reentrant=False)",
        "N = checkpoint(compiled(lambda a: F.dropout(a.exp(), 0.5)), w.leaf, use_reentrant=True)",
        "class Twice(autograd.Function):\n    @staticmethod\n    def forward(ctx, a):\n"
        "        ctx.save_for_backward(a * 2)\n        return a * 2\n    @staticmethod\n"
        "    def backward(ctx, g):\n        return g * 2 + ctx.saved_tensors[0] * 0.1\n"
        "N = Twice.apply(w.leaf * 1.5)\nN.sum().backward()",
        "class Kept(autograd.Function):\n    @staticmethod\n    def forward(ctx, a):\n"
        "        ctx.mark_dirty(a)\n        return a.mul_(2)\n    @staticmethod\n"
        "    def backward(ctx, g):\n        return compiled(lambda b: b * 2)(g)\n"
        "N = Kept.apply(A * 1)",
    )),
    "transform": (3, (
        "N = flambeau.compiler.disable(lambda a: a.mul_(2) + 1)(A)",
        "N = compiled(flambeau.compiler.disable(lambda a: a.exp() * B))(A)\nN.add_(1)",
        "N = func.vmap(lambda a: a * 2 + 1)(A)",
        "N = func.vmap(compiled(lambda a: a.exp() * 2))(A)",
        "N = compiled(func.vmap(lambda a, b: a * b, in_dims=(0, None)))(A, B)",
        "N = func.grad(lambda a: (a * a).sum())(A) + 0",
        "N = func.grad(compiled(lambda a: (a.tanh() * B).sum()))(A) * 2",
        "N = compiled(func.grad(lambda a: (a.exp() * a).sum()))(A) + 0",
        "N, M = func.jvp(lambda a: a.sin() * a, (A,), (B,))\nM = M + 0",
        "N, M = func.jvp(compiled(lambda a: a.sin() * a), (A,), (B,))\nM = M + 0",
        "N, pull = func.vjp(lambda a: a.exp() * 2, A)\nM, = pull(B)\nM = M + 0",
        "N = func.vmap(func.grad(lambda a: (a * a * 2).sum()))(A)",
        "N = func.vmap(lambda a: F.dropout(a, 0.5), randomness='different')(A)",
        "N = func.functional_call(w.model, dict(w.model.named_parameters()), (w.x,))",
        "N = func.functional_call(w.model, {'0.bias': w.flat[:3]}, (w.x,))",
        "N = func.jacrev(lambda a: (a * a).sum(-1))(A)",
        "N = func.jacfwd(lambda a: a.tanh())(A[0])",
        "with forward_ad.dual_level():\n    dual = forward_ad.make_dual(A, B)\n"
        "    dual = (dual * 2).exp() + dual\n    N, M = forward_ad.unpack_dual(dual)\n"
        "    M = M + 0",
        "N = func.vmap(lambda a: A.add_(1).sum() + a)(B)",
        "N = func.grad(lambda a: (w.x.mul_(2).sum() * a).sum())(A)",
    )),
    "mode": (3, (
        "with flambeau.inference_mode():\n    N = A.clone().mul_(2)\n    N.add_(1)",
        "with flambeau.autocast('cpu', flambeau.bfloat16):\n    N = (A * 2) @ w.leaf.T + 1",
        "with flambeau.autocast('cpu', flambeau.bfloat16):\n"
        "    F.linear(A * 2, w.leaf).sum().backward()",
        "with autograd.detect_anomaly():\n    (w.leaf * A).sum().backward()",
        "with autograd.detect_anomaly():\n    ((w.leaf * 0).sqrt() * 0).sum().backward()",
        "flambeau.use_deterministic_algorithms(True)\nN = flambeau.empty_like(A)\nM = N + 1\n"
        "flambeau.use_deterministic_algorithms(False)",
        "flambeau.use_deterministic_algorithms(True)\nN = A.clone().resize_(9)\nN.isnan().sum()\n"
        "flambeau.use_deterministic_algorithms(False)",
        "with profiler.profile() as prof:\n    N = A * 2 + 1\nnotes.append(len(N))",
        "with profiler.profile():\n    N = A.exp()\n    N.mul_(2)\n"
        "    notes.append(N.sum().item())",
        "flambeau.set_default_dtype(flambeau.float64)\nN = A * 1.5 + flambeau.ones(4)\n"
        "flambeau.set_default_dtype(flambeau.float32)",
        "with flambeau.enable_grad():\n    N = w.leaf * 2",
        "with flambeau.no_grad():\n    N = w.leaf * 2",
        "with flambeau.no_grad():\n    w.leaf.mul_(0.5).add_(A)",
        "with flambeau.set_grad_enabled(False):\n    w.leaf.data = w.leaf * 2",
        "flambeau.set_num_threads(1)\nN = A * 2\nflambeau.set_num_threads(2)",
        "w.model.eval()", "w.model.train()", "w.model.half()", "w.model.double()",
        "w.model.float()", "nn.utils.clip_grad_norm_(w.model.parameters(), 0.1)",
    )),
    "watching": (2, (
        "with Noted(notes):\n    N = A * 2\n    N.add_(B)", "with Noted(notes):\n"
        "    N = compiled(lambda a: (a * 2).exp().add_(1))(A)",
        "with Dispatched(notes):\n    N = compiled(lambda a: a.mul_(2).exp())(A) + B",
        "with FlopCounterMode(display=False) as counted:\n    N = A @ B.T + 1\n"
        "notes.append(counted.get_total_flops())",
        "N = compiled(lambda a: a * B + 1)(A.as_subclass(Doubled))",
        "N = (A.as_subclass(Doubled) * B).add_(1).as_subclass(flambeau.Tensor)",
        "with flambeau.random.fork_rng():\n    N = F.dropout(A * 2, 0.5)\nM = flambeau.rand(2)",
        "mode = flambeau.no_grad()\nmode.__enter__()\nN = w.leaf * A\n"
        "mode.__exit__(None, None, None)\nM = w.leaf * 2",
        "N = (A * 2).to_sparse()\nM = (N + N).coalesce().values().mul_(2)\nN = N.to_dense()",
        "N = (A * (A > 0)).to_sparse() @ B.T",
        "g = flambeau.Generator(algorithm='mt19937').manual_seed(3)\n"
        "N = flambeau.rand(3, 4, generator=g) * A\nA.normal_(generator=g)\n"
        "M = flambeau.bernoulli(A.sigmoid(), generator=g)",
    )),
    "outside": (3, (
        "hold = memoryview(A.numpy())\nA.add_(1)\nnotes.append(hold.tolist())",
        "hold = np.asarray(A)\nA.mul_(2)\nhold[...] += 1\nN = A + 1",
        "N = flambeau.from_dlpack(A)\nA.add_(1)\nN.mul_(2)\nM = A * N",
        "other = np.from_dlpack(A)\nA.add_(1)\nnotes.append(other.copy())",
        "if A.dtype == flambeau.float32 and A.is_cpu and A.numel() and A.data_ptr():\n"
        "    cell = ctypes.c_float.from_address(A.data_ptr())\n    A.mul_(2)\n"
        "    cell.value = 3\n    N = A + 1\n    notes.append(cell.value)\nN = A * 2",
        "if A.is_cpu and A.numel() and (address := A.data_ptr()):\n    N = A * 2\n"
        "    A.zero_()\n    notes.append(ctypes.string_at(address, A.element_size()))\nN = A + 1",
        "N = pickle.loads(pickle.dumps([A, A[:1], B]))[1]\nN.add_(1)",
        "N, M = copy.deepcopy((A, A[:1]))\nM.add_(1)", "w.model = copy.deepcopy(w.model)",
        "state = pickle.dumps(w.optimizer.state_dict())\n"
        "w.optimizer.load_state_dict(pickle.loads(state))",
        "w.model.load_state_dict({k: v + 1 for k, v in w.model.state_dict().items()})",
        "file = io.BytesIO()\nflambeau.save([A, B], file)\nfile.seek(0)\n"
        "N = flambeau.load(file)[0]",
        "np.add(A, 1, out=w.array[:len(A), :4])", "w.array[...] = A", "N = np.exp(A)",
        "N = flambeau.frombuffer(bytearray(A.numpy().tobytes()), dtype=A.dtype)",
        "notes.append(repr([A, {'b': B}]))", "notes.append(f'{A.sum():.3f}')",
        "notes.append(hash(A) == hash(A))", "notes.append(B in [A])",
        "notes.append(tuple(A.shape))", "notes.append(A.untyped_storage().nbytes())",
        "notes.append(max(A.flatten()))", "notes.append([float(t) for t in A.flatten()][:3])",
        "notes.append(int(A.numel() and A.sum()))",
        "notes.append(A.max().item() if A.numel() else 0)", "notes.append(A == B)",
    )),
    "thread": (2, (
        "in_thread(lambda: notes.append(A.tolist()))", "in_thread(lambda: A.add_(1))\nA.mul_(2)",
        "N = in_thread(lambda: A * 2 + 1)\nA.add_(1)",
        "N = in_thread(compiled(lambda: A.mul_(2) + 1))\nA.add_(1)",
        "N = A * 2\nin_thread(lambda: N.add_(B))\nN.mul_(2)",
        "in_thread(lambda: (w.leaf * 2).sum().backward())\nN = w.leaf.grad * 2",
        "made = []\nin_thread(compiled(lambda: made.append(A * 3)))\nN = made.pop()",
        "def together(k):\n    return compiled(lambda a: (a * k).exp())(A)\n"
        "N, M = pool_map(together, 2)",
        "def reads(k):\n    return A.sum() + k\nA.mul_(2)\nN, M = pool_map(reads, 2)",
        "async def later(a):\n    await asyncio.sleep(0)\n    return a * 2 + 1\n"
        "async def both():\n    return await asyncio.gather(later(A), compiled(later)(B))\n"
        "N, M = asyncio.run(both())",
    )),
    "system": (1, (
        "with on_signal(lambda: notes.append(A.tolist())):\n    A.add_(1)\n    send_signal()\n"
        "    A.mul_(2)",
        "with on_signal(lambda: A.add_(1)):\n    A.mul_(2)\n    send_signal()\n    N = A * 2",
        "with on_signal(stop):\n    try:\n        A.add_(1)\n        send_signal()\n"
        "        A.add_(1)\n    except Stop:\n        N = A * 2",
        "notes.append(in_child(lambda: A.tolist()))",
        "A.add_(1)\nnotes.append(in_child(lambda: (A * 2).sum().item()))\nA.mul_(2)",
        "notes.append(in_child(lambda: compiled(lambda a: a.mul_(2).exp())(A).tolist()))\n"
        "N = A + 1",
        "sys.setprofile(lambda *a: None)\nN = A * 2 + 1\nsys.setprofile(None)",
        "sys.settrace(lambda *a: None)\nN = compiled(lambda a: a.mul_(2) + B)(A)\n"
        "sys.settrace(None)",
        "A.share_memory_()\nA.add_(1)\nN = A * 2",
    )),
    "layout": (3, (
        "N = A.new_empty(0).exp()", "N = A[:0] + 1", "N = A[:0].sum() + A.sum()",
        "N = A.sum() * 2", "N = flambeau.tensor(2.0) * A", "N = flambeau.ones(()).add_(A.sum())",
        "N = flambeau.zeros(1 << 12, dtype=A.dtype)[:: 1 << 10]\nN.add_(1)",
        "N = flambeau.zeros(99)[3:].as_strided((2, 3), (40, 7))\nN.add_(2)\nN.mul_(N)",
        "A.expand(2, *A.shape).fill_(3)", "A.expand(2, *A.shape).add_(1)",
        "A[:1].expand_as(A).copy_(B)", "A.unfold(0, 2, 1).fill_(2)",
        "A.as_strided((2, 2), (1, 1)).zero_()", "A[1:].add_(A[:-1])", "A.add_(A.T)",
        "A.add_(A[0])", "A.copy_(A.T)", "A[1:] = A[:-1]", "A.T.copy_(A)",
        "flambeau.add(A[:-1], 1, out=A[1:])", "flambeau.mul(A, 2, out=A.T)", "A.mul_(A[:1])",
        "N = A.to(flambeau.complex64)\nN.imag.add_(1)\nM = N.conj() * 2", "N = A.conj().mul(2)",
        "N = flambeau.view_as_real(A.to(flambeau.complex64))\nN.add_(1)",
        "N = A.to('meta') * 2 + 1", "N = A.view(flambeau.uint8)\nN.add_(1)",
        "N = A.view(flambeau.int32)\nA.mul_(2)\nN.add_(1)",
        "N = A.flip(0).T.contiguous()\nN.T.mul_(2)", "N = A.expand(3, *A.shape).sum(0) * 2",
        "N = A.swapaxes(0, -1)[::2]\nN.sub_(1)", "N = flambeau.complex(A.float(), B.float())",
        "N = A.abs().long() << 1", "N = ~A.bool() | True", "N = A.bitwise_and(3)",
        "N = A.long() // 2 % 3", "N = A.byte() + 250", "N = A.long() * (1 << 62)",
        "N = flambeau.full_like(A, 1e-42) * 2", "N = A / 0", "N = A * float('nan')",
        "N = A * -0.0", "N = A.frexp()[0]", "N = flambeau.isclose(A, B)", "N = A.nan_to_num(0.5)",
        "N = A.char() ** 2", "N = flambeau.where(A > 0, 1.0, B)",
        "N = flambeau.where(A > 0, A.long(), B)", "N = A.fmod(0.7)", "N = A.clamp(B, None)",
        "N = A.clamp(min=0)", "N = A.logit(0.1)", "N = A.float().atan2(B)",
        "N = A.threshold(0.1, 20)", "N = F.leaky_relu(A, 0.2)", "N = F.hardtanh(A)",
        "N = A.xlogy(B)", "N = A.round(decimals=1)", "N = A.sub(B, alpha=3)", "N = 1 - A",
        "N = 3 / A", "N = 7 % A.abs()",
    )),
    "replaced": (3, (
        "A.set_(B.untyped_storage())", "A.set_(B, )\nA.add_(1)\nB.mul_(2)", "A.resize_(0)",
        "store = A.untyped_storage()\nA.add_(1)\nstore.copy_(store.clone())\nA.mul_(2)",
        "A.untyped_storage().fill_(0)\nA.add_(1)", "A.resize_(len(A) + 1, 2).zero_().add_(1)",
        "A.data = A.data.T", "w.leaf.data = w.leaf.data * 2 + 1", "w.model[0].weight.data.mul_(2)",
        "w.model[0].weight = nn.Parameter(w.model[0].weight * 2)",
        "with flambeau.no_grad():\n    for p in w.model.parameters():\n"
        "        p.mul_(0.9).add_(0.1)",
        "with flambeau.no_grad():\n    for p in w.model.parameters():\n        p.copy_(p * 2)",
        "A.requires_grad_(False)", "A.detach_()", "A.grad = A.detach() * 2",
        "N = A.contiguous(memory_format=flambeau.channels_last) if A.ndim == 4 else A + 1",
        "w.flat.resize_(w.flat.numel() + 4)[-4:].zero_()", "w.flat[4:8] = w.rows[0]",
        "w.rows.T.copy_(w.rows.T * 2)", "w.rows.add_(w.flat.view_as(w.rows))",
    )),
}
