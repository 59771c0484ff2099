"""anonymity-api: cuts along its numeric columns; texts of a group are published as all of them, joined by '-'."""

import sys

import pandas as pd
from anonymity_api import anonymity


def main(source: str, target: str, k: int, l: int, sensitive: str, names: list[str]) -> None:
    """Publish a table; it takes one model at a time, so l stands for both where it is asked for."""
    frame = pd.read_csv(source, sep=";")[[*names, sensitive]]
    if l:
        found = anonymity.distinct_l_diversity(frame, names, [sensitive], l)
    else:
        found = anonymity.k_anonymity(frame, names, k)
    found.to_csv(target, sep=";", index=False)


if __name__ == "__main__":
    _, source, target, k, l, sensitive, _, *names = sys.argv
    main(source, target, int(k), int(l), sensitive, names)
