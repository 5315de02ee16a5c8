"""How the ranking does where a person talks with an assistant that answers at length, by LongMemEval's questions.

`python -m bench.long_replies [FILE]` prints the table of docs/recall.md. It calls the scoring code, not the API.
"""

import gzip
import json
import re
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from mnemon.embedding.embedder import scale_to_unit
from mnemon.embedding.local import LocalEmbedder
from mnemon.memory.entities.aliases import Aliases
from mnemon.memory.recall.index import build_index
from mnemon.memory.recall.index_entry import IndexEntry, entry_of_message
from mnemon.memory.recall.query import parse_query
from mnemon.memory.recall.scoring import score_rows, view_index
from mnemon.turn import Role

DATA = Path("../shared/data/longmemeval-dev.jsonl.gz")
DEPTH = 5
EMBEDDER = LocalEmbedder()
Row = tuple[IndexEntry, str, int, bool]
"""A message, its text, the number of its session, and whether the answer stands in it."""


def read_rows(asked: Mapping[str, Any]) -> list[Row]:
    """Return the messages of a question's whole history, oldest session first as the file has them."""
    rows: list[Row] = []
    for number, session in enumerate(asked["sessions"]):
        began = _read_time(session["at"])
        for place, message in enumerate(session["messages"]):
            if not message["content"].strip():
                continue
            made = entry_of_message(
                entry_id=f"{len(rows):06}", revision=len(rows), place=0, session_id=str(number),
                role=Role(message["role"]), content=message["content"], name=None,
                at=began + timedelta(seconds=20 * place),
            )  # fmt: skip
            rows.append((made, message["content"], number, bool(message.get("has_answer"))))
    return rows


def judge(asked: Mapping[str, Any]) -> tuple[bool, bool, bool]:
    """Return whether the first five sessions hold evidence, the first five messages some, and those messages all."""
    rows = read_rows(asked)
    book = build_index(list(zip([row[0] for row in rows], _vectors([row[1] for row in rows]), strict=True)))
    found = score_rows(
        [view_index(book)], parse_query(asked["question"]), _vectors([asked["question"]])[0],
        aliases=Aliases(), now=_read_time(asked["at"]), limit=len(rows),
    ).best  # fmt: skip
    order = [int(one.id) for one, _ in found]
    evidence = {place for place, row in enumerate(rows) if row[3]}
    sessions = list(dict.fromkeys(rows[place][2] for place in order))[:DEPTH]
    first = set(order[:DEPTH])
    return bool({rows[place][2] for place in evidence} & set(sessions)), bool(evidence & first), evidence <= first


def read_questions(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the questions of a file, one JSON object a line."""
    with gzip.open(path, "rt") as lines:
        for line in lines:
            yield json.loads(line)


def _vectors(texts: list[str]) -> np.ndarray:
    return scale_to_unit(EMBEDDER.embed_now(texts).astype(np.float16).astype(np.float32))


def _read_time(said: str) -> datetime:
    """Return a time like `2023/05/28 (Sun) 19:47`."""
    return datetime.strptime(re.sub(r"\([A-Z][a-z]{2}\) ", "", said), "%Y/%m/%d %H:%M").replace(tzinfo=UTC)


def main() -> None:
    """Print the three shares."""
    judged = [judge(asked) for asked in read_questions(Path(sys.argv[1]) if len(sys.argv) > 1 else DATA)]
    print("| questions | session any@5 | turn any@5 | turn all@5 |\n|---:|---:|---:|---:|")
    print(f"| {len(judged)} | {' | '.join(f'{share:.3f}' for share in np.mean(judged, axis=0))} |")


if __name__ == "__main__":
    main()
