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

-- name: touched_memories
-- Memories that say, or said, something of this source.
select id from memories
where org_id = %(org_id)s and user_id = %(user_id)s and coalesce(origin, source) = %(origin)s
union
select memory_id from memory_versions
where org_id = %(org_id)s and user_id = %(user_id)s and coalesce(origin, source) = %(origin)s
order by 1;

-- name: drop_todos
update todos set status = 'dropped', closed_at = %(now)s, updated_at = %(now)s
where org_id = %(org_id)s and user_id = %(user_id)s and source = %(origin)s and status = 'open';
