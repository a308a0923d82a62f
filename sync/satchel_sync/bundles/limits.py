"""Limits of bundles, with their units: what a reader allocates is bounded by these."""

from satchel_sync.limits import ROW_BYTES_MAX

CHUNK_BYTES_MAX = 1024 * 1024
"""Of a chunk before compression; and so of what it may expand to."""
SEALED_BYTES_MAX = CHUNK_BYTES_MAX + 64 * 1024
"""Of a chunk in the file: what does not compress grows a little, and sealing adds a tag."""
CHUNKS_MAX = 65_536
"""So a bundle holds at most 64 GiB before compression."""
RECORD_BYTES_MAX = ROW_BYTES_MAX + 64 * 1024
"""Of one record: the largest row that may travel, with its version and lineage."""
RECORD_ITEMS_MAX = 65_536
"""Of rows, receipts or versions in one record."""
MANIFEST_BYTES_MAX = 8 * 1024 * 1024
"""Of the manifest at the end of the file: 40 bytes a chunk, ids and cursors."""
SIGNATURE_BYTES_MAX = 16 * 1024
RECIPIENTS_MAX = 64
WRAP_BYTES_MAX = 1024
"""Of a bundle's key, sealed for one recipient."""
DEPTH_MAX = 6
"""Of lists and maps within each other."""
RECORD_BYTES_WANTED = 64 * 1024
"""A record is closed when it has grown to this."""
LINEAGE_BYTES_MAX = 8 * 81
