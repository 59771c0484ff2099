"""The local search of `cluster` and `sabre`: one state of groups, two ways to start.

`groups` holds the groups while a search changes them, `loss_table` the losses of recoding and the near rows.
"""

__all__: list[str] = []
