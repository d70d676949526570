"""Running a call again from its journal, as it was or with other settings."""
