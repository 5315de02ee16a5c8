"""Every way a database URL fails becomes a sentence with cause and next step, and never shows the password."""

import asyncio
from urllib.parse import quote

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from mnemon.db.connect import check_server, describe_target, explain_error, server_shortcoming

URL = "postgresql://mnemon:s3cret%40word@db.example:6432/memory"

SAID = [
    ('FATAL:  password authentication failed for user "mnemon"', "refused the password of role mnemon"),
    ('FATAL:  role "mnemon" does not exist', "createuser"),
    ('FATAL:  no pg_hba.conf entry for host "10.0.0.1", user "mnemon"', "pg_hba.conf"),
    ("server does not support SSL, but SSL was required", "sslmode"),
    ('FATAL:  database "memory" does not exist', "createdb memory"),
    ("failed to resolve host 'db.example': [Errno -2] Name or service not known", "has no address"),
    ("connection to server at 10.0.0.1, port 6432 failed: Connection refused", "Nothing answers at db.example:6432"),
    ("connection timeout expired", "did not answer in time"),
    ("FATAL:  the database system is starting up", "Try again"),
    ("FATAL:  sorry, too many clients already", "max_connections"),
    ('extension "vector" is not available', "Install pgvector"),
    ('permission denied to create extension "vector"', "CREATE EXTENSION vector"),
    ("permission denied to create role", "CREATEROLE"),
    ("permission denied for schema public", "ALTER DATABASE memory OWNER TO mnemon"),
    ("cannot execute CREATE TABLE in a read-only transaction", "primary"),
]


@pytest.mark.parametrize(("said", "step"), SAID)
def test_a_known_failure_gets_its_cause_and_next_step(said: str, step: str) -> None:
    words = explain_error(psycopg.OperationalError(said), URL)
    assert step in words
    assert words.endswith(".")
    assert "s3cret" not in words


@given(said=st.text(max_size=50), secret=st.text("abcdef0123456789@/:%", min_size=12, max_size=20))
def test_no_sentence_ever_holds_the_password(said: str, secret: str) -> None:
    url = f"postgresql://mnemon:{quote(secret, safe='')}@db.example/memory"
    assert secret not in explain_error(psycopg.OperationalError(f"{said} {secret} {said}"), url)


@pytest.mark.parametrize("url", ["postgresql://user:hidden@ho st:99999x/db", "hidden", "mysql://hidden", "a=b"])
def test_a_url_that_is_none_is_said_to_be_none(url: str) -> None:
    with pytest.raises(psycopg.ProgrammingError) as caught:
        conninfo_to_dict(url)
    words = explain_error(caught.value, url)
    assert "not a PostgreSQL URL" in words
    assert "hidden" not in words


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://app:se/cretPW@db.example/memory",
        "postgresql://app:12/cretPW@db.example/memory",
        "postgresql://app:12@cretPW@db.example/memory",
        "postgres://app:se/cretPW@db.example:6432/memory?sslmode=require",
        "postgresql://app:cretPW",
        "postgresql://app:123456789",
    ],
)
@pytest.mark.parametrize("said", [said for said, _ in SAID] + ['invalid integer value "cretPW" for option "port"'])
def test_no_piece_of_a_password_with_special_characters_is_shown(url: str, said: str) -> None:
    words = explain_error(psycopg.OperationalError(said), url)
    assert "%2F" in words
    assert [piece for piece in ("cretPW", "app:se", ":12", "123456789") if piece in words] == []
    assert describe_target(url) is None


@pytest.mark.parametrize(
    "url",
    [
        URL,
        "postgresql://a,b:5433/memory",
        "postgresql://a:1,b:2/memory?user=me@tenant",
        "postgresql:///memory?host=/run/pg",
        "postgresql://[::1]:5432/memory",
    ],
)
def test_a_url_that_is_written_as_it_should_be_is_named(url: str) -> None:
    assert describe_target(url) is not None


def test_a_socket_and_a_missing_name_are_named_plainly() -> None:
    socket, plain = (
        describe_target("postgresql://mnemon@/mnemon?host=/run/pg&port=5432"),
        describe_target("host=::1 user=u"),
    )
    assert socket is not None
    assert socket.place == "/run/pg"
    assert plain is not None
    assert plain.database == "u"


@pytest.mark.parametrize(
    ("server", "vector", "said"),
    [
        (140009, "0.8.0", "PostgreSQL 14"),
        (150001, None, "no pgvector"),
        (160004, "0.7.4", "pgvector 0.7.4"),
        (150001, "0.8.0", None),
        (180004, "0.10.1", None),
    ],
)
def test_a_server_that_lacks_something_is_told_what(server: int, vector: str | None, said: str | None) -> None:
    found = server_shortcoming(server_version=server, vector_version=vector)
    assert (found is None) if said is None else (found is not None and said in found)


async def test_the_server_of_these_tests_will_do(cluster_url: str) -> None:
    async with await psycopg.AsyncConnection.connect(cluster_url) as connection:
        await check_server(connection)


def test_real_failures_are_recognised(cluster_url: str) -> None:
    for wrong, step in (
        ({"dbname": "no_such_database"}, "createdb no_such_database"),
        ({"host": "127.0.0.1", "port": "1"}, "Nothing answers at 127.0.0.1:1"),
        ({"host": "/no/such/folder"}, "Nothing answers at /no/such/folder"),
    ):
        url = make_conninfo(**{**conninfo_to_dict(cluster_url), **wrong})  # type: ignore[arg-type]
        with pytest.raises(psycopg.Error) as caught:
            asyncio.run(_connect(url))
        assert step in explain_error(caught.value, url)


async def _connect(url: str) -> None:
    async with await psycopg.AsyncConnection.connect(url, connect_timeout=5):
        pass


@pytest.mark.parametrize("said", ["connection timeout expired", "Connection refused"])
def test_an_embedded_database_is_explained_without_a_url(said: str) -> None:
    url = "postgresql://mnemon@/mnemon?host=/data/postgres&port=5432"
    words = explain_error(psycopg.OperationalError(said), url, embedded=True)
    assert "embedded PostgreSQL" in words
    assert "MNEMON_DATABASE_URL" not in words
    assert "firewall" not in words
