"""anonypyx: Mondrian, with k-anonymity and distinct l-diversity, published in its form for people."""

import sys

import anonypyx
import pandas as pd


def main(source: str, target: str, k: int, l: int, sensitive: str, names: list[str]) -> None:
    """Publish a table."""
    frame = pd.read_csv(source, sep=";")
    for name in [*names, sensitive]:
        if not pd.api.types.is_numeric_dtype(frame[name]):
            frame[name] = frame[name].astype("category")
    asked = {"k": k, "algorithm": "Mondrian", "generalisation_strategy": "human-readable"}
    if l:
        asked |= {"l": l, "diversity_definition": "distinct"}
    found = anonypyx.Anonymiser(frame, feature_columns=names, sensitive_column=sensitive, **asked).anonymise()
    found = pd.DataFrame(found)
    if "count" in found:
        found = found.loc[found.index.repeat(found["count"])].drop(columns="count")
    found.to_csv(target, sep=";", index=False)


if __name__ == "__main__":
    _, source, target, k, l, sensitive, _, *names = sys.argv
    main(source, target, int(k), int(l), sensitive, names)
