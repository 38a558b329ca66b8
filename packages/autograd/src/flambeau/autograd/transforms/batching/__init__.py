"""What each operator does with a batch that the function does not see.

Most rules follow from the operator table: pointwise operators broadcast, definitions with dims
count them from one further on, and definitions that work on the last dimensions take the batch as
one more in front. The others have a rule of their own; what has none runs sample by sample, with
one warning.
"""
from flambeau.autograd.transforms.batching.find import batch_way, find_batch_rule

__all__ = ["batch_way", "find_batch_rule"]
