"""The proof that satchel works without a network: `satchel doctor --offline`.

`proof` starts a process where there is no network (`namespace`); that process walks the main paths
of satchel in a folder of its own (`walk`), with `warehouse` as the other end of its bundles.
"""
