"""Tables and a picture of `at_k.py`."""


def write_tables(records, output):
    pass
