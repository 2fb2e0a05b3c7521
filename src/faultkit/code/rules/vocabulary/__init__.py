"""What functions of libraries mean: which calls ask another machine, wait, lock, start tasks. Tables first.

Everything here maps facts to small values and judges nothing: that is what rules do.
"""
