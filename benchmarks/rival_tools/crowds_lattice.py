"""crowds: optimal lattice anonymization with hierarchies, at most 5 % of the records left out, k-anonymity alone."""

import csv
import sys
from functools import partial
from pathlib import Path

import pandas as pd
from crowds.kanonymity import ola
from crowds.kanonymity.generalizations import GenRule
from crowds.kanonymity.information_loss import prec_loss


def main(source: str, target: str, k: int, sensitive: str, folder: str, names: list[str]) -> None:
    """Publish a table."""
    frame = pd.read_csv(source, sep=";", dtype=str)[[*names, sensitive]]
    rules = {}
    for name in names:
        with Path(folder, f"{name}.csv").open(newline="", encoding="utf-8") as file:
            lines = {line[0]: line for line in csv.reader(file, delimiter=";")}
        height = len(next(iter(lines.values())))
        rules[name] = GenRule([partial(_node, lines, level) for level in range(1, height - 1)])
    found, _ = ola.anonymize(frame, rules, k=k, info_loss=prec_loss, max_sup=5)
    found.fillna("*").to_csv(target, sep=";", index=False)


def _node(lines: dict[str, list[str]], level: int, value: str) -> str:
    return lines[value][level]


if __name__ == "__main__":
    _, source, target, k, l, sensitive, folder, *names = sys.argv
    if int(l):
        sys.exit("crowds has no l-diversity")
    main(source, target, int(k), sensitive, folder, names)
