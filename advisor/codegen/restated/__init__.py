"""A hot loop written in plainer Python, so that the back ends can express it.

A ``return`` inside the loop becomes a flag, a variable that is ``None`` at first a number and a
flag, a list of objects one list for each attribute. Each pass edits the user's text and leaves a
program that does the same; the loop of the last text is what is lowered and compiled.
"""
