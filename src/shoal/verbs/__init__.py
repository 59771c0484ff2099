"""What users do with tables: a module or package for each public function."""

__all__: list[str] = []
