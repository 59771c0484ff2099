from .release.certificate import Certificate as Certificate
from .release.certificate import PublicCertificate as PublicCertificate
from .release.plan import ReleasePlan as ReleasePlan
from .republication import Publication as Publication
from .verbs.audit import Audit as Audit
from .verbs.explore import Exploration as Exploration
from .verbs.inspect import Inspection as Inspection
from .verbs.risk_result import Risk as Risk
