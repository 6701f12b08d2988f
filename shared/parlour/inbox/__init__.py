"""The inbox: conversations that people answer. `thread` has the rules, `threads` the moves, `events` what others read.

A session enters the inbox when somebody or something asks for a person. From then on no turn begins in it, until a
person hands it back or closes it.
"""
