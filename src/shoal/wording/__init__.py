"""Facts in words, in every language: where codes with arguments become sentences."""

from shoal.wording.sentences import SENTENCES
from shoal.wording.spoken import Sentence, code_in_words, english, sentence, sentences

__all__ = ["SENTENCES", "Sentence", "code_in_words", "english", "sentence", "sentences"]
