"""Programs that publish a table by another tool, each run in an environment of its own; nothing here imports shoal.

Every program takes INPUT OUTPUT K L SENSITIVE HIERARCHIES COLUMN...: tables are fields separated by ';', L is 0 where
only k-anonymity is asked for, HIERARCHIES is a folder of `COLUMN.csv`, and COLUMN... are the quasi-identifiers. Cells
are published as the tool writes them.
"""
