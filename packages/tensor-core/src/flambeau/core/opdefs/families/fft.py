"""Fourier transforms."""
from flambeau.core.opdefs.make import composite, kernel

_TEXT = {
    "fft": "Discrete Fourier transform", "ifft": "Inverse discrete Fourier transform",
    "rfft": "Discrete Fourier transform of real numbers, without its redundant half",
    "irfft": "Inverse of rfft: real numbers",
    "hfft": "Transform of a Hermitian signal: real numbers",
    "ihfft": "Inverse of hfft: half of a Hermitian signal",
}


def _function(name: str, params: str, doc: str, **facts):
    return composite(f"fft_{name}(Tensor input, {params}, Str? norm=None)", forms=(), out=True,
                     aliases=(f"fft.{name}",), call="fft", doc=doc, autocast="float32", **facts)


OPDEFS = (
    kernel("fft_c2c(Tensor self, Ints dim, Float scale=1.0, Bool forward=True)", forms=(),
           doc="Fourier transform of complex numbers, times a factor.", linear="self",
           batching="dims"),
    kernel("fft_r2c(Tensor self, Ints dim, Float scale=1.0, Bool onesided=True,"
           " Bool forward=True)", forms=(),
           doc="Fourier transform of real numbers, times a factor.", linear="self",
           batching="dims"),
    kernel("fft_c2r(Tensor self, Ints dim, Int last_dim_size, Float scale=1.0,"
           " Bool forward=False)", forms=(),
           doc="Fourier transform to real numbers from half of the terms, times a factor.",
           linear="self", batching="dims"),
    *(_function(name, "Int? n=None, Dim dim=-1", f"{text}, along one dimension.",
                exact_out=name == "ihfft")
      for name, text in _TEXT.items()),
    *(_function(f"{name}2", "Ints? s=None, Ints dim=(-2, -1)", f"{text}, over two dimensions.")
      for name, text in _TEXT.items()),
    *(_function(f"{name}n", "Ints? s=None, Ints? dim=None", f"{text}, over several dimensions.")
      for name, text in _TEXT.items()),
    composite("fft_fftshift(Tensor input, Ints? dim=None)", forms=(), aliases=("fft.fftshift",),
              call="fft_fftshift",
              doc="Terms in the order of their frequencies, zero in the middle."),
    composite("fft_ifftshift(Tensor input, Ints? dim=None)", forms=(), aliases=("fft.ifftshift",),
              call="fft_ifftshift",
              doc="Undoes fftshift."),
    composite("stft(Tensor input, Int n_fft, Int? hop_length=None, Int? win_length=None,"
              " Tensor? window=None, Bool center=True, Str pad_mode='reflect',"
              " Bool normalized=False, Bool? onesided=None, Bool? return_complex=None,"
              " Bool? align_to_window=None)",
              doc="Fourier transforms of overlapping pieces of a signal.", autocast="float32"),
    composite("istft(Tensor input, Int n_fft, Int? hop_length=None, Int? win_length=None,"
              " Tensor? window=None, Bool center=True, Bool normalized=False,"
              " Bool? onesided=None, Int? length=None, Bool return_complex=False)",
              doc="The signal of which stft gave the transforms.", raises_on_values=True),
)
