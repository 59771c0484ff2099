"""Entry point `metadata`: describe a release in a vocabulary of catalogues, from its public files only."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from shoal._core.file_formats import FORMATS
from shoal._core.validation import fits_shape
from shoal.errors import DataError
from shoal.models.counting import PSEUDONYM
from shoal.verification.published_folder import COUNTERFEITS, file_digest, read_certificate, read_published

_CROISSANT_TERMS = (
    *("citeAs", "column", "extract", "field", "fileProperty", "fileObject", "fileSet", "format", "includes"),
    *("isLiveDataset", "jsonPath", "key", "md5", "parentField", "path", "recordSet", "references", "regex", "repeated"),
    *("equivalentProperty", "replace", "samplingRate", "separator", "source", "subField", "transform"),
)
"""The terms of Croissant 1.0 that its context maps to names of its own."""
_MEDIA_TYPES = "https://www.iana.org/assignments/media-types/"
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
"""A date that needs no interpretation."""


@dataclass(frozen=True, kw_only=True)
class PublicRelease:
    """The public facts of a release."""

    certificate: Mapping[str, Any]
    about: Mapping[str, str]
    """The publisher's own words."""
    records: int
    """Number of records."""
    individuals: int | None
    """Number of persons; None if the public files do not show it."""
    url: str
    license: str

    @property
    def files(self) -> dict[str, Mapping[str, Any]]:
        """The files with their hashes."""
        return dict(self.certificate["output"]["files"])

    @property
    def title(self) -> str:
        """The title of the report, or a general one."""
        return self.about.get("title") or "Anonymized table"

    @property
    def description(self) -> str:
        """The purpose, and the promise of the certificate."""
        return " ".join(filter(None, (self.about.get("purpose"), self.certificate["guarantee"].get("text"))))

    def fields(self, **terms: str) -> dict[str, str]:
        """Map terms to texts, without empty ones."""
        return {term: text for term, text in terms.items() if text}


def metadata(folder: str | PathLike[str], vocabulary: str, *, url: str = "", license: str = "") -> dict[str, Any]:  # noqa: A002
    """Describe a release as JSON-LD.

    Parameters
    ----------
    folder : path
        The public folder of a release. Its private folder is not read.
    vocabulary : {"croissant", "dcat", "prov"}
        Croissant 1.0, DCAT 3 with the numbers of records and of individuals of HealthDCAT-AP, or PROV-O.
    url, license : str
        The addresses of the release and of its licence.

    Raises
    ------
    DataError
        If it is not a release, or its files are not those of its certificate.
    """
    folder = Path(folder)
    if not (folder / "certificate.json").is_file():
        raise DataError(f"'{folder}' has no certificate.json. Name the public folder of a release.")
    try:
        about = json.loads((folder / "report.json").read_text(encoding="utf-8"))["about"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):  # releases of a series have none
        about = {}
    certificate = read_certificate(folder / "certificate.json")
    if not fits_shape(certificate, {"columns": {"*": list}, "guarantee": dict, "output": {"files": dict}}):
        raise DataError(f"The certificate in '{folder}' is damaged: parts of it are missing. Restore it from a copy.")
    # Metadata of other files would be wrong, so the hashes are checked first.
    files = certificate["output"]["files"]
    for name, facts in files.items():
        if not (folder / name).is_file() or file_digest(folder / name) != facts["sha256"]:
            raise DataError(f"The file '{folder / name}' is not the one that the certificate names.")
    # Of two tables, that of the records counts; a table that was read in pieces has several files.
    records = sum(
        facts["rows"] for name, facts in files.items() if name != COUNTERFEITS and Path(name).stem != "persons"
    )
    # Only pseudonyms, or one record each, show how many persons there are.
    parameters = certificate.get("parameters", {})
    link, alone = parameters.get("link"), parameters.get("rows_per_person") == 1
    individuals = read_published(folder).frame[PSEUDONYM].n_unique() if link else records if alone else None
    release = PublicRelease(
        certificate=certificate,
        about=about,
        records=records,
        individuals=individuals,
        url=url,
        license=license,
    )
    return _VOCABULARIES[vocabulary](release)


