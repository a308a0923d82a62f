"""Both endpoints of a sync in dicts, for tests and simulation, under the same contract suites."""
