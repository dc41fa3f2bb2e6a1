"""A shop and its customers."""


def create(db):
    """Makes the tables."""
    db.execute("CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL)")
