"""Building blocks of several algorithms: each module serves at least two of them, and belongs to none.

* `compiled`: the requirement as arrays, for the compiled predicate of `predicate_kernel` and `emd_kernel`.
* `row_types`: indistinguishable rows, which algorithms that prove an optimum count with.
* `tree_arrays` and `trees_kernel`: hierarchies in the form of the compiled searches (Hilbert and Mondrian).
* `whole_kernel`: numbers that numba does not treat as literals.
"""

__all__: list[str] = []
