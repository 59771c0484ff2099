"""Facts in words: codes with arguments become sentences."""

from shoal.wording.phrasing import (
    SENTENCES,
    Sentence,
    code_in_words,
    find_code,
    join_warnings,
    say,
    sentence,
    sentences,
)

__all__ = ["SENTENCES", "Sentence", "code_in_words", "find_code", "join_warnings", "say", "sentence", "sentences"]
