# The public names of shoal and where each one is defined.

# Packages of names.
from . import algorithms as algorithms
from . import attacks as attacks
from . import datasets as datasets
from . import errors as errors
from . import grouping as grouping
from . import models as models
from . import results as results
from . import sklearn as sklearn
from ._version import __version__ as __version__
from .errors import ReleaseWarning as ReleaseWarning

# Coarsenings and hierarchies.
from .hierarchy import Bins as Bins
from .hierarchy import BottomCode as BottomCode
from .hierarchy import DatePart as DatePart
from .hierarchy import Hierarchy as Hierarchy
from .hierarchy import Level as Level
from .hierarchy import Prefix as Prefix
from .hierarchy import Round as Round
from .hierarchy import SinceFirst as SinceFirst
from .hierarchy import TopCode as TopCode
from .hierarchy import safe_harbor as safe_harbor

# Privacy models.
from .models import AlphaKAnonymity as AlphaKAnonymity
from .models import AverageRisk as AverageRisk
from .models import BetaLikeness as BetaLikeness
from .models import DeltaPresence as DeltaPresence
from .models import DifferentialPrivacy as DifferentialPrivacy
from .models import KAnonymity as KAnonymity
from .models import KEAnonymity as KEAnonymity
from .models import KMap as KMap
from .models import LDiversity as LDiversity
from .models import TCloseness as TCloseness
from .release.release import Release as Release
from .report import About as About

# Publishing again and again.
from .republication import Ledger as Ledger
from .republication import Series as Series

# What is requested.
from .request.request import Request as Request
from .verbs.anonymize import anonymize as anonymize

# Inspecting, publishing, auditing, measuring risk, comparing.
from .verbs.apply import apply as apply
from .verbs.audit import audit as audit
from .verbs.audit import check_release as check_release
from .verbs.evaluate import evaluate as evaluate
from .verbs.explore import explore as explore
from .verbs.inspect import inspect as inspect
from .verbs.load import load as load
from .verbs.provenance import provenance as provenance
from .verbs.risk import risk as risk
