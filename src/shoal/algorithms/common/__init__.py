"""What algorithms have in common: each module serves at least two of them, and belongs to none.

* `compiled`: the requirement as arrays, for the compiled predicate of `predicate_kernel` and `emd_kernel`.
* `row_types`: rows that nobody can tell apart, which algorithms that prove an optimum count with.
* `places` and `trees_kernel`: hierarchies as compiled searches take them (Hilbert and Mondrian).
* `whole_kernel`: numbers that are no literals to numba.
"""

__all__: list[str] = []
