"""The role the server works as: row-level security binds it, which keeps tenants apart, and it may use the tables."""

import psycopg

from mnemon.db.tx import Tx
from mnemon.errors import Misconfigured

_WHO = """
select r.rolsuper or r.rolbypassrls as exempt, r.rolname,
  (select count(*) from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
    and pg_has_role(r.oid, c.relowner, 'usage')) as owned,
  (select count(*) from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'org_id'
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
    and c.relname <> 'work' and not c.relrowsecurity) as open
from pg_roles r where r.rolname = current_user
"""


_UNUSABLE = """
select c.relname::text as name from pg_class c
where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
  and (c.relname in ('work', 'workers') or exists (
    select from pg_attribute a where a.attrelid = c.oid and a.attname = 'org_id' and not a.attisdropped))
  and not (has_schema_privilege('mnemon_app', 'public', 'usage')
    and has_table_privilege('mnemon_app', c.oid, 'select')
    and case when c.relname in ('audit', 'audit_heads')  -- written by a procedure alone
      then coalesce(has_function_privilege('mnemon_app', to_regproc('public.append_audit'), 'execute'), true)
      else has_table_privilege('mnemon_app', c.oid, 'insert') and has_table_privilege('mnemon_app', c.oid, 'update')
        and has_table_privilege('mnemon_app', c.oid, 'delete') end)
order by 1
"""


async def unusable_tables(connection: psycopg.AsyncConnection) -> list[str]:
    """Name the tables that the role mnemon_app may not read and write; none where there is no such role yet."""
    role = await (await connection.execute("select to_regrole('mnemon_app')")).fetchone()
    if role is None or role[0] is None:
        return []
    return [str(name) for (name,) in await (await connection.execute(_UNUSABLE)).fetchall()]


async def assert_bound(tx: Tx) -> None:
    """The transaction's role neither owns a table nor bypasses row-level security, and every tenant table has it."""
    row = await tx.one(_WHO)
    if row["exempt"] or row["owned"]:
        raise Misconfigured(
            f"The server's role {row['rolname']} is not bound by row-level security, so organizations would not be "
            "kept apart. Run `mnemon migrate` with the owner's URL; it makes the role mnemon_app as it must be."
        )
    if row["open"]:
        raise Misconfigured(f"{row['open']} tables have no row-level security. Run `mnemon migrate`.")
