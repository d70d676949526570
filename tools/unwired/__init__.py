"""Finds what is made and never read, or read and never made: fields, and whole classes of data."""
