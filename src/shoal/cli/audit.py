"""`shoal audit`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from shoal.cli import options
from shoal.cli.console import Terminal, lines_of, plain
from shoal.cli.signature import takes
from shoal.errors import ReleaseUnsafeError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shoal.cli.spec import ReleaseSpec

__all__ = ["audit"]


@takes(("quasi_identifiers", "sensitive", "star"), options.PRIVACY, options.READING, options.REQUEST)
def audit(terminal: Terminal, request: ReleaseSpec, *, source: options.Released) -> None:
    """Measure the privacy that a table has, whoever made it, and check it against a requirement if one is given.

    Example: shoal audit out/release.csv --qi age,gender,zip --sensitive disease -l 4

    Exit codes: 0 the table meets the requirement, or there was none; 3 it does not; 2 wrong usage or bad input.
    """
    from shoal.auditing import audit as judge

    models = request.privacy.models()
    judged = judge(source, privacy=models or None, **request.arguments(judge))
    facts = judged.to_dict()
    if terminal.json:
        terminal.result(facts)
    else:
        asked = [model.to_dict() for model in models]
        terminal.say(
            "", lines_of(_lines(facts["achieved"], facts["risk"])), *_verdict(asked, facts), *_remarks(facts), ""
        )
    if facts["violations"]:
        for violation in facts["violations"]:
            terminal.note(violation)
        raise typer.Exit(ReleaseUnsafeError.exit_code)


def _verdict(asked: Sequence[Mapping[str, Any]], facts: Mapping[str, Any]) -> list[str]:
    """Return whether the table meets what was asked; nothing where nothing was."""
    from shoal.report.sentences import model_title

    if not asked:
        return []
    wish = "; ".join(model_title(model) for model in asked)
    return [plain(f"It does not meet {wish}." if facts["violations"] else f"It meets {wish}.")]


def _lines(achieved: Mapping[str, Any], risk: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """Return every measured quantity with its value; one line each."""
    from shoal.report.sentences import found, number, percent

    lines: list[tuple[str, str]] = []
    for name, value in achieved.items():
        if name == "closeness":
            for one in value:
                lines.extend((f"t ({part}, {one['distance']} distance)", number(t)) for part, t in one["t"].items())
        elif isinstance(value, dict):
            measure = ", equal distance" if name == "t" else ""
            lines.extend((f"{name} ({part}{measure})", number(one)) for part, one in value.items())
        elif value is not None:
            lines.append((name, number(value)))
    if risk is not None:
        above = f"{percent(risk['records_above'])} of the records above {percent(risk['threshold'])}"
        lines.append(("risk", f"{found({'after': risk})}; {above}, {percent(risk['sample_uniques'])} alone"))
    return lines


def _remarks(facts: Mapping[str, Any]) -> list[str]:
    """Return what the measured quantities mean, worst news first."""
    from shoal.report.sentences import number

    achieved = facts["achieved"]
    diversity = (achieved.get("l") or {}).get("frequency")
    remarks: list[str] = []
    if achieved["k"] == 1:
        unique = facts.get("unique_rows")
        who = "Some records are" if unique is None else f"{number(unique)} record{' is' if unique == 1 else 's are'}"
        remarks.append(
            f"Warning: k = 1. {who} unique: whoever knows the quasi-identifiers of these people recognizes them."
        )
    else:
        company = achieved["k"] - 1
        others = "one other" if company == 1 else f"{number(company)} others"
        remarks.append(f"Every record shares its quasi-identifiers with at least {others}.")
    if diversity == 1:
        remarks.append(
            "Warning: l = 1. In some group all records have the same sensitive value: it is known of everyone there."
        )
    elif diversity is not None:
        remarks.append(f"Nobody can be linked to a sensitive value with a confidence above 1 in {number(diversity)}.")
    return [plain(remark) for remark in remarks]
