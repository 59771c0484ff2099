"""anonypy: Mondrian, with k-anonymity and distinct l-diversity. Groups are lines with a count, which are repeated."""

import sys

import anonypy
import pandas as pd


def main(source: str, target: str, k: int, l: int, sensitive: str, names: list[str]) -> None:
    """Publish a table."""
    frame = pd.read_csv(source, sep=";")
    for name in [*names, sensitive]:
        if frame[name].dtype == object:
            frame[name] = frame[name].astype("category")
    preserver = anonypy.Preserver(frame, names, sensitive)
    rows = preserver.anonymize_l_diversity(k, l) if l else preserver.anonymize_k_anonymity(k)
    found = pd.DataFrame(rows)
    for name in names:
        found[name] = [cell[0] if isinstance(cell, list) else cell for cell in found[name]]
    found.loc[found.index.repeat(found["count"])].drop(columns="count").to_csv(target, sep=";", index=False)


if __name__ == "__main__":
    _, source, target, k, l, sensitive, _, *names = sys.argv
    main(source, target, int(k), int(l), sensitive, names)
