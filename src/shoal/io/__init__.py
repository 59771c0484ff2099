"""Input and output: frames of other libraries, files and databases to read, files and release folders to write."""

from shoal.io.column_names import check_column_names
from shoal.io.delimited import read_delimited
from shoal.io.folder import (
    StagedFolder,
    check_free,
    is_being_written,
    paths_in,
    private_folder,
    staged_folder,
    staged_private_folder,
    sweep_folder,
    to_disk,
    write_folder,
)
from shoal.io.forms import DateForm, Forms, ParsedTable, format_as_input, looks_like_dates, reads_alike, understand
from shoal.io.frames import Restorer, open_frame
from shoal.io.lines import read_lines, write_lines
from shoal.io.readers import read, read_table
from shoal.io.scanning import (
    ScannedTable,
    bytes_to_read,
    collect_in_memory,
    is_folder_of_parquet,
    iterate_batches,
    scan_table,
)
from shoal.io.spark_session import is_spark_frame, on_spark, open_session, pinned_session
from shoal.io.spark_tables import SparkTable, scan_spark
from shoal.io.stat_files import Codebook
from shoal.io.writers import (
    FORMULA,
    PLAIN,
    Dialect,
    repeat_rows,
    spreadsheet_names,
    without_categories,
    write_repeated,
    write_table,
)

__all__ = [
    "check_column_names",
    "FORMULA",
    "PLAIN",
    "Codebook",
    "DateForm",
    "Dialect",
    "Forms",
    "ParsedTable",
    "Restorer",
    "ScannedTable",
    "SparkTable",
    "StagedFolder",
    "bytes_to_read",
    "check_free",
    "collect_in_memory",
    "format_as_input",
    "is_being_written",
    "paths_in",
    "is_folder_of_parquet",
    "is_spark_frame",
    "iterate_batches",
    "looks_like_dates",
    "on_spark",
    "open_frame",
    "open_session",
    "pinned_session",
    "private_folder",
    "read",
    "read_delimited",
    "read_lines",
    "read_table",
    "reads_alike",
    "repeat_rows",
    "scan_spark",
    "scan_table",
    "spreadsheet_names",
    "staged_folder",
    "staged_private_folder",
    "sweep_folder",
    "to_disk",
    "understand",
    "without_categories",
    "write_folder",
    "write_lines",
    "write_repeated",
    "write_table",
]
