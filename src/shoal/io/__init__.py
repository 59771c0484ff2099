"""Doors of the house: frames of other libraries, files and databases to read, files and release folders to write."""

from shoal.io.folder import write_folder
from shoal.io.frames import OpenedFrame, open_frame
from shoal.io.readers import read
from shoal.io.writers import spreadsheet_names, write_table

__all__ = ["OpenedFrame", "open_frame", "read", "spreadsheet_names", "write_folder", "write_table"]
