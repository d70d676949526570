"""Agents as files: who answers, how they speak and listen, and what they can do.

`format` is the file, `loading` reads one with everything it refers to, `library` keeps a folder of
them up to date.
"""
