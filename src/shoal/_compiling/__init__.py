"""How kernels are compiled: what the decorators of `*_kernel.py` mean, and where compiled code is kept.

A *kernel* is called from Python; it and each *step* that kernels call are compiled once and kept, each by itself, with
its own file; an *inlined* function becomes part of every function that calls it. Numba is imported when a kernel is
first called, not before.
"""

from shoal._compiling.decorators import Kernel, inlined, kernel, kernel_step

__all__ = ["Kernel", "inlined", "kernel", "kernel_step"]
