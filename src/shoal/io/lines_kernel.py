# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Passes over the bytes of delimited text that is too long to be looked at in Python."""

from __future__ import annotations

from shoal._compiling import kernel

__all__ = ["count_plain_records", "runs_of_lines"]


@kernel
def count_plain_records(content, delimiter, width):
    """Return the number of lines of a text, or -1 unless each has `width` fields and ends in a line feed.

    Parameters
    ----------
    content : uint8 array
        No quotation mark and no carriage return is in it.
    delimiter : int
        The byte between two fields.
    width : int
        Fields of a line, at least two: an empty line has one.
    """
    records = 0
    fields = 1
    for byte in content:
        if byte == delimiter:
            fields += 1
        elif byte == 10:
            if fields != width:
                return -1
            fields = 1
            records += 1
    return records if fields == 1 and content.size > 0 and content[-1] == 10 else -1


@kernel
def runs_of_lines(content, starts, times):
    """Find runs of equal lines in a text, and return their number; -1 where one has an odd number of quotation marks.

    Parameters
    ----------
    content : uint8 array
        The last line may have no end; it is unlike those that have one.
    starts : int64 array
        Receives where the first line of each run starts; there is room for every line.
    times : int64 array
        Receives how many lines each run has.
    """
    runs = 0
    start = 0
    before = 0
    length = 0
    while start < content.size:
        # As long as it is like the line before, that one's end is its end.
        same = 0
        while same < length and start + same < content.size and content[start + same] == content[before + same]:
            same += 1
        if runs > 0 and same == length:
            times[runs - 1] += 1
            start += length
            continue
        quotes = 0
        end = start
        while end < content.size:
            byte = content[end]
            end += 1
            if byte == 34:
                quotes += 1
            elif byte == 10:
                break
        if quotes % 2 == 1:
            return -1
        starts[runs] = start
        times[runs] = 1
        runs += 1
        before = start
        length = end - start
        start = end
    return runs
