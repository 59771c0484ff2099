"""Compile kernels with numba, and keep the machine code: the decorators of `*_kernel.py`.

A *kernel* is called from Python, a *step* by kernels and other steps; numba keeps the machine code of both in the
folder that `folders` chooses. While a kernel is not compiled, calls with small arrays run as Python. An *inlined*
function is too small to be kept by itself. Only kernels and *allocating steps* make arrays. Numba is imported when a
kernel is first called, not before. Nothing here depends on the version of numba.
"""

from shoal._core.compiling.kernels import (
    Kernel,
    allocating_step,
    compiling,
    inlined,
    kernel,
    kernel_step,
    linear_kernel,
)

__all__ = ["Kernel", "allocating_step", "compiling", "inlined", "kernel", "kernel_step", "linear_kernel"]
