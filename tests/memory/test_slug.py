"""Slugs: the seed's rules, for names of every script."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemon.memory.keys import make_slug

names = st.text(max_size=60)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("John Doe", "john_doe"),
        ("Acme Corp", "acme_corp"),
        ("Austin, Texas", "austin_texas"),
        ("dashboard redesign", "dashboard_redesign"),
        ("Jean-Luc Picard", "jean_luc_picard"),
        ("O'Brien", "obrien"),
        ("  Dr.  Who ", "dr_who"),
        ("AT&T", "att"),
        ("snake_case", "snake_case"),
        ("José Núñez", "josé_núñez"),
        ("Jose\u0301", "josé"),
        ("Łukasz Żółć", "łukasz_żółć"),
        ("李小龍", "李小龍"),
        ("Анна-Мария", "анна_мария"),
        ("प्रिया शर्मा", "प्रिया_शर्मा"),
        ("Ｆｕｌｌ Ｗｉｄｔｈ", "full_width"),
        ("Q3 – Launch", "q3_launch"),
        ("", ""),
        ("   ", ""),
    ],
)
def test_a_name_becomes_the_slug_the_seed_gives(name: str, expected: str) -> None:
    assert make_slug(name) == expected


@given(names)
def test_a_slug_is_its_own_slug(name: str) -> None:
    assert make_slug(make_slug(name)) == make_slug(name)


@given(names)
def test_a_slug_holds_only_letters_digits_marks_and_single_underscores(name: str) -> None:
    made = make_slug(name)
    assert all(character == "_" or unicodedata.category(character)[0] in "LNM" for character in made)
    assert "__" not in made
    assert not made.startswith("_")
    assert not made.endswith("_")
    assert "|" not in made
    assert ":" not in made


@given(st.lists(st.sampled_from(["Anna", "de", "la", "O'Hara", "李", "Żak", "2nd"]), min_size=1, max_size=5))
def test_spacing_case_and_punctuation_do_not_matter(words: list[str]) -> None:
    plain = make_slug(" ".join(words))
    assert make_slug("-".join(words)) == plain
    assert make_slug("  ".join(words).upper()) == plain
    assert make_slug(", ".join(words) + "!") == plain


@given(names)
def test_composed_and_decomposed_spellings_are_one(name: str) -> None:
    assert make_slug(unicodedata.normalize("NFD", name)) == make_slug(unicodedata.normalize("NFC", name))


@given(names)
def test_a_name_that_is_not_blank_has_a_slug(name: str) -> None:
    assert bool(make_slug(name)) == bool(name.strip())


def test_names_without_letters_stay_apart() -> None:
    assert make_slug("🚀") != make_slug("🎉")
    assert re.fullmatch("x[0-9a-f]{12}", make_slug("🚀")), "stored keys hold it, so its length stays"
    assert make_slug("❤️") == make_slug("❤️")
