"""Facts in words: codes with arguments become sentences."""

from shoal.wording.joined_warnings import join_warnings
from shoal.wording.sentences import SENTENCES
from shoal.wording.spoken import Sentence, code_in_words, sentence, sentences

__all__ = ["SENTENCES", "Sentence", "code_in_words", "join_warnings", "sentence", "sentences"]
