"""Property tests: the same examples in every run, and no clock that judges how long they take."""

from hypothesis import settings

settings.register_profile("parley", deadline=None, derandomize=True)
settings.load_profile("parley")
