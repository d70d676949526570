"""The keys of a telephone, in the order of their event numbers (RFC 4733, table 3)."""

KEYS = "0123456789*#ABCD"
