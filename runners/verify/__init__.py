"""`keybench verify`: the questions that an engine leaves to a live server, asked of one, and a file with the answers.

A verification is a few runs, one for each load that the questions name. They are recorded as other runs are, so it can
be resumed, and its verdicts are computed from what is recorded.
"""
