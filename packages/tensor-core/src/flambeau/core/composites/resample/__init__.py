"""Images in other sizes, and sampled at the points of a grid."""
