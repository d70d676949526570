"""The owner of the machine that the tests run on, whom callers and gateways of theirs know."""

from __future__ import annotations

from gateway.doors.judgement import Doors, Keys

OWNER = "the owner of the machine under test"

DOORS = Doors(Keys(OWNER))
