"""Facts in words: codes with arguments become sentences in each language."""

from shoal.wording.joined_warnings import join_warnings
from shoal.wording.sentences import SENTENCES
from shoal.wording.spoken import Sentence, code_in_words, english, sentence, sentences

__all__ = ["SENTENCES", "Sentence", "code_in_words", "english", "join_warnings", "sentence", "sentences"]
