"""Stems of English words, so that "lives" and "live" compare as the same word."""

import threading

import Stemmer


class _ThreadStemmer(threading.local):
    """A stemmer for each thread: it keeps state and must not be called by two threads at once."""

    def __init__(self) -> None:
        self.stem_word = Stemmer.Stemmer("english").stemWord


_STEMMER = _ThreadStemmer()


def stem(word: str) -> str:
    """Return the stem of a lower-case word; numbers, codes and words of one or two letters are unchanged."""
    return str(_STEMMER.stem_word(word)) if word.isalpha() and len(word) > 2 else word


def stem_words(words: str) -> frozenset[str]:
    """Return the stems of the words, including stop words."""
    return frozenset(map(stem, words.split()))
