"""What each operator does with tangents.

Pointwise operators multiply the tangent by their derivative, which the table has: their gradient
rule, applied to the tangent. Linear operators apply themselves to it, products follow the product
rule. A few definitions have a rule of their own. All others differentiate their gradient: the
gradient is linear in the cotangent, and the derivative of that linear map, applied to the tangent,
is what is wanted.
"""
from flambeau.autograd.transforms.forward.find import can_move, forward_way, tangents_of

__all__ = ["can_move", "forward_way", "tangents_of"]
