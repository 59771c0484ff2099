"""Advice of messages about ledgers, in the words of Python and of the command line."""

from __future__ import annotations

from shoal._messages import Phrase, Suggestion

ACCEPT = Suggestion("accept", python="Ledger.accept", command="'shoal series verify --backup'")
"""Go on with a ledger that is not the newest."""
ANCHOR = Suggestion("anchor", command="--anchor")
"""Name the file of the anchor."""
CREATE = Suggestion("create", True, command="shoal series start")
"""Create a ledger."""
DROP = Suggestion("direct_identifiers", python="direct_identifiers", command="shoal series start --drop")
"""Name columns of a series that are never published."""
ERASE = Suggestion("erase", python="Series.erase", command="'shoal series erase'")
"""Take people out of a series for good."""
KEY = Suggestion("key", command="--key")
"""Name the file of the key."""
LEAVE_OUT = Suggestion("leave_out_of_series", python="missing_sensitive='drop'", command="--missing-sensitive drop")
"""Leave people without a sensitive value out of a release."""
LIST_IDS = Phrase(
    " Their ids, for you alone: ",
    Suggestion("ids", python="the 'ids' attribute of this error", command="shoal series publish --refused FILE"),
    ".",
)
"""Find the ids of people who prevent a release, as the end of an error."""
NEW_KEY = Suggestion("key_file", command="--new-key")
"""Name the file of a new key."""
RECOVER = Suggestion("recover", python="Ledger.recover()", command="'shoal series undo --interrupted'")
"""Complete or take back a publish that was interrupted."""
RISK = Suggestion("risk", True, python="accept(risk=True)", command="--risk")
"""Accept the risk of a ledger that is not the newest."""
START = Suggestion("start", python="Ledger.start", command="shoal series start")
"""Start a series."""
TAKE_BACK = Suggestion(
    "unpublished", True, python="rollback(unpublished=True)", command="shoal series undo --unpublished"
)
"""Take back a release that no reader has seen."""
