-- name: by_source
-- How much each source says that is held, was held, or is archived.
select coalesce(origin, source) as origin, source, trust, trust_level, 'memory' as kind, status, claim_of is not null as claim,
  count(*) as number, max(updated_at) as last_at
from memories
where org_id = %(org_id)s and user_id = %(user_id)s
group by coalesce(origin, source), source, trust, trust_level, status, claim_of is not null
union all
-- Without states that their source said only once and a withdrawal restored under a later start, as it did before
-- restored states kept their own start (memory/sources/replay.py).
select coalesce(origin, source), source, trust, trust_level, 'version', null, false, count(*), max(recorded_at)
from memory_versions v
where org_id = %(org_id)s and user_id = %(user_id)s and valid_to > valid_from and not exists (
  select from memory_versions w
  where w.org_id = v.org_id and w.user_id = v.user_id and w.memory_id = v.memory_id
    and w.number between 1 and v.number - 1 and w.reason = 'withdrawn' and w.valid_from = v.valid_from)
group by coalesce(origin, source), source, trust, trust_level
union all
select source, source, null, null, 'todo', status, false, count(*), max(updated_at)
from todos
where org_id = %(org_id)s and user_id = %(user_id)s
group by source, status;

-- name: touched_keys
-- The keys under which this source says, or said, something.
select coalesce(claim_of, memory_key) as held_key from memories
where org_id = %(org_id)s and user_id = %(user_id)s and coalesce(origin, source) = %(origin)s
union
select coalesce(m.claim_of, m.memory_key) from memory_versions v
join memories m on m.org_id = v.org_id and m.user_id = v.user_id and m.id = v.memory_id
where v.org_id = %(org_id)s and v.user_id = %(user_id)s and coalesce(v.origin, v.source) = %(origin)s;

-- name: under_keys
-- What is held under these keys for any persona, and the claims beside it.
select * from memories
where org_id = %(org_id)s and user_id = %(user_id)s and (memory_key = any(%(keys)s) or claim_of = any(%(keys)s))
order by id;

-- name: drop_todos
update todos set status = 'dropped', closed_at = %(now)s, updated_at = %(now)s
where org_id = %(org_id)s and user_id = %(user_id)s and source = %(origin)s and status = 'open';

-- name: levels_of_source
-- With which trust the source spoke about the person, in everything of it that is on record.
select source, trust, trust_level, 'memory' as kind from memories
where org_id = %(org_id)s and user_id = %(user_id)s and coalesce(origin, source) = %(origin)s
union
select source, trust, trust_level, 'version' from memory_versions
where org_id = %(org_id)s and user_id = %(user_id)s and coalesce(origin, source) = %(origin)s
union
select source, null, null, 'todo' from todos
where org_id = %(org_id)s and user_id = %(user_id)s and source = %(origin)s;

-- name: people_of_source
-- Whom the source spoke about, and whether something of it is left that was not withdrawn. A negative number: only
-- repeated what another source says (memory/repeats.py).
select user_id, bool_or(stands) as stands from (
  select user_id,
    status = 'ACTIVE' or coalesce(note, '') not in ('withdrawn', 'withdrawn after it was archived') as stands
  from memories
  where org_id = %(org_id)s and coalesce(origin, source) = %(origin)s
  union all
  select user_id, valid_to > valid_from or (number < 0 and reason is distinct from 'withdrawn') from memory_versions
  where org_id = %(org_id)s and coalesce(origin, source) = %(origin)s
  union all
  select user_id, status = 'open' from todos where org_id = %(org_id)s and source = %(origin)s
) as spoken
group by user_id order by user_id;

-- name: what_stands
-- The same, counted: of one person or of everybody.
select count(*) as spoken, count(distinct user_id) filter (where stands) as people,
  count(*) filter (where stands and kind = 'memory') as memories,
  count(*) filter (where stands and kind = 'version') as versions,
  count(*) filter (where stands and kind = 'todo') as todos
from (
  select user_id, 'memory' as kind,
    status = 'ACTIVE' or coalesce(note, '') not in ('withdrawn', 'withdrawn after it was archived') as stands
  from memories
  where org_id = %(org_id)s and user_id = coalesce(%(user_id)s::text, user_id) and coalesce(origin, source) = %(origin)s
  union all
  select user_id, 'version', valid_to > valid_from from memory_versions
  where org_id = %(org_id)s and user_id = coalesce(%(user_id)s::text, user_id) and coalesce(origin, source) = %(origin)s
  union all
  select user_id, 'todo', status = 'open' from todos
  where org_id = %(org_id)s and user_id = coalesce(%(user_id)s::text, user_id) and source = %(origin)s
) as spoken;

-- name: names_of_sources
-- The names of sources, of one person or of everybody.
select coalesce(origin, source) as origin from memories
where org_id = %(org_id)s and user_id = coalesce(%(user_id)s::text, user_id)
union
select coalesce(origin, source) from memory_versions
where org_id = %(org_id)s and user_id = coalesce(%(user_id)s::text, user_id)
union
select source from todos where org_id = %(org_id)s and user_id = coalesce(%(user_id)s::text, user_id)
order by 1;

-- name: memories_of_source
-- What the source says or said that is on record, over all personas, newest first.
select id from memories
where org_id = %(org_id)s and user_id = %(user_id)s and coalesce(origin, source) = %(origin)s
order by updated_at desc, id desc limit %(most)s;

-- name: keep_withdrawal
insert into withdrawals (org_id, user_id, id, origin, at)
values (%(org_id)s, %(user_id)s, %(id)s, %(origin)s, %(at)s)
on conflict (org_id, user_id, id) do nothing;

-- name: withdrawal_is_known
select 1 as found from withdrawals where org_id = %(org_id)s and user_id = %(user_id)s and id = %(id)s;
