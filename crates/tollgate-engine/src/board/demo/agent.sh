# The agent of the demonstration: it reads what it is asked on standard input and works in the current folder.
#
# It has two roles, which it tells apart by what it is asked. As an implementer it first puts what a user typed into SQL;
# when it is called again, the review has said so, and it repairs that. As a reviewer it only reads, and answers whether
# each acceptance criterion is met.
asked=$(cat)

line() { grep -n "$1" "$2" | head -n 1 | cut -d : -f 1; }

review() {
  if grep -q 'db.execute(f' shop.py; then
    cat <<JSON
{"decision": "rejected", "summary": "The name that a user types becomes part of the SQL, and no test shows that the case does not matter.",
 "criteria": [
  {"id": "C1", "met": "yes", "evidence": "shop.py:$(line 'def find_customers' shop.py) returns the customers with the name in theirs"},
  {"id": "C2", "met": "unclear", "evidence": "no test searches in another case"},
  {"id": "C3", "met": "yes", "evidence": "shop.py:$(line 'if not name.strip' shop.py) returns an empty list"}],
 "findings": []}
JSON
  else
    cat <<JSON
{"decision": "approved", "summary": "The name is bound as a parameter, and the tests try other cases, an attack and an empty name.",
 "criteria": [
  {"id": "C1", "met": "yes", "evidence": "shop.py:$(line 'LIKE ?' shop.py) selects the customers with the name in theirs"},
  {"id": "C2", "met": "yes", "evidence": "shop.py:$(line 'COLLATE NOCASE' shop.py), tested at test_shop.py:$(line 'love' test_shop.py)"},
  {"id": "C3", "met": "yes", "evidence": "shop.py:$(line 'if not name.strip' shop.py), tested at test_shop.py:$(line '" "' test_shop.py)"}],
 "findings": []}
JSON
  fi
}

implement() {
  echo "I was asked for a feature, in $(($(printf '%s\n' "$asked" | wc -l))) lines."
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
}

repair() {
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
}

case $asked in
'# Feature:'* | '# Note from'*)
  if grep -q find_customers shop.py; then repair; else implement; fi
  ;;
*) review ;;
esac
