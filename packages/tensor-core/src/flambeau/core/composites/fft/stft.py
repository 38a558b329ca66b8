"""Composite operators of short-time Fourier transforms."""
from math import sqrt

from flambeau.core import _core

_op = _core.operators()


def _given(what, x, **options):
    """The arguments in words, for messages."""
    shown = ", ".join(f"{name}={value}" for name, value in options.items())
    return f"{what}({x.dtype} of shape {list(x.shape)}, {shown})"


def _window_of(what, x, n_fft, win_length, window):
    """The window, with zeros on both sides up to ``n_fft``; None for ones."""
    if not 0 < win_length <= n_fft:
        raise RuntimeError(f"{_given(what, x, n_fft=n_fft, win_length=win_length)}: expected "
                           "0 < win_length <= n_fft")
    if window is not None and (window.ndim != 1 or window.shape[0] != win_length):
        raise RuntimeError(f"{_given(what, x, n_fft=n_fft, win_length=win_length)}: expected a 1D "
                           f"window tensor of size equal to win_length={win_length}, but got "
                           f"window with size {list(window.shape)}")
    if win_length == n_fft:
        return window
    if window is None:
        real = "float64" if x.dtype.name in ("float64", "complex128") else "float32"
        window = _op["full_of"]((win_length,), 1, dtype=_core._dtype_named(real), device=x.device)
    left = (n_fft - win_length) // 2
    return _op["constant_pad_nd"](window, (left, n_fft - win_length - left), 0)


def _check_step(what, x, n_fft, hop):
    if hop <= 0:
        raise RuntimeError(f"{_given(what, x, n_fft=n_fft, hop_length=hop)}: expected "
                           f"hop_length > 0, but got hop_length={hop}")


