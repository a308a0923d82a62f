"""Taking in what other memories hold: `run.import_` reads a source and writes what is new in it.

A *reader* (a file each) tells a source as records and faults, one after the other; `taking.py`
checks them as any write is checked, and stores them in batches: it knows no format.
"""
