"""Pattern-guided k-anonymity: `patterns` (the request), `pattern_guided` (the algorithm), `optimum` (the proof).

The proof uses `program`, the integer program. It needs the extra `exact`, so it is imported only if an optimum is
requested.
"""

from shoal.algorithms.patterns.pattern_guided import PatternGuided
from shoal.algorithms.patterns.patterns import PatternRule, Patterns

__all__ = ["PatternGuided", "PatternRule", "Patterns"]
