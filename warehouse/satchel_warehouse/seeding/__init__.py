"""A made-up organisation in a tenant of its own, as large as it is asked for: to try reports on."""
