"""How many stars the default algorithm leaves, against the paper's and against what is provably necessary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean
from typing import TYPE_CHECKING

from benchmarks.results import Grid, Part, Target
from benchmarks.sweep import SENSITIVE, Measurement, run_sweep
from shoal.datasets import QUASI_IDENTIFIERS

if TYPE_CHECKING:
    from benchmarks.settings import Settings

__all__ = ["measure"]

_RIVAL = "tp+ hilbert"
_STRONGER = "tp+ scaled"
_RIVAL_LIMIT = 0.40
_BOUND_LIMITS = {1: 1.03, 2: 1.03, 3: 1.03, 4: 1.03, 7: 1.35}
_KNOWN_LIMIT = 1.15
"""How many times the better bound TP+ should leave at most, with all of l that are measured."""


def measure(settings: Settings) -> Part:
    """Measure stars over l and over d on both tables.

    Returns
    -------
    Part
        Averages over choices of d of the seven quasi-identifiers, the tables of the first d, and the targets: stars of
        the default `tp+` over those of `tp+` refined by Hilbert, and over the certificate's lower bound, each as the
        ratio of two averages.
    """
    part = Part(name="stars", title="Stars")
    counted = [one for one in run_sweep(settings) if one.stars]
    how_many = "all choices" if settings.tables is None else f"at most {settings.tables} choices"
    part.say(
        f"Tables of {settings.rows:,} rows; every row of a table below averages over {how_many} of d of the seven "
        "quasi-identifiers, except where it says 'first d'. `tp+` is the default, `tp+ hilbert` the paper's, `bound` "
        "the certificate's lower bound: no release can have fewer stars. Ratios are ratios of averages. "
        f"bound / {_RIVAL} is what no algorithm can go below. `{_STRONGER}` is the paper's TP+ too, with a curve that "
        "stretches every domain to the same width; the paper leaves that open."
    )
    for table in SENSITIVE:
        mine = [one for one in counted if one.table == table]
        by_l = {l: [one for one in mine if _d(one) == settings.fixed_d and one.l == l] for l in settings.l_values}
        by_d = {d: [one for one in mine if _d(one) == d and one.l == settings.fixed_l] for d in settings.dimensions}
        _show_averages(part, f"{table}: average stars over l, d = {settings.fixed_d}", "l", by_l)
        _show_averages(part, f"{table}: average stars over d, l = {settings.fixed_l}", "d", by_d)
        _show_first(
            part, settings, table, [one for one in mine if one.quasi_identifiers == QUASI_IDENTIFIERS[: _d(one)]]
        )
        _add_targets(part, settings, table, by_l, by_d)
    _show_anomalies(part, counted)
    return part


def _d(one: Measurement) -> int:
    return len(one.quasi_identifiers)


def _averages(found: Sequence[Measurement]) -> dict[str, float]:
    """Return average stars by algorithm, and the average bound."""
    averages = {name: fmean(one.stars[name] for one in found) for name in found[0].stars}
    return {**averages, "bound": fmean(one.bound for one in found)}


def _over(above: float, below: float) -> float:
    """Return a ratio; nothing over nothing is 1."""
    return above / below if below else (1.0 if above == 0 else float("inf"))


def _show_averages(part: Part, title: str, letter: str, by_key: dict[int, list[Measurement]]) -> None:
    names = ("tp+", _RIVAL, _STRONGER, "hilbert", "tp", "bound")
    rows = []
    for key, found in by_key.items():
        a = _averages(found)
        worst = max(_over(one.stars["tp+"], one.bound) for one in found)
        over = (
            _over(a["tp+"], a[_RIVAL]),
            _over(a["tp+"], a[_STRONGER]),
            _over(a["bound"], a[_RIVAL]),
            _over(a["tp+"], a["bound"]),
            worst,
        )
        rows.append((key, len(found), *(round(a[name]) for name in names), *over))
    ratios = (f"tp+ / {_RIVAL}", f"tp+ / {_STRONGER}", f"bound / {_RIVAL}", "tp+ / bound", "worst table")
    part.show(Grid(title=f"{title}:", header=(letter, "tables", *names, *ratios), rows=rows))


def _show_first(part: Part, settings: Settings, table: str, first: list[Measurement]) -> None:
    """Show the tables of the first d quasi-identifiers one by one, with the bound after more work."""
    rows = [
        (
            _d(one),
            one.l,
            one.stars["tp+"],
            one.stars[_RIVAL],
            one.bound,
            _over(one.stars["tp+"], one.stars[_RIVAL]),
            _over(one.stars["tp+"], one.bound),
            one.raised_bound,
            None if one.raised_bound is None else _over(one.stars["tp+"], one.raised_bound),
            None if one.raised_bound is None else _over(one.raised_bound, one.stars[_RIVAL]),
            None if one.raised_bound is None else one.raised_seconds,
        )
        for one in sorted(first, key=lambda one: (_d(one), one.l))
    ]
    raised = ("raised bound", "tp+ / raised", f"raised / {_RIVAL}", "seconds")
    header = ("d", "l", "tp+", _RIVAL, "bound", f"tp+ / {_RIVAL}", "tp+ / bound", *raised)
    title = (
        f"{table}: the first d quasi-identifiers, one table each; the raised bound is the same bound after more work:"
    )
    part.show(Grid(title=title, header=header, rows=rows))
    _show_first_averages(part, settings, table, first)


def _show_first_averages(part: Part, settings: Settings, table: str, first: list[Measurement]) -> None:
    scopes = {
        f"d = {settings.fixed_d}, all l": [one for one in first if _d(one) == settings.fixed_d],
        f"l = {settings.fixed_l}, all d": [one for one in first if one.l == settings.fixed_l],
    }
    averages: list[tuple[object, ...]] = []
    for scope, found in scopes.items():
        stars, rival = fmean(one.stars["tp+"] for one in found), fmean(one.stars[_RIVAL] for one in found)
        best = fmean(max(one.bound, one.raised_bound or 0) for one in found)
        averages.append((scope, len(found), _over(stars, rival), _over(stars, best), _over(best, rival)))
    ratios = ("average over", "tables", f"tp+ / {_RIVAL}", "tp+ / best bound", f"best bound / {_RIVAL}")
    title = f"{table}: averages of the first d alone, with the better bound:"
    part.show(Grid(title=title, header=ratios, rows=averages))


def _add_targets(
    part: Part,
    settings: Settings,
    table: str,
    by_l: dict[int, list[Measurement]],
    by_d: dict[int, list[Measurement]],
) -> None:
    for letter, by_key, fixed in (("l", by_l, f"d = {settings.fixed_d}"), ("d", by_d, f"l = {settings.fixed_l}")):
        averages = [_averages(found) for found in by_key.values()]
        over = f"{letter} = {min(by_key)}..{max(by_key)}, {fixed}"
        for rival in (_RIVAL, _STRONGER):
            measured = _over(fmean(a["tp+"] for a in averages), fmean(a[rival] for a in averages))
            part.targets.append(Target(what=f"{table}: tp+ / {rival}, {over}", limit=_RIVAL_LIMIT, measured=measured))
    for d, found in by_d.items():
        if d in _BOUND_LIMITS:
            a = _averages(found)
            what = f"{table}: tp+ / bound, d = {d}, l = {settings.fixed_l}"
            part.targets.append(Target(what=what, limit=_BOUND_LIMITS[d], measured=_over(a["tp+"], a["bound"])))
    averages = [_averages(found) for found in by_l.values()]
    measured = _over(fmean(a["tp+"] for a in averages), fmean(a["bound"] for a in averages))
    best = fmean(fmean(max(one.bound, one.raised_bound or 0) for one in found) for found in by_l.values())
    known = _over(fmean(a["tp+"] for a in averages), best)
    what = f"{table}: tp+ / bound, d = {settings.fixed_d}, l = {min(by_l)}..{max(by_l)}"
    if settings.fixed_d in _BOUND_LIMITS:
        part.targets.append(Target(what=what, limit=_BOUND_LIMITS[settings.fixed_d], measured=measured))
        part.targets.append(Target(what=f"{what}, the better bound", limit=_KNOWN_LIMIT, measured=known))


def _show_anomalies(part: Part, counted: list[Measurement]) -> None:
    """Say where an algorithm did worse than it should, with what is needed to see it again."""
    expectations: dict[str, Callable[[Measurement], bool]] = {
        "stars of some algorithm below the lower bound": lambda one: min(one.stars.values()) < one.bound,
        "stars below the raised lower bound": lambda one: min(one.stars.values()) < (one.raised_bound or 0),
        "raised lower bound below the default one": lambda one: (
            one.raised_bound is not None and one.raised_bound < one.bound
        ),
        "tp+ leaves more stars than tp": lambda one: one.stars["tp+"] > one.stars["tp"],
        f"{_RIVAL} leaves more stars than tp": lambda one: one.stars[_RIVAL] > one.stars["tp"],
        "tp+ leaves more stars than hilbert": lambda one: one.stars["tp+"] > one.stars["hilbert"],
        f"{_RIVAL} leaves more stars than hilbert": lambda one: one.stars[_RIVAL] > one.stars["hilbert"],
        f"{_RIVAL} leaves more stars than {_STRONGER}": lambda one: one.stars[_RIVAL] > one.stars[_STRONGER],
        f"tp+ leaves more stars than {_RIVAL}": lambda one: one.stars["tp+"] > one.stars[_RIVAL],
        "tp+ leaves over 1.5 times the lower bound": lambda one: one.stars["tp+"] > 1.5 * one.bound,
    }
    rows = []
    for what, happens in expectations.items():
        cases = [one for one in counted if happens(one)]
        example = f"{cases[0].table} l={cases[0].l} {'+'.join(cases[0].quasi_identifiers)}" if cases else ""
        rows.append((what, len(cases), example))
    title = f"What should not happen, in {len(counted):,} pairs of a table and an l:"
    part.show(Grid(title=title, header=("what", "times", "first case"), rows=rows))
