"""What holds for every test: a busy machine does not fail one that hypothesis draws examples for."""

from hypothesis import HealthCheck, settings

settings.register_profile("shoal", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("shoal")
