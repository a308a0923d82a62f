"""The warehouse's numbers for Prometheus: as text, and over HTTP through the network policy."""
