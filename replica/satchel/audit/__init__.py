"""Audit: who read and wrote what and when, in two chains that show every change to them.

`writes` lies in satchel.db and grows inside each write transaction, `reads` in activity.db, because
a read writes nothing to the replica. Each names from time to time where the other stands.
"""
