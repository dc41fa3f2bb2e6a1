# The agent of the demonstration: it reads what it is asked on standard input and works in the current folder.
#
# The first time it puts what a user typed into SQL. When it is called again, the review has said so, and it repairs
# that: which of the two it is, it sees by what is there.
asked=$(cat)
lines=$(printf '%s\n' "$asked" | wc -l)

if ! grep -q find_customers shop.py; then
  echo "I was asked for a feature, in $((lines)) lines."
  sleep 1
  echo "Reading shop.py: customers are in a table, and nobody can search them."
  sleep 1
  cat >> shop.py <<'PYTHON'


def find_customers(db, name):
    """The customers with `name` in their name."""
    if not name.strip():
        return []
    return db.execute(f"SELECT id, name FROM customers WHERE name LIKE '%{name}%'").fetchall()
PYTHON
  echo "Added find_customers to shop.py. I think that is it."
else
  echo "The review found that the query is built from what a user types."
  sleep 1
  sed '/return db.execute(f/d' shop.py > shop.py.new && mv shop.py.new shop.py
  cat >> shop.py <<'PYTHON'
    query = "SELECT id, name FROM customers WHERE name LIKE ? COLLATE NOCASE"
    return db.execute(query, (f"%{name}%",)).fetchall()
PYTHON
  cat > test_shop.py <<'PYTHON'
import sqlite3

from shop import create, find_customers


def test_a_part_of_the_name_in_any_case_is_enough():
    db = sqlite3.connect(":memory:")
    create(db)
    db.execute("INSERT INTO customers (name) VALUES (?)", ("Ada Lovelace",))
    assert find_customers(db, "love") == [(1, "Ada Lovelace")]
    assert find_customers(db, "' OR 1=1 --") == []
    assert find_customers(db, " ") == []
PYTHON
  sleep 1
  echo "The name is bound now, and test_shop.py tries what an attacker would."
fi
