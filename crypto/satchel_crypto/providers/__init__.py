"""One file for each library that does our cryptography."""