def _croissant(release: PublicRelease) -> dict[str, Any]:
    """Describe the files, and the columns of each as text, because cells may be stars and intervals."""
    # The published columns are those with a role; only one table is described by column.
    roles = release.certificate["columns"]
    columns = [name for role in roles.values() for name in role]
    # A table in pieces is a folder of that name.
    tables = list(dict.fromkeys(name.partition("/")[0] for name in release.files))
    tables = [name for name in tables if Path(name).stem == "release"]
    pieces = [name for name in tables if name not in release.files]
    return {
        "@context": {
            "@language": "en",
            "@vocab": "https://schema.org/",
            "sc": "https://schema.org/",
            "cr": "http://mlcommons.org/croissant/",
            "rai": "http://mlcommons.org/croissant/RAI/",
            "dct": "http://purl.org/dc/terms/",
            "conformsTo": "dct:conformsTo",
            "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
            "data": {"@id": "cr:data", "@type": "@json"},
            "examples": {"@id": "cr:examples", "@type": "@json"},
            **{term: f"cr:{term}" for term in _CROISSANT_TERMS},
        },
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": release.title,
        "description": release.description,
        **release.fields(url=release.url, license=release.license, datePublished=release.about.get("date", "")),
        **({"creator": _organization("sc:Organization", "name", release)} if release.about.get("institution") else {}),
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": name,
                "name": name,
                "contentUrl": name,
                "encodingFormat": FORMATS.get(Path(name).suffix[1:], "application/octet-stream"),
                "sha256": facts["sha256"],
            }
            for name, facts in release.files.items()
        ]
        + [
            {
                "@type": "cr:FileSet",
                "@id": name,
                "name": name,
                "encodingFormat": FORMATS.get(Path(name).suffix[1:], "application/octet-stream"),
                "includes": f"{name}/*{Path(name).suffix}",
            }
            for name in pieces
        ],
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": Path(table).stem,
                "name": Path(table).stem,
                "field": [
                    {
                        "@type": "cr:Field",
                        "@id": f"{Path(table).stem}/{column}",
                        "name": column,
                        "dataType": "sc:Text",
                        "source": {
                            "fileSet" if table in pieces else "fileObject": {"@id": table},
                            "extract": {"column": column},
                        },
                    }
                    for column in columns
                ],
            }
            for table in tables
        ],
    }


def _dcat(release: PublicRelease) -> dict[str, Any]:
    """Describe the dataset and its distributions, with the numbers of HealthDCAT-AP."""
    # The number of individuals is left out if it is unknown.
    counts = {"numberOfRecords": release.records, "numberOfUniqueIndividuals": release.individuals}
    about = release.about
    return {
        "@context": {
            "dcat": "http://www.w3.org/ns/dcat#",
            "dct": "http://purl.org/dc/terms/",
            "foaf": "http://xmlns.com/foaf/0.1/",
            "spdx": "http://spdx.org/rdf/terms#",
            "xsd": "http://www.w3.org/2001/XMLSchema#",
            "healthdcatap": "http://healthdataportal.eu/ns/health#",
        },
        "@type": "dcat:Dataset",
        **({"@id": release.url} if release.url else {}),
        "dct:title": release.title,
        "dct:description": release.description,
        **({"dct:license": {"@id": release.license}} if release.license else {}),
        **({"dct:issued": _typed("date", about["date"])} if _DAY.fullmatch(about.get("date", "")) else {}),
        **({"dct:publisher": _organization("foaf:Agent", "foaf:name", release)} if about.get("institution") else {}),
        **{
            f"healthdcatap:{name}": _typed("nonNegativeInteger", str(count))
            for name, count in counts.items()
            if count is not None
        },
        "dcat:distribution": [
            {
                "@type": "dcat:Distribution",
                "dct:title": name,
                **({"dcat:accessURL": {"@id": release.url}} if release.url else {}),
                "dcat:mediaType": {
                    "@id": _MEDIA_TYPES + FORMATS.get(Path(name).suffix[1:], "application/octet-stream")
                },
                "spdx:checksum": {
                    "@type": "spdx:Checksum",
                    "spdx:algorithm": {"@id": "spdx:checksumAlgorithm_sha256"},
                    "spdx:checksumValue": _typed("hexBinary", facts["sha256"]),
                },
            }
            for name, facts in release.files.items()
        ],
    }


def _prov(release: PublicRelease) -> dict[str, Any]:
    """State that the files were made by shoal of a table that is not published."""
    # The original is an entity without a name: its hash is private.
    made = {
        "@id": "#anonymization",
        "@type": "prov:Activity",
        "rdfs:comment": release.certificate["guarantee"]["text"],
        "prov:used": {"@id": "#original", "@type": "prov:Entity", "rdfs:label": "the original, not published"},
        "prov:wasAssociatedWith": {
            "@id": "#shoal",
            "@type": "prov:SoftwareAgent",
            "rdfs:label": f"shoal {release.certificate['shoal']}",
        },
    }
    # Files are named by their hash, which holds wherever they are copied.
    files = [
        {
            "@id": f"urn:sha256:{facts['sha256']}",
            "@type": "prov:Entity",
            "rdfs:label": name,
            "prov:wasGeneratedBy": {"@id": "#anonymization"},
            "prov:wasDerivedFrom": {"@id": "#original"},
        }
        for name, facts in release.files.items()
    ]
    vocabularies = {"prov": "http://www.w3.org/ns/prov#", "rdfs": "http://www.w3.org/2000/01/rdf-schema#"}
    return {"@context": vocabularies, "@graph": [made, *files]}


def _typed(kind: str, value: str) -> dict[str, str]:
    """Return a literal with a type of XML Schema."""
    return {"@type": f"xsd:{kind}", "@value": value}


def _organization(kind: str, term: str, release: PublicRelease) -> dict[str, str]:
    return {"@type": kind, term: release.about["institution"]}


_VOCABULARIES: Mapping[str, Callable[[PublicRelease], dict[str, Any]]] = {
    "croissant": _croissant,
    "dcat": _dcat,
    "prov": _prov,
}
"""The vocabularies by the name that users type."""
