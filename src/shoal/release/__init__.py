"""A verified release: the published table, where its rows are kept, its certificates and its plan."""

__all__: list[str] = []
