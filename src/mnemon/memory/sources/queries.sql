-- name: by_source
-- How much each source says that is held, was held, or is archived.
select coalesce(origin, source) as origin, source, trust, trust_level, 'memory' as kind, status, claim_of is not null as claim,
  count(*) as number, max(updated_at) as last_at
from memories
where org_id = %(org_id)s and user_id = %(user_id)s
group by coalesce(origin, source), source, trust, trust_level, status, claim_of is not null
union all
select coalesce(origin, source), source, trust, trust_level, 'version', null, false, count(*), max(recorded_at)
from memory_versions
where org_id = %(org_id)s and user_id = %(user_id)s and valid_to > valid_from
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
