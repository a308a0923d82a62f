"""Setup: write satchel into the settings of the agents' hosts on this machine, and take it out.

`plan` says what each file becomes, `apply` writes it with a backup. A file a host: where its
settings are and what they have to say. `jsonc` and `toml` edit the text and leave the rest of it,
comments too, as it was.
"""
