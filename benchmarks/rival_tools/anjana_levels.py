"""anjana: full-domain generalization with hierarchies, at most 5 % of the records left out."""

import csv
import sys
from pathlib import Path

import pandas as pd
from anjana.anonymity import k_anonymity, l_diversity


def main(source: str, target: str, k: int, l: int, sensitive: str, folder: str, names: list[str]) -> None:
    """Publish a table."""
    frame = pd.read_csv(source, sep=";", dtype=str)[[*names, sensitive]]
    hierarchies = {}
    for name in names:
        with Path(folder, f"{name}.csv").open(newline="", encoding="utf-8") as file:
            lines = list(csv.reader(file, delimiter=";"))
        hierarchies[name] = {level: [line[level] for line in lines] for level in range(len(lines[0]))}
        per_row = dict(zip(hierarchies[name][0], lines, strict=True))
        hierarchies[name] = {
            level: frame[name].map(lambda value, at=level, lines=per_row: lines[value][at]).to_numpy()
            for level in hierarchies[name]
        }
    if l:
        found = l_diversity(frame, [], names, sensitive, k, l, 5, hierarchies)
    else:
        found = k_anonymity(frame, [], names, k, 5, hierarchies)
    found.to_csv(target, sep=";", index=False)


if __name__ == "__main__":
    _, source, target, k, l, sensitive, folder, *names = sys.argv
    main(source, target, int(k), int(l), sensitive, folder, names)
