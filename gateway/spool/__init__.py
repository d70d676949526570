"""Events of calls that wait on the disk for another system: taken from the log, kept, and given."""
