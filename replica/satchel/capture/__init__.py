"""Capture: what a host wrote of a conversation becomes turns of the chat log.

`keep` is the rule (each turn once, no secrets, durable before the answer), with `clean` and `plan`
as its two steps; `files` captures transcripts by their paths, `hook` when a host calls.
"""
