"""What algorithms are made of: steps that several of them take, and the states that their searches change.

| for | rooms |
|---|---|
| every algorithm | `compiled` (the requirement as arrays), `row_types` (rows that nobody can tell apart) |
| TP, TP+, m-approximation | `cascade`, `residue` |
| full-domain search | `lattice`, `lattice_costs`, `lattice_search` |
| top-down specialization | `taxonomy` |
| Mondrian and Hilbert with hierarchies | `places` |
| cluster, SABRE | `groups_at_work`, `loss_table`, `neighbourhood` |
| patterns | `pattern_assignment`, `pattern_optimum` |
"""

__all__: list[str] = []
