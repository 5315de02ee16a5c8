"""LoCoMo's format, and the share of evidence that was found."""

import json
from pathlib import Path

import pytest

from bench.recall.locomo import (
    MAIN_GROUP,
    LocomoQuestion,
    load_conversations,
    quality_by_category,
    retrieval_quality,
)

ASKED = LocomoQuestion(text="?", category="multi-hop", evidence=frozenset({"D1:1", "D1:2"}))


def test_recall_is_the_share_of_evidence_within_the_depth() -> None:
    found = retrieval_quality([ASKED], [["x", "D1:2", "y", "z", "w", "v", "D1:1"]])
    assert found.recall == {5: 0.5, 10: 1.0, 20: 1.0, 50: 1.0}
    assert 0 < found.ndcg < 1


def test_evidence_in_front_is_worth_all() -> None:
    assert retrieval_quality([ASKED], [["D1:1", "D1:2"]]).ndcg == pytest.approx(1.0)


def test_adversarial_questions_stand_apart() -> None:
    trap = LocomoQuestion(text="?", category="adversarial", evidence=frozenset({"D1:1"}))
    made = quality_by_category([ASKED, trap], [["D1:1", "D1:2"], ["x"]])
    assert made[MAIN_GROUP].questions == 1
    assert made["adversarial"].recall[10] == 0.0


def test_a_file_gives_lines_in_order_and_questions_with_known_evidence(tmp_path: Path) -> None:
    turns = [
        {"speaker": "Ann", "dia_id": "D1:1", "text": "Look", "blip_caption": "a lake"},
        {"speaker": "Bob", "dia_id": "D1:2", "text": "Nice"},
    ]
    raw = {
        "sample_id": "conv-1",
        "conversation": {"session_1_date_time": "1:56 pm on 8 May, 2023", "session_1": turns},
        "qa": [
            {"question": "What?", "category": 4, "evidence": ["D1:1", "D9:9"]},
            {"question": "Which?", "category": 4, "evidence": ["D9:9"]},
        ],
    }
    path = tmp_path / "talk.json"
    path.write_text(json.dumps([raw]), encoding="utf-8")
    (talk,) = load_conversations(path)
    assert [line.text for line in talk.lines] == ["Look [a lake]", "Nice"]
    assert talk.lines[0].at < talk.lines[1].at
    assert [(one.text, one.evidence) for one in talk.questions] == [("What?", frozenset({"D1:1"}))]
