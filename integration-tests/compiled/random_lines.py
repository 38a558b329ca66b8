"""Lines for random programs: operators, views, writes in place, memory, random numbers, errors."""

from __future__ import annotations

_UNARY = ("exp", "tanh", "neg", "abs", "sin", "sigmoid", "square", "relu", "floor", "sqrt",
          "isnan", "logical_not", "erf", "log1p", "sign", "reciprocal")
_BINARY = ("+", "-", "*", "/", "<", ">=", "==", "**", "%", "//")
_DTYPES = ("float32", "float64", "float16", "bfloat16", "int64", "int32", "uint8", "bool",
           "complex64")

#: Kinds of lines and how often they are drawn; N is a new name, A and B are tensors.
LINES: dict[str, tuple[int, tuple[str, ...]]] = {
    "pointwise": (8, (
        *(f"N = A.{name}()" for name in _UNARY),
        *(f"N = A {sign} B" for sign in _BINARY), *(f"N = A {sign} 2" for sign in _BINARY),
        "N = A * 1.5 + B", "N = flambeau.where(A > 0, A, B)", "N = flambeau.add(A, B, alpha=2)",
        "N = 2 ** A", "N = A.clamp(-1, 1)", "N = flambeau.lerp(A, B, 0.3)", "N = A ** 3",
        "N = A.pow(-2)", "N = flambeau.addcmul(A, B, B, value=0.5)", "N = F.gelu(A)")),
    "reduce": (4, (
        "N = A.sum()", "N = A.sum(0)", "N = A.mean(-1, keepdim=True)", "N = A.max()",
        "N = A.amax(-1)", "N = A.argmax(-1)", "N = A.softmax(-1)", "N = A.var(-1)",
        "N = A.cumsum(0)", "N, k = A.sort(-1)", "N = A.prod(-1)", "N = A.any()", "N = A.norm()",
        "N = A.logsumexp(-1)", "N = F.layer_norm(A, A.shape[-1:])",
        "N = F.batch_norm(A, w.mean, w.spread)",
        "N = F.batch_norm(A, w.mean, w.spread, training=True)",
        "N = F.batch_norm(A, None, None, A[0], B[0], True)", "w.mean.add_(1)")),
    "rows": (6, (
        "N = (A * 2).softmax(-1) + 1", "N = A - A.mean(-1, keepdim=True)",
        "N = (A + B).log_softmax(-1)", "N = (A * B).sum(-1)",
        "N = A / (A.norm(dim=-1, keepdim=True) + 1)",
        "N = F.layer_norm(A * 2, A.shape[-1:], w.flat[:A.shape[-1]]).exp()",
        "N = (A * 0.5).cumsum(-1) * B", "N, M = (A + 1).max(-1)",
        "N = A.amin(-1, keepdim=True) * A",
        "N = (A * 2).to(flambeau.float64).sum(-1)", "N = F.gelu(A.std(-1)) + 1",
        "N = A.unsqueeze(0).softmax(-1)", "N = A.softmax(0) * 2", "N = (A - 1).sum((0, 1))",
        "N = (A * A).mean(-1).unsqueeze(-1) + B", "N = (A > B).any(-1)", "N = A.clone() * B",
        "A.mul_(A.sum(-1, keepdim=True))", "A.copy_((A * 2).softmax(-1))", "A.add_(B.amax(-1)[0])",
        "N = F.cross_entropy(A * 2, w.labels)", "N = F.rms_norm(A + B, A.shape[-1:])",
        "N = ((A - B) ** 2).mean()", "N = (A * B).sum() + B", "N = (A + 1).amax()",
        "N = F.dropout(A * 2, 0.5).sum()", "A.sub_(A.mean())",
        "N = (A * 2).argmax(-1)", "flambeau.sum(A * 2, -1, out=B[:, 0])", "N = (A + 1).half() * 2",
        "N = (A.double().var(-1, keepdim=True) + 1).rsqrt() * A")),
    "movement": (3, (
        "N = flambeau.cat([A, B])", "N = flambeau.stack([A, B])", "N = A.clone()",
        "N = A.contiguous()", "N = A.flip(0)", "N = A.repeat(2, 1)", "N = A.index_select(0, w.i)",
        "N = A[w.i]", "N = A[A > 0]", "N = A.gather(0, A.argsort(0))", "N = A.roll(1)",
        "N = F.pad(A, (1, 0))", "N = A.tril()", "N = A.nonzero()", "N = A.unique()")),
    "product": (1, ("N = A @ B.T", "N = A @ B", "N = F.linear(A, B)", "N = flambeau.outer(A, B)")),
    "epilogue": (3, (
        "N = (A @ B.T).relu()", "N = F.gelu(F.linear(A, B)) + (A @ B.T)", "A.add_(A @ (B.T @ B))",
        "N = A + A @ (B.T @ A)", "N = (A @ B.T).mul_(2).relu_()", "N = F.linear(A, B, B[:, 0]) * 2",
        "M = A @ B.T\nN = M + M.T", "M = A @ B.T\nN = M * 2", "N = A @ B.T\nB.zero_()\nN = N + 1",
        "flambeau.matmul(A, B.T @ B, out=B)", "flambeau.exp(A @ (B.T @ A), out=A)",
        "A.copy_(A @ (B.T @ B) + A)", "N = (A @ B.T).view(-1) * 2", "N = (A @ B.T)[1:] * 2",
        "N = (A @ B.T).to(flambeau.float64) + 1", "N = A * 2 @ B.T - 1",
        "N = F.conv2d(A[None, None], B[None, None, :2, :3], padding=1).mul_(2) + 1",
        "N = F.relu(F.conv2d(A.T[None, :, None], B[:, :, None, None])) * A.sum()",
        "N = F.batch_norm(F.conv2d(A.T[None, :, None], w.rows[:, :, None, None]), w.flat[:len(A)], "
        "w.flat[:len(A)].exp()).relu()",
        "N = (A @ w.leaf.T).relu()", "N = flambeau.where(A @ B.T > 0, A @ B.T, A.sum())",
        "N = (A @ B.T * 2).softmax(-1)", "N = (A.double() @ B.double().T).exp()")),
    "view": (6, (
        "N = A.view(-1)", "N = A[1:]", "N = A[0]", "N = A[:, 1]", "N = A.t()", "N = A.T",
        "N = A.unsqueeze(0)", "N = A.squeeze()", "N = A.expand(2, *A.shape)", "N = A.reshape(-1)",
        "N = A.unfold(0, 2, 1)", "N = A.narrow(0, 0, 2)", "N = A.diagonal()", "N = A[::2]",
        "N = A.as_strided((2, 2), (1, 1))", "N = A.view_as(A)", "N = A[:]", "N = A.detach()",
        "N = A.data", "N, M = A.chunk(2)", "N = A.flatten()", "N = A.view(A.dtype)",
        "N = A.transpose(0, -1)", "N = A.real", "N = A.split(2)[0]", "N = A.movedim(0, -1)")),
    "in place": (8, (
        "A.add_(1)", "A.mul_(B)", "A.copy_(B)", "A.zero_()", "A.fill_(3)", "A[0] = 2", "A[1:] = B",
        "A[A > 0] = 0", "A.clamp_(-1, 1)", "A.exp_()", "A.index_fill_(0, w.i, 2)", "A += B",
        "A.sub_(A)", "A.masked_fill_(A > 1, 0.5)", "A[w.i] = 1", "A.relu_()", "A.t_()",
        "A.unsqueeze_(0)", "A.squeeze_()", "flambeau.mul(A, B, out=A)", "A.neg_()", "A[:, 0] += 1",
        "A.data.add_(1)", "A.detach().mul_(2)", "A.T.add_(1)", "A.view(-1)[0] = 5",
        "flambeau.exp(A, out=B)", "A.index_add_(0, w.i, B[w.i])", "A.addcmul_(A, B)",
        "F.relu(A, inplace=True)", "A.scatter_(0, w.i[:, None], 1)", "A.cumsum_(0)")),
    "storage": (2, (
        "A.data = B.clone()", "A.data = B", "A.set_(B)", "A.resize_(2, 2).fill_(4)",
        "A.resize_(min(A.numel(), 1))",
        "A.data = A.data * 2", "A.requires_grad_()", "A.data, B.data = B.data, A.data",
        "A.data = A.data.half()", "A.set_()")),
    "alias": (2, (
        "w.array += 1", "w.array[0] = 7", "N = flambeau.from_numpy(w.array)", "N = w.flat",
        "N = w.rows", "N = w.over", "N = w.under", "w.flat.add_(1)", "w.rows.mul_(2)",
        "w.rows[0] = w.flat[:4]", "w.over.add_(w.under)", "N = flambeau.as_tensor(w.array)")),
    "random": (3, (
        "N = flambeau.rand_like(A)", "N = F.dropout(A, 0.5)", "N = flambeau.randn(A.shape)",
        "flambeau.manual_seed(3)", "w.state = flambeau.get_rng_state()",
        "flambeau.set_rng_state(w.state)", "N = flambeau.bernoulli(A.sigmoid())", "A.normal_()",
        "N = flambeau.randperm(4)", "A.uniform_()", "N = flambeau.rand(3, generator=w.g)",
        "w.g.manual_seed(5)", "N = flambeau.randint(0, 9, (3,))", "N = F.dropout(A, w.p)",
        "N = flambeau.multinomial(A.abs() + 0.1, 1)", "N = F.dropout(A * 2, 0.3) + B",
        "N = (A + flambeau.randn_like(A)).softmax(-1)", "A.mul_(flambeau.rand_like(A))",
        "N = A.new_empty(A.shape).random_(0, 9) * 2", "N = F.dropout(A.float(), 0.5).exp()")),
    "escape": (4, (
        "notes.append(A.sum().item())", "notes.append(A.tolist())", "N = copy.deepcopy(A)",
        "N = pickle.loads(pickle.dumps(A))", "notes.append(A.numpy().copy())",
        "N = flambeau.tensor(A.tolist())", "w.kept = A.numpy()", "N = flambeau.from_dlpack(A)",
        "A.numpy()[...] = 1", "notes.append(float(A.sum()))", "notes.append(str(A))",
        "notes.append(A.data_ptr() == B.data_ptr())", "notes.append(A._version)",
        "notes.append(A.stride())", "notes.append(bool((A == A).all()))", "w.list.append(A)",
        "notes.append(A.is_contiguous())", "notes.append(A.equal(B))", "N = copy.copy(A)",
        "notes.append(np.asarray(A).sum())", "notes.append(len(A))", "notes.append(A.shape)",
        "notes.append(A.is_set_to(B))", "notes.append(A.untyped_storage().data_ptr() == "
        "B.untyped_storage().data_ptr())", "del A")),
    "control": (3, (
        "N = A * 2 if A.sum() > 0 else A - 1", "N = A.sum(0) if A.shape[0] > 3 else A.sum(-1)",
        "for k in range(min(len(A), 8)):\n    A[k] = k",
        "if bool(A.isnan().any()):\n    A.zero_()",
        "for part in A.unbind(0):\n    part.add_(1)", "N = A[:min(A.shape[0], 2)]",
        "N = A.topk(min(2, A.shape[-1]))[0]",
        "for k in range(50):\n    if A.sum() > 100:\n        A.mul_(0.5)",
        "N = sum(A.unbind(0))", "w.count += 1\nN = A * w.count")),
    "autograd": (4, (
        "A.sum().backward()", "(A * A).sum().backward()",
        "N = autograd.grad(A.sum(), w.leaf)[0] + 0",
        "with flambeau.no_grad():\n    A.mul_(2)", "N = w.leaf * 2", "N = w.leaf.exp()",
        "w.leaf.grad = None", "N = w.leaf.grad * 1",
        "with flambeau.no_grad():\n    w.leaf.sub_(0.1)",
        "(A.float() * w.leaf).sum().backward()", "w.optimizer.step()", "w.optimizer.zero_grad()",
        "N = w.model(w.x)", "F.mse_loss(w.model(w.x), w.x[:, :2]).backward()",
        "N = checkpoint(lambda a: F.dropout(a * 2, 0.5), w.leaf, use_reentrant=False)",
        "A.register_hook(lambda g: g * 2)", "with flambeau.inference_mode():\n    N = A * 2",
        "notes.append(A.requires_grad)", "notes.append(A.is_leaf)")),
    "dtype": (3, (*(f"N = A.to(flambeau.{dtype})" for dtype in _DTYPES), "N = A.type_as(B)",
                  "N = A.half()", "N = (A * 2).half().float() + B", "N = A.half() * B.half() + 1",
                  "N = (A + 1).to(B.dtype) * B", "A.copy_((A * 3).to(flambeau.int32))",
                  "N = (A.to(flambeau.uint64) + 3) > B.to(flambeau.uint64)",
                  "N = (A.t().contiguous() * 2).clone()",
                  "with flambeau.autocast('cpu', flambeau.bfloat16):\n    N = A @ B.T",
                  "N = flambeau.ones(3, 4, dtype=A.dtype)", "N = A.new_zeros(A.shape)")),
    "error": (2, (
        "N = A[99]", "N = A.index_select(0, w.i + 99)", "N = A // (A - A)",
        "N = flambeau.linalg.inv(A.new_zeros(2, 2))", "A.add_(flambeau.ones(7, 9))",
        "N = A % w.zero", "N = w.ints // w.zero", "N = F.embedding(w.i + 50, w.x)",
        "N = F.nll_loss(w.x.log_softmax(-1), w.i + 9)", "A[w.i + 77] = 1",
        "A.gather(0, w.i[:, None] + 50)")),
}
