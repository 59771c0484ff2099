"""Pattern-guided k-anonymity: `patterns` (the request), `pattern_guided` (the algorithm), `optimum` (the proof).

The proof is made of `program` (the integer program), `program_search` (better solutions of it, part by part) and
`row_assignment` (tiny tables). It needs the extra `exact`, so it is imported only where it is asked for.
"""

from shoal.algorithms.patterns.pattern_guided import PatternGuided
from shoal.algorithms.patterns.patterns import PatternRule, Patterns

__all__ = ["PatternGuided", "PatternRule", "Patterns"]
