"""The keys of the two `certificate.json` of a release, as types: `shoal schema certificate` is made of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

FORMAT = 1
"""Version of the certificate's format. Within a version, keys are only added."""
SCHEMA = f"urn:shoal:certificate:{FORMAT}"
"""Name of the JSON Schema of certificates."""

# A name with a dollar sign needs the functional syntax.
SchemaKey = TypedDict("SchemaKey", {"$schema": str})
"""The key that names the schema of a file."""
# Objects whose keys depend on models, algorithms and columns.
Facts = Mapping[str, Any]


class FileOutput(TypedDict):
    """The written files."""

    files: Mapping[str, Facts]


class CommonKeys(SchemaKey):
    """The keys of both certificates."""

    format: int
    shoal: str
    requested: Sequence[Facts]
    achieved: Facts
    risk: Mapping[str, Facts]
    warnings: Sequence[Facts]
    parameters: Facts
    columns: Mapping[str, Sequence[str]]
    guarantee: Facts
    output: FileOutput


class ProofKeys(TypedDict, total=False):
    """The proof of a publisher who adds it."""

    proof: str
    proof_fact: Facts
    algorithm: str
    input: Facts
    cost: Facts


class PublicCertificateFile(CommonKeys, ProofKeys):
    """The public certificate."""


class LeastKeys(TypedDict, total=False):
    """The bound on the loss, if there is one."""

    gcp: float
    gcp_gap: float
    gcp_nodes: list[str]
    gcp_why: str
    gcp_why_fact: Facts


class LowerBoundFile(LeastKeys):
    """What every release with the same requirement loses at least."""

    stars: int
    suppressed_tuples: int
    recoded_cells: int
    recoded_tuples: int
    # Sentences come with their code and arguments, for programs and translations.
    why: str
    why_fact: Facts


class CostFile(TypedDict):
    """The information loss."""

    stars: int
    suppressed_tuples: int
    recoded_cells: int
    recoded_tuples: int
    gcp: float
    lower_bound: LowerBoundFile
    optimal: bool


class PersonKeys(TypedDict, total=False):
    """Figures about persons and other kinds, if there are any."""

    persons: Sequence[Facts]


class CertificateFile(CommonKeys, PersonKeys):
    """The full, private certificate."""

    private: str
    algorithm: str
    reason: str
    reason_fact: Facts
    seed: int | None
    randomness: str
    input: Facts
    cost: CostFile
    details: Facts
    engine: Facts
    seconds: Mapping[str, float]


class PublicSeriesFile(SchemaKey):
    """The keys of the public certificate of a release of a series."""

    format: int
    shoal: str
    series: Facts
    parameters: Facts
    columns: Mapping[str, Sequence[str]]
    requested: Sequence[Facts]
    achieved: Facts
    risk: Mapping[str, Facts]
    cost: Facts
    guarantee: Facts
    output: FileOutput


class SeriesFile(PublicSeriesFile):
    """The keys of the private certificate of a release of a series."""

    private: str
    algorithm: str
    seed: int | None
    randomness: str
    input: Facts
    erased: int
    published_despite: Sequence[str]
    seconds: Mapping[str, float]
