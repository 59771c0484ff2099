"""Facts for the reports of a release: public facts for readers, and all facts for the publisher."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from shoal.disclosure_risk import class_confidence
from shoal.metrics import Metrics
from shoal.release.analysis import measure_analyst_utility
from shoal.release.certificate import Certificate, PublicCertificate
from shoal.release.verified_table import VerifiedTable
from shoal.report import (
    About,
    AnalystMeasure,
    AttributeConfidence,
    AttributeLoss,
    PublicFacts,
    ReportFacts,
    distributions,
    find_unchanged_groups,
    public_facts,
    size_bins,
    size_shares,
)

_REPORTED = ("gcp", "discernability", "mean_class_size", "average_class_size")
"""The metrics in the report, which are all cheap to compute."""
_MOST_CELLS = 1_000_000
"""Largest number of cells that a measure of utility scans for a report: half a second on Adult's columns."""


def facts_for_readers(release: VerifiedTable, certificate: PublicCertificate, about: About | None) -> PublicFacts:
    """Collect the facts of the public report from the public certificate and the published table alone."""
    classes = release.metrics.recoding.classes
    # Rows of one class are indistinguishable. If the numbers of visible groups and classes agree, they are the same.
    known = classes.sizes if classes.count == certificate.achieved["groups"] else None
    return public_facts(certificate.to_dict(), release.store.distinct, known, release.store.counts, about=about)


def facts_for_publisher(
    release: VerifiedTable, certificate: Certificate, about: About | None, *, drawn: bool = True
) -> ReportFacts:
    """Collect the facts of the private report.

    Parameters
    ----------
    release : VerifiedTable
    certificate : Certificate
        The full certificate, possibly without the hashes of files.
    about : About, optional
        Title and other texts of the publisher.
    drawn : bool
        Whether to draw the pictures of coarsenings and of the trade-off.
    """
    metrics = release.metrics
    recoding, original = metrics.recoding, metrics.table
    # Several columns coarsened together have a joint key, so all of its parts are looked up.
    coarse = {name for columns in certificate.parameters.get("coarsen", ()) for name in (columns, *columns.split(","))}
    losses = tuple(
        AttributeLoss(
            name=column.name,
            changed=int(recoding.sizes[~find_unchanged_groups(values, column, coarsened=column.name in coarse)].sum()),
            stars=int(recoding.sizes[column.stars].sum()),
            loss=metrics.ncp[column.name],
            coarsened=column.name in coarse,
        )
        for column, values in zip(recoding.columns, original.quasi_identifiers, strict=True)
    )
    about = (about or About()).dated()
    pictures = {columns: draw() for columns, draw in release.pictures.items()} if drawn else {}
    trade_off = release.trade_off() if drawn and release.trade_off is not None else None
    return ReportFacts(
        certificate=certificate.to_dict(),
        losses=losses,
        class_sizes=size_bins(recoding.classes.sizes),
        metrics={name: getattr(metrics, name) for name in _REPORTED},
        insensitive=release.schema.insensitive,
        direct_identifiers=release.schema.direct_identifiers,
        pictures=pictures,
        trade_off=trade_off,
        sizes=size_shares(original.classes.sizes_counted, Counter(recoding.classes.sizes.tolist())),
        sureness=tuple(_confidences(metrics)),
        distributions=distributions(original, recoding, coarse),
        utility=_measure_utility(metrics) if drawn else (),
        about=about,
    )


def _measure_utility(metrics: Metrics) -> tuple[AnalystMeasure, ...]:
    """Measure what analysts lose, to as many digits as every machine agrees on."""
    if not metrics.table.multiplicities.sum():
        return ()
    measures = measure_analyst_utility(metrics, most=_MOST_CELLS).measures
    return tuple(one if one.value is None else replace(one, value=float(f"{one.value:.4g}")) for one in measures)


def _confidences(metrics: Metrics) -> Iterator[AttributeConfidence]:
    """Yield the confidence of adversaries about each sensitive attribute, before and after."""
    original, recoded = metrics.table.classes, metrics.recoding.classes
    # The same rows grouped by their original and by their published quasi-identifiers.
    before, counts = original.of_rows, metrics.table.counts
    after = recoded.of_group[metrics.groups].astype(np.int64)
    for column in metrics.table.sensitive:
        was = class_confidence(before, original.class_sizes, column, counts)
        now = class_confidence(after, recoded.sizes, column, counts)
        yield AttributeConfidence(
            name=column.name,
            highest_before=was.highest,
            average_before=was.average,
            highest_after=now.highest,
            average_after=now.average,
        )
