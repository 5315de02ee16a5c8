-- name: page
-- A page of everyone's memories, latest change first, with the name the application calls the person by.
select m.*, u.external_id
from (
  select user_id, id from memories
  where org_id = %(org_id)s
    and (%(user_id)s::text is null or user_id = %(user_id)s)
    and (%(status)s::text is null or status = %(status)s)
    and (%(type)s::text is null or type = %(type)s)
    and (%(source)s::text is null or source = %(source)s)
    and (%(persona_id)s::text is null or persona_id = %(persona_id)s)
    and (%(pinned)s::boolean is null or pinned = %(pinned)s)
  order by updated_at desc, id desc limit %(most)s offset %(skip)s
) chosen
join memories m on m.org_id = %(org_id)s and m.user_id = chosen.user_id and m.id = chosen.id
join users u on u.org_id = %(org_id)s and u.user_id = chosen.user_id
order by m.updated_at desc, m.id desc

-- name: standing
-- How many memories stand under each combination of values, and whose they are (the top twenty people under all
-- filters but that of the person): one pass over the index memories_survey.
with standing as materialized (
  select status, type, source, persona_id, pinned, user_id, count(*) as number
  from memories where org_id = %(org_id)s
  group by status, type, source, persona_id, pinned, user_id
)
select null::text as person, status, type, source, persona_id, pinned, sum(number)::bigint as number
from standing where %(user_id)s::text is null or user_id = %(user_id)s
group by status, type, source, persona_id, pinned
union all
select u.external_id, null, null, null, null, null, p.number
from (
  select user_id, sum(number)::bigint as number from standing
  where (%(status)s::text is null or status = %(status)s)
    and (%(type)s::text is null or type = %(type)s)
    and (%(source)s::text is null or source = %(source)s)
    and (%(persona_id)s::text is null or persona_id = %(persona_id)s)
    and (%(pinned)s::boolean is null or pinned = %(pinned)s)
  group by user_id order by number desc, user_id limit 20
) p
join users u on u.org_id = %(org_id)s and u.user_id = p.user_id

-- name: matching
-- The same counts over the memories that contain the words or speak of the entity, and the page of them asked for:
-- no index helps there, so each text is looked at once for all of it. The first comparison of texts is of plain letters
-- and cheap; it lets through whatever the second, which knows every script's letters, could accept.
with matching as materialized (
  select status, type, source, persona_id, pinned, user_id, id, updated_at
  from memories
  where org_id = %(org_id)s
    and (%(entity)s::text is null or %(entity)s = any(entity_refs))
    and (%(words)s::text is null
      or (lower(content collate "C") like %(plain)s collate "C" and lower(content) like lower(%(words)s)))
),
standing as materialized (
  select status, type, source, persona_id, pinned, user_id, count(*) as number
  from matching group by status, type, source, persona_id, pinned, user_id
)
select null::text as person, status, type, source, persona_id, pinned, sum(number)::bigint as number,
  null::text as user_id, null::text as id
from standing where %(user_id)s::text is null or user_id = %(user_id)s
group by status, type, source, persona_id, pinned
union all
select u.external_id, null, null, null, null, null, p.number, null, null
from (
  select user_id, sum(number)::bigint as number from standing
  where (%(status)s::text is null or status = %(status)s)
    and (%(type)s::text is null or type = %(type)s)
    and (%(source)s::text is null or source = %(source)s)
    and (%(persona_id)s::text is null or persona_id = %(persona_id)s)
    and (%(pinned)s::boolean is null or pinned = %(pinned)s)
  group by user_id order by number desc, user_id limit 20
) p
join users u on u.org_id = %(org_id)s and u.user_id = p.user_id
union all
select null, null, null, null, null, null, null, c.user_id, c.id
from (
  select user_id, id from matching
  where (%(user_id)s::text is null or user_id = %(user_id)s)
    and (%(status)s::text is null or status = %(status)s)
    and (%(type)s::text is null or type = %(type)s)
    and (%(source)s::text is null or source = %(source)s)
    and (%(persona_id)s::text is null or persona_id = %(persona_id)s)
    and (%(pinned)s::boolean is null or pinned = %(pinned)s)
  order by updated_at desc, id desc limit %(most)s offset %(skip)s
) c

-- name: these
-- Memories by their owner and id, latest change first.
select m.*, u.external_id
from unnest(%(users)s::text[], %(ids)s::text[]) as chosen (user_id, id)
join memories m on m.org_id = %(org_id)s and m.user_id = chosen.user_id and m.id = chosen.id
join users u on u.org_id = %(org_id)s and u.user_id = chosen.user_id
order by m.updated_at desc, m.id desc

-- name: entities
-- What a person's memories speak of most, under all filters but that of the entity.
select ref as value, count(*) as number
from memories m, unnest(m.entity_refs) as ref
where m.org_id = %(org_id)s and m.user_id = %(user_id)s
  and (%(status)s::text is null or m.status = %(status)s)
  and (%(type)s::text is null or m.type = %(type)s)
  and (%(source)s::text is null or m.source = %(source)s)
  and (%(persona_id)s::text is null or m.persona_id = %(persona_id)s)
  and (%(pinned)s::boolean is null or m.pinned = %(pinned)s)
  and (%(words)s::text is null or lower(m.content) like lower(%(words)s))
group by ref order by number desc, ref limit 50

-- name: of_turns
-- What these turns said that is remembered.
select p.turn_id, m.id, m.content, m.type, m.status, m.persona_id, p.quote
from memory_provenance p
join memories m on m.org_id = p.org_id and m.user_id = p.user_id and m.id = p.memory_id
where p.org_id = %(org_id)s and p.user_id = %(user_id)s and p.turn_id = any(%(turns)s)
order by p.turn_id, m.id

-- name: counts
-- What is held, over everyone.
select m.status, m.pinned, count(*) as number
from memories m where m.org_id = %(org_id)s and m.user_id = m.user_id group by m.status, m.pinned
