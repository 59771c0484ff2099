"""What the command line knows of requests, handed in: imports go down, and the studio lies below the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Requests"]


@dataclass(frozen=True, kw_only=True)
class Requests:
    """How a request that a spec file holds is read and said; its functions are importable, for the worker process."""

    arguments: Callable[[Mapping[str, Any]], dict[str, Any]]
    """Makes the arguments of `shoal.anonymize` of the content of a spec file, its input among them as `data`; raises a
    `UsageError` where something of it is wrong."""
    flag: Callable[[str], str]
    """Returns the option that says a key: "columns.sensitive" gives "--sensitive", "privacy.k" gives "-k"; empty for
    what stands without one."""
