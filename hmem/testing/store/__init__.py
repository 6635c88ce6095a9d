"""The parts of the Store suite; `hmem.testing.store_suite` puts them together."""
