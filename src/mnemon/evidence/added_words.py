"""Words that a statement may add though its quote does not say them: a topic, a light verb, a general noun.

An honest statement stands on its own where its quote leans on what was said before: "I applied, no answer yet" becomes
"Applied to the programme". It may take from the rest of the message what the quote refers back to, name a verb where
the quote has none ("my sister is in Denver": lives), and say in general what the quote says in particular.
"""

from collections.abc import Collection, Sequence
from functools import cached_property
from itertools import pairwise

from mnemon.evidence.clause import ReadWord, read_words
from mnemon.evidence.contrast import opposites
from mnemon.evidence.statement import QuotedSentence
from mnemon.evidence.vocabulary import (
    FREE,
    PRONOUNS,
    ClaimedStems,
    are_kinds_of_one,
    is_derived,
    is_supported_by,
    stem_list,
    word_list,
)

_FRAME = stem_list("frame")
_LIGHT_VERBS = stem_list("light_verb")
_DIRECTED_VERBS = stem_list("directed_verb")
_PLAIN_VERBS = word_list("plain_verb")
_ACTIONS = stem_list("action_verb")
_TELLING = frozenset(
    {"say", "says", "said", "tell", "tells", "told", "think", "thinks", "thought", "know", "named", "called"}
)
"""Verbs of a quote by which somebody tells something else."""
_COPULAS = frozenset({"be", "is", "are", "was", "were", "am", "been", "being", "have", "has", "had", "having", "'s"})
_UNITS_OF_TIME = stem_list("time_unit")
REFERRING = PRONOUNS["other"] | frozenset({"him", "her", "them", "his", "their", "its", "one", "ones", "there"})
"""Words that stand for somebody or something named elsewhere."""
_FREE_VERBS = _LIGHT_VERBS | _DIRECTED_VERBS | FREE
_RELATIONS = stem_list("relation")
_PREPARING = stem_list("preparing_verb")
_OPEN_VERBS = stem_list("open_verb")
_STRONG = stem_list("strong_verb")
_EXACT = frozenset(_RELATIONS | _UNITS_OF_TIME | _STRONG).union(
    *map(stem_list, ("unit", "qualifier", "other_party", "delicate", "month"))
)
"""Stems that no other word stands for."""
_FEWEST_AROUND = 3
"""Words of a statement that its quote must have for the one between them to be another one."""
_REACH_BEFORE, _REACH_AFTER = 2_000, 1_000
"""Characters of the message before and after the quoted sentences that are read for what they refer to."""