# ---- stft --------------------------------------------------------------------------------------
def _padded(x, n_fft, mode):
    """With ``n_fft // 2`` more elements on both sides."""
    lines = _op["reshape"](x, [1] * (3 - x.ndim) + list(x.shape))
    wide = _op["pad"](lines, (n_fft // 2, n_fft // 2), mode)
    return _op["reshape"](wide, list(wide.shape)[3 - x.ndim:])


def _check_signal(x, n_fft):
    if not (x.is_floating_point() or x.is_complex()):
        raise RuntimeError(f"{_given('stft', x, n_fft=n_fft)}: expected a tensor of floating point "
                           "or complex values; write x.float()")
    if x.ndim not in (1, 2):
        raise RuntimeError(f"{_given('stft', x, n_fft=n_fft)}: expected a 1D or 2D tensor")


def _one_sided(onesided, is_complex):
    if onesided is None:
        return not is_complex
    if onesided and is_complex:
        raise RuntimeError("Cannot have onesided output if window or input is complex; write "
                           "onesided=False")
    return onesided


def _frames(x, n_fft, hop):
    """[batch, frames, n_fft]: a view where no element is read from outside."""
    length = x.shape[-1]
    if not 0 < n_fft <= length:
        raise RuntimeError(f"{_given('stft', x, n_fft=n_fft, hop_length=hop)}: expected 0 < n_fft "
                           f"<= {length}, but got n_fft={n_fft}")
    return x.unfold(-1, n_fft, hop)


def stft(x, n_fft, hop_length, win_length, window, center, pad_mode, normalized, onesided,
         return_complex, align_to_window):
    if center and align_to_window is not None:
        raise RuntimeError("stft align_to_window should only be set when center = false")
    hop = n_fft // 4 if hop_length is None else hop_length
    win = n_fft if win_length is None else win_length
    is_complex = x.is_complex() or (window is not None and window.is_complex())
    if return_complex is None and not is_complex:
        raise RuntimeError("stft requires the return_complex parameter be given for real inputs: "
                           "write return_complex=True")
    _check_signal(x, n_fft)
    _check_step("stft", x, n_fft, hop)
    whole = _window_of("stft", x, n_fft, win, window)
    if center:
        x = _padded(x, n_fft, pad_mode)
    elif align_to_window:
        left = (n_fft - win) // 2
        x = _op["constant_pad_nd"](x, (left, n_fft - win - left), 0)
    onesided = _one_sided(onesided, is_complex)
    frames = _frames(x, n_fft, hop)
    if whole is not None:
        frames = _op["mul"](frames, whole)
    scale = 1.0 / sqrt(n_fft) if normalized else 1.0
    if is_complex:
        terms = _op["fft_c2c"](frames, (-1,), scale, True)
    else:
        terms = _op["fft_r2c"](frames, (-1,), scale, onesided, True)
    terms = _op["transpose"](terms, -1, -2)
    complex_result = is_complex if return_complex is None else return_complex
    return terms if complex_result else _op["view_as_real"](terms)


# ---- istft -------------------------------------------------------------------------------------
def _check_terms(x, n_fft, hop, win, onesided, shown):
    if not x.is_complex():
        raise RuntimeError("istft requires a complex-valued input tensor matching the output from "
                           "stft with return_complex=True.")
    if x.numel() == 0:
        raise RuntimeError(f"{shown}: input tensor cannot be empty.")
    if x.ndim not in (2, 3):
        raise RuntimeError(f"{shown}: expected a tensor with 2 or 3 dimensions, but got {x.ndim}")
    wanted = n_fft // 2 + 1 if onesided else n_fft
    if x.shape[-2] != wanted:
        form = "n_fft / 2 + 1 when onesided=True" if onesided else "n_fft when onesided=False"
        raise RuntimeError(f"{shown}: expected the frequency dimension (the last but one) of the "
                           f"input tensor to match {form}, but got {x.shape[-2]}")
    if not 0 < hop <= win:
        raise RuntimeError(f"{shown}: expected 0 < hop_length <= win_length")


def _overlapped(frames, total, hop):
    """Sums of frames [..., count, n] that start ``hop`` apart, ``total`` elements long."""
    count, n = frames.shape[-2], frames.shape[-1]
    numbers = _op["arange_of"](0, total, 1, dtype=_core._dtype_named("int64"),
                               device=frames.device)
    indices = _op["reshape"](numbers.unfold(0, n, hop), (count * n,))
    batch = list(frames.shape)[:-2]
    zeros = _op["full_of"]([*batch, total], 0, dtype=frames.dtype, device=frames.device)
    return _op["index_add"](zeros, -1, indices, _op["reshape"](frames, [*batch, count * n]))


def _signal_frames(x, n_fft, normalized, onesided, return_complex):
    scale = 1.0 / sqrt(n_fft) if normalized else 1.0 / n_fft
    terms = _op["transpose"](x, -1, -2)
    if return_complex:
        return _op["fft_c2c"](terms, (-1,), scale, False)
    if not onesided:
        terms = _op["narrow"](terms, -1, 0, n_fft // 2 + 1)
    return _op["fft_c2r"](terms, (-1,), n_fft, scale, False)


def istft(x, n_fft, hop_length, win_length, window, center, normalized, onesided, length,
          return_complex):
    hop = n_fft // 4 if hop_length is None else hop_length
    win = n_fft if win_length is None else win_length
    shown = _given("istft", x, n_fft=n_fft, hop_length=hop, win_length=win, center=center,
                   normalized=normalized, onesided=onesided, length=length)
    window_complex = window is not None and window.is_complex()
    if window_complex and not return_complex:
        raise RuntimeError("Complex windows are incompatible with return_complex=False")
    if onesided is None:
        onesided = x.ndim < 2 or x.shape[-2] != n_fft
    onesided = _one_sided(onesided, return_complex)
    _check_terms(x, n_fft, hop, win, onesided, shown)
    window = _window_of("istft", x, n_fft, win, window)
    frames = _signal_frames(x, n_fft, normalized, onesided, return_complex)
    if window is None:
        window = _op["full_of"]((n_fft,), 1, dtype=_real_dtype(frames), device=x.device)
    count = x.shape[-1]
    total = n_fft + hop * (count - 1)
    signal = _overlapped(_op["mul"](frames, window), total, hop)
    square = _op["mul"](window, window)
    envelope = _overlapped(_op["expand"](square, (count, n_fft)), total, hop)
    return _cut(signal, envelope, n_fft, center, length, shown)


def _real_dtype(x):
    wide = x.dtype.name in ("float64", "complex128")
    return _core._dtype_named("float64" if wide else "float32")


def _cut(signal, envelope, n_fft, center, length, shown):
    """The part without padding, divided by the sum of the squares of the windows."""
    total = signal.shape[-1]
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else total - start if center else total
    kept = min(end, total) - start
    if kept < 0 or end < start:
        raise RuntimeError(f"{shown}: the frames make {total} elements, of which none is left")
    signal = _op["narrow"](signal, -1, start, kept)
    envelope = _op["narrow"](envelope, 0, start, kept)
    looks = _core.may_read(envelope) or envelope.device.type not in ("cpu", "meta")
    low = _op["amin"](_op["abs"](envelope)).item() if kept and looks else 1.0
    if not low > 1e-11:
        raise RuntimeError(f"{shown}: window overlap add min: {low}; the windows must overlap "
                           "so that their squares sum to more than 0 everywhere")
    signal = _op["div"](signal, envelope)
    return signal if end <= total else _op["constant_pad_nd"](signal, (0, end - total), 0)
