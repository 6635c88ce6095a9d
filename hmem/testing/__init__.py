"""Conformance suites and fakes, shipped for people who bring their own parts."""
