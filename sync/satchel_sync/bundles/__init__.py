"""Bundles: sync over an air gap. The same messages as online, as parcels that a file can carry."""
