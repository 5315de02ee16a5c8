"""The assertion that keeps tenants apart: the server works as a role that row-level security binds."""

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
