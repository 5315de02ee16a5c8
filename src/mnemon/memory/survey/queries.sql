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
-- The memories that speak of the entity or contain the words, each with what it is counted under, unless there are more
-- than so many: no index helps, each text is looked at. The first comparison of texts is of plain letters and cheap; it
-- lets through whatever the second could accept, which knows the letters of every script and is left out where the
-- first says it all.
select m.*, (select external_id from users where org_id = %(org_id)s and user_id = m.user_id) as person
from (
  select status, type, source, persona_id, pinned, user_id, id, updated_at from memories
  where org_id = %(org_id)s
    and (%(entity)s::text is null or %(entity)s = any(entity_refs))
    and (%(plain)s::text is null or lower(content collate "C") like %(plain)s collate "C")
    and (%(words)s::text is null or lower(content) like lower(%(words)s))
  limit %(few)s
) m

-- name: these
-- Memories by their owner and id, latest change first.
select m.*, u.external_id
from unnest(%(users)s::text[], %(ids)s::text[]) as chosen (user_id, id)
join memories m on m.org_id = %(org_id)s and m.user_id = chosen.user_id and m.id = chosen.id
join users u on u.org_id = %(org_id)s and u.user_id = chosen.user_id
order by m.updated_at desc, m.id desc

-- name: standing_of_matches
-- The counts of `standing` over those that match, where there are many. Within a case, because the planner takes a
-- pattern to match next to nothing and would sort what it should hash.
with standing as materialized (
  select status, type, source, persona_id, pinned, user_id, count(*) as number
  from memories
  where org_id = %(org_id)s
    and (%(entity)s::text is null or %(entity)s = any(entity_refs))
    and case when %(plain)s::text is null or lower(content collate "C") like %(plain)s collate "C" then
      %(words)s::text is null or lower(content) like lower(%(words)s) end
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

-- name: page_of_matches
-- A page of many that match: all are found, then put in order.
with matching as materialized (
  select user_id, id, updated_at from memories
  where org_id = %(org_id)s
    and (%(user_id)s::text is null or user_id = %(user_id)s)
    and (%(status)s::text is null or status = %(status)s)
    and (%(type)s::text is null or type = %(type)s)
    and (%(source)s::text is null or source = %(source)s)
    and (%(persona_id)s::text is null or persona_id = %(persona_id)s)
    and (%(pinned)s::boolean is null or pinned = %(pinned)s)
    and (%(entity)s::text is null or %(entity)s = any(entity_refs))
    and (%(plain)s::text is null or lower(content collate "C") like %(plain)s collate "C")
    and (%(words)s::text is null or lower(content) like lower(%(words)s))
)
select m.*, u.external_id
from (select user_id, id from matching order by updated_at desc, id desc limit %(most)s offset %(skip)s) chosen
join memories m on m.org_id = %(org_id)s and m.user_id = chosen.user_id and m.id = chosen.id
join users u on u.org_id = %(org_id)s and u.user_id = chosen.user_id
order by m.updated_at desc, m.id desc

-- name: page_of_latest_matches
-- The same among the memories that changed last: where many match, a page of them is soon full.
select m.*, u.external_id
from (
  select user_id, id
  from (
    select user_id, id, updated_at, status, type, source, persona_id, pinned, entity_refs, content
    from memories where org_id = %(org_id)s order by updated_at desc, id desc limit %(latest)s
  ) latest
  where true
    and (%(user_id)s::text is null or user_id = %(user_id)s)
    and (%(status)s::text is null or status = %(status)s)
    and (%(type)s::text is null or type = %(type)s)
    and (%(source)s::text is null or source = %(source)s)
    and (%(persona_id)s::text is null or persona_id = %(persona_id)s)
    and (%(pinned)s::boolean is null or pinned = %(pinned)s)
    and (%(entity)s::text is null or %(entity)s = any(entity_refs))
    and (%(plain)s::text is null or lower(content collate "C") like %(plain)s collate "C")
    and (%(words)s::text is null or lower(content) like lower(%(words)s))
  order by updated_at desc, id desc limit %(most)s offset %(skip)s
) chosen
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
  and (%(plain)s::text is null or lower(m.content collate "C") like %(plain)s collate "C")
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
