"""Dialogues written in a file: what callers may want, what is asked, done and said.

`format` is the file, `words` to `choices` hear single things in a caller's words, `understanding`
puts them together, `dialogue` goes through a task, and all of it is a function of the history.
"""
