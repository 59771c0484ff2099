"""pycanon: reads k and l from a published table, and writes them; it publishes none itself."""

import json
import sys
from pathlib import Path

import pandas as pd
from pycanon import anonymity

if __name__ == "__main__":
    _, source, target, _, _, sensitive, _, *names = sys.argv
    frame = pd.read_csv(source, dtype=str)
    found = {"k": anonymity.k_anonymity(frame, names), "l": anonymity.l_diversity(frame, names, [sensitive])}
    Path(target).write_text(json.dumps({name: int(value) for name, value in found.items()}), encoding="utf-8")