class AddedWords:
    """What the quotes of a statement leave open, and what their messages say besides."""

    def __init__(self, claimed: Sequence[ReadWord], sentences: Sequence[QuotedSentence]) -> None:
        """Keep the statement's words and quotes; read the quoted messages only if a word is missing from the quotes."""
        self._claimed = [word for word in claimed if not word.is_function_word]
        self._sentences = sentences
        self._kept = ClaimedStems(word.stem for word in self._claimed)
        self._pairs = frozenset(pairwise(word.stem for word in self._claimed))

    def unsupported_additions(self, missing: Sequence[ReadWord], present: Collection[ReadWord]) -> list[ReadWord]:
        """Return which of the words missing from the quotes the statement may not add, given the `present` ones."""
        if not present:
            return list(missing)
        left = [
            word for word in missing if not (self._is_added_verb(word) and self._has_object(word, missing, present))
        ]
        context = self._words_around_quotes() if left else []
        left = [word for word in left if not self._is_in_context(word, context)]
        framing = [word for word in left if word.stem in _FRAME and not word.is_name]
        if len(framing) <= (len(present) + 1) // 2:
            left = [word for word in left if word.is_name or word.stem not in _FRAME]
        if len(left) == 1 and len(present) >= _FEWEST_AROUND:
            return [] if self._is_other_verb(left[0]) or self._is_reworded(left[0]) else left
        return left

    def open_verb(self) -> str | None:
        """Return a verb that leaves the outcome open ("applied for") and that the statement omits; None without.

        "They offered me the job" and "I applied for the job" do not say that somebody has it.
        """
        own = {word.stem for word in self._claimed}
        for one in self._sentences:
            named = [said for said in one.words if one.is_quoted(said) and not (said.is_name or said.owned)]
            kept = [said for said in named if not said.is_function_word and self._is_claimed(said)]
            for said in one.words:
                if said.stem not in _OPEN_VERBS or said.in_subject or any(is_derived(said.stem, word) for word in own):
                    continue
                if said.stem not in own and any(
                    word.clause == said.clause and word.start > said.start for word in kept
                ):
                    return said.text
        return None

    def _is_added_verb(self, word: ReadWord) -> bool:
        """Say whether a word is a light verb ("have", "go") that the statement adds to quotes without another verb."""
        if word.is_name or (word.stem not in _LIGHT_VERBS and word.stem not in _DIRECTED_VERBS):
            return False
        # "Is running now" is a state of its own, which a record would give.
        if word.text.endswith("ing") and any(one.fields for one in self._sentences):
            return False
        plain = _PLAIN_VERBS if word.stem in _LIGHT_VERBS else _COPULAS
        return all(said.text in plain | _TELLING for said in self._verbs_passed_over)

    def _has_object(self, verb: ReadWord, missing: Sequence[ReadWord], present: Collection[ReadWord]) -> bool:
        """Say whether the word after a verb is supported by the quotes, so that the verb alone claims nothing.

        "Lives in Denver" is; "and drinks on the job" is an addition.
        """
        after = [word for word in (*present, *missing) if word.start > verb.start and word.stem not in _FREE_VERBS]
        return not after or min(after, key=lambda word: word.start) in present

    def _is_other_verb(self, word: ReadWord) -> bool:
        """Say whether a verb of the statement may replace the one verb of the quotes that the statement omits.

        "Mixes up lazy and greedy" may be told as "confuses"; "asked for a raise" may not be told as "got".
        """
        passed = self._verbs_passed_over
        if word.is_name or word.stem not in _ACTIONS or len(passed) != 1:
            return False
        said = passed[0]
        if {word.stem, said.stem} & _PREPARING or word.stem in _STRONG or said.stem in opposites(word.stem):
            return False
        return said.negated == word.negated and not said.ceased

    def _is_reworded(self, word: ReadWord) -> bool:
        """Say whether a word may be a rewording of one that the statement omits from the clauses it draws on.

        A word for which the quote has none left is an addition; one of a kind with it, or its opposite, is a change.
        """
        if word.is_name or word.is_acronym or word.stem in _EXACT:
            return False
        passed = self._words_passed_over
        changed = any(
            said.stem in _EXACT or said.stem in opposites(word.stem) or are_kinds_of_one(word.stem, said.stem)
            for said in passed
        )
        return bool(passed) and not changed

    @cached_property
    def _words_passed_over(self) -> list[ReadWord]:
        """Return the words that the statement omits from the quoted clauses it draws on."""
        found = []
        for one in self._sentences:
            quoted = [said for said in one.words if one.is_quoted(said) and not said.is_function_word]
            telling = [
                said for said in quoted if said.stem not in FREE and not any(sign.isdigit() for sign in said.text)
            ]
            kept = [said for said in telling if self._is_claimed(said)]
            clauses = {said.clause for said in kept}
            found += [
                said for said in telling if not self._is_claimed(said) and said.clause in clauses and not said.is_name
            ]
        return found

    @cached_property
    def _verbs_passed_over(self) -> list[ReadWord]:
        """Return the verbs that the statement omits from the quoted clauses it draws on."""
        found = []
        for one in self._sentences:
            if one.fields:
                continue
            quoted = [said for said in one.words if not said.is_function_word]
            kept = [said for said in quoted if self._is_claimed(said)]
            telling = [said for said in kept if not said.is_name and not said.owned] or kept
            clauses = {said.clause for said in telling}
            found += [
                said
                for said in quoted
                if said.clause in clauses and said.stem in _ACTIONS and not said.is_name and not self._is_claimed(said)
            ]
        return found

    def _is_claimed(self, said: ReadWord) -> bool:
        """Say whether the statement contains a word of the quote or its synonym."""
        return self._kept.are_supported_by(said.stem)

    def _words_around_quotes(self) -> list[ReadWord]:
        """Return the words of the quoted messages that are near the quotes but outside them."""
        found: list[ReadWord] = []
        for one in self._sentences:
            text, place = one.quotation.passage.text, one.quotation
            found += read_words(text[max(0, place.start - _REACH_BEFORE) : place.start])
            found += read_words(text[place.end : place.end + _REACH_AFTER])
        return found

    def _is_in_context(self, word: ReadWord, context: Sequence[ReadWord]) -> bool:
        """Say whether the message has a noun like the word outside the quote; verbs must be in the quote itself."""
        if (word.is_name or word.is_acronym) and not self._refers_back():
            return False
        if word.stem in _UNITS_OF_TIME or (word.stem in _ACTIONS and not word.is_name):
            # "The skip permit" and "parents' evening" are things, by the words beside them.
            return any(pair in self._pairs for pair in pairwise(said.stem for said in context) if word.stem in pair)
        same = is_supported_by if word.stem in _RELATIONS else is_derived
        return any((word.stem == said.stem or same(word.stem, said.stem)) and not said.negated for said in context)

    def _refers_back(self) -> bool:
        """Say whether the quotes refer by a pronoun to somebody or something named elsewhere, and name nobody."""
        quoted = [said for one in self._sentences for said in one.words if one.is_quoted(said)]
        return any(said.text in REFERRING for said in quoted) and not any(said.is_name for said in quoted)
