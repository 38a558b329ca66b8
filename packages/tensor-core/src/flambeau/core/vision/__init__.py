"""Operators of boxes and regions of images, composed of others; named as torchvision's.

``boxes``      suppression of boxes that overlap better ones
``points``     regions at one size, from points between pixels
``bins``       regions at one size, from whole pixels
``deform``     convolutions whose windows' elements are moved
``enlarged``   maps of regions at the regions' sizes
``recording``  what stands for results that depend on values
"""
