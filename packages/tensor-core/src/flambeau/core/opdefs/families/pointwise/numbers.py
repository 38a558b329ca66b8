"""Rounding, bits and parts of numbers."""
from flambeau.core.opdefs.make import composite, helper, kernel, pointwise


def _shift(name, symbol, dunder, doc, **kinds):
    return pointwise(f"bitwise_{name}_shift(Operand self, Operand other)",
                     int=f"self {symbol} other", inplace=True, dunder=dunder,
                     differentiable=False, doc=doc, **kinds)


def _divisor(name, doc):
    return kernel(f"{name}(Tensor self, Tensor other)", infer="integer_pair", inplace=True,
                  differentiable=False, batching="pointwise", doc=doc)


_JOINED = "Tensor self, Tensor other, Floats scales, Ints zero_points"

OPDEFS = (
    helper("quantize_values(Tensor self, Float scale, Int zero_point, DType dtype)",
           doc="Integers of 8 bits that stand for numbers: ``round(self / scale) + zero_point``, "
               "clamped; NaN becomes the greatest.", differentiable=False, decomposes=True),
    helper("dequantize_values(Tensor self, Float scale, Int zero_point)",
           doc="What integers of 8 bits stand for: ``(self - zero_point) * scale``.",
           differentiable=False, decomposes=True),
    helper(f"quantized_add({_JOINED}, Bool relu)", differentiable=False, decomposes=True,
           doc="Sums of what integers of 8 bits stand for, as such integers; scales and zero "
               "points are those of both and of the result."),
    helper(f"quantized_mul({_JOINED})", differentiable=False, decomposes=True,
           doc="Products of what integers of 8 bits stand for, as such integers."),
    pointwise("sgn(Tensor self)", float="sign(self)", int="sign(self)", bool="self",
              complex="sign(self)", unsigned="1 if self != 0 else 0", inplace=True, derive=False,
              doc="``x / |x|``, and 0 at 0: the sign of real numbers.", exact_out=True),
    composite("angle(Tensor self)", doc="The angle of complex numbers; pi or 0 of real ones.",
              overlap="partial"),
    pointwise("angle_of(Tensor self)", float="angle(self)", rule="float", forms=(), derive=False,
              doc="pi below zero, else 0."),
    pointwise("angle_of_complex(Tensor self)", complex="angle(self)", rule="real", forms=(),
              derive=False, doc="The angle of complex numbers."),
    composite("conj_physical(Tensor self)", inplace=True, doc="Complex conjugate, computed.",
              exact_out=True, overlap="partial"),
    composite("deg2rad(Tensor self)", inplace=True, call="deg2rad", doc="Degrees to radians.",
              overlap="partial"),
    composite("rad2deg(Tensor self)", inplace=True, call="rad2deg", doc="Radians to degrees.",
              overlap="partial"),
    composite("isposinf(Tensor self)", differentiable=False,
              call="isposinf", doc="Whether the input is plus infinity.", exact_out=True,
              overlap="partial"),
    composite("isneginf(Tensor self)", differentiable=False,
              call="isneginf", doc="Whether the input is minus infinity.", exact_out=True,
              overlap="partial"),
    composite("isreal(Tensor self)", differentiable=False,
              doc="Whether the imaginary part is zero."),
    composite("heaviside(Tensor self, Tensor values)", inplace=True, differentiable=False,
              doc="0 below zero, 1 above, and ``values`` at zero.", exact_out=True,
              overlap="partial"),
    composite("float_power(Operand self, Operand exponent)",
              doc="Raises to a power in double precision.", exact_out=True),
    composite("ldexp(Tensor self, Operand other)", inplace=True,
              doc="``self * 2**other``.", overlap="partial"),
    kernel("frexp(Tensor self) -> (Tensor mantissa, Tensor exponent)",
           doc="The mantissa, of size 1/2 to 1, and the exponent of 2 it is scaled with.",
           exact_out=True, jvp="elementwise", batching="stack"),
    composite("nextafter(Tensor self, Tensor other)", inplace=True,
              doc="The next number after ``self`` towards ``other``.", overlap="partial"),
    pointwise("nextafter_wide(Operand self, Operand other)", float="nextafter(self, other)",
              forms=(), derive=False, doc="nextafter of float32 and float64."),
    pointwise("nextafter_narrow(Operand self, Operand other, Scalar least=0, Scalar normal=0,"
              " Scalar step=0, Scalar top=0)",
              float="nextafter_narrow(self, other, least, normal, step, top)", forms=(),
              derive=False, doc="nextafter of float16 and bfloat16."),
    composite("nan_to_num(Tensor self, Float? nan=None, Float? posinf=None, Float? neginf=None)",
              inplace=True, doc="Replaces NaN and infinities by numbers.",
              exact_out=True, overlap="partial"),
    pointwise("replace_nonfinite(Tensor self, Scalar if_nan=0, Scalar if_high=0, Scalar if_low=0)",
              float="if_nan if isnan(self) else if_high if self == inf else "
                    "if_low if self == -inf else self",
              forms=(), doc="Replaces NaN and infinities by numbers."),
    composite("fake_quantize_per_tensor_affine(Tensor self, Operand scale, Operand zero_point,"
              " Int quant_min, Int quant_max)", forms=("function",),
              doc="What quantization to integers and back leaves of the values."),
    composite("fake_quantize_per_channel_affine(Tensor self, Tensor scale, Tensor zero_point,"
              " Int axis, Int quant_min, Int quant_max)", forms=("function",),
              doc="``fake_quantize_per_tensor_affine`` with a scale for each channel."),
    pointwise("fake_quantize_by(Tensor self, Operand scale, Operand zero_point,"
              " Scalar quant_min=0, Scalar quant_max=255)",
              float="(clamp(rint(self * (1 / scale)) + zero_point, quant_min, quant_max)"
                    " - zero_point) * scale",
              forms=(), derive=False,
              doc="What quantization to integers and back leaves of the values."),
    pointwise("round_by(Tensor self, Scalar scale=100)", float="rint(self * scale) / scale",
              forms=(), doc="Rounds to a multiple of ``1 / scale``, halves to even."),
    composite("round[decimals](Tensor self, *, Int decimals)", inplace=True,
              aliases=("special.round",), doc="Rounds to so many decimals, halves to even.",
              exact_out=True, overlap="partial"),
    _shift("left", "<<", "lshift", "Shifts bits to the left; 0 for counts out of range."),
    _shift("right", ">>", "rshift", "Shifts bits to the right, keeping the sign.",
           unsigned="shru(self, other)"),
    _divisor("gcd", "Greatest common divisor."),
    _divisor("lcm", "Least common multiple."),
)
