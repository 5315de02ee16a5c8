-- name: by_keys
-- What is held under these keys, globally or for the persona.
select * from memories
where org_id = %(org_id)s and user_id = %(user_id)s and memory_key = any(%(keys)s)
  and (persona_id is null or persona_id = %(persona_id)s);

-- name: with_claims
-- The same with the claims against `facts` for any persona, and what those claims' own personas hold under these keys.
select * from memories
where org_id = %(org_id)s and user_id = %(user_id)s and memory_key = any(%(keys)s)
  and (persona_id is null or persona_id = %(persona_id)s)
union all
select * from memories
where org_id = %(org_id)s and user_id = %(user_id)s and claim_of = any(%(facts)s)
union all
select f.* from memories c
join memories f on f.org_id = c.org_id and f.user_id = c.user_id and f.persona_id = c.persona_id and f.memory_key = c.claim_of
where c.org_id = %(org_id)s and c.user_id = %(user_id)s and c.claim_of = any(%(facts)s);

-- name: without_slot
-- What has not been read yet as a value of an attribute.
select * from memories
where org_id = %(org_id)s and user_id = %(user_id)s and slot is null
order by id limit %(most)s;

-- name: set_slot
update memories set slot = %(slot)s
where org_id = %(org_id)s and user_id = %(user_id)s and id = %(id)s;

-- name: in_slots
-- The values of these attributes, globally or for the persona.
select * from memories
where org_id = %(org_id)s and user_id = %(user_id)s and slot = any(%(slots)s)
  and (persona_id is null or persona_id = %(persona_id)s);

-- name: about_keys
-- What is known of entities as values of attributes, told to any persona.
select * from memories
where org_id = %(org_id)s and user_id = %(user_id)s and status = 'ACTIVE' and claim_of is null
  and split_part(slot, '|', 1) = any(%(keys)s)
order by id;

-- name: set_aside_by
-- What a merge of entities set aside, told to any persona.
select * from memories
where org_id = %(org_id)s and user_id = %(user_id)s and status = 'ARCHIVED' and archive_reason = 'outdated'
  and (note = %(note)s or starts_with(note, %(note)s || ': '))
order by id;

-- name: active_of
-- What may be taken back: the latest active memories, globally or for the persona.
select * from memories
where org_id = %(org_id)s and user_id = %(user_id)s and status = 'ACTIVE' and claim_of is null
  and (persona_id is null or persona_id = %(persona_id)s)
order by updated_at desc, id limit %(most)s;

-- name: under_key
-- What is held under the key for any persona, and the claims that contradict it.
select * from memories
where org_id = %(org_id)s and user_id = %(user_id)s and (memory_key = %(key)s or claim_of = %(key)s)
order by id;

-- name: by_ids
select * from memories
where org_id = %(org_id)s and user_id = %(user_id)s and id = any(%(ids)s);

-- name: with_provenance
-- Memories, each with its latest statements, newest first.
select m.*, told.*
from memories m
cross join lateral (
  select array_agg(p.content_hash) as all_content_hash, array_agg(p.turn_id) as all_turn_id,
    array_agg(p.message_id) as all_message_id, array_agg(p.starts) as all_starts, array_agg(p.ends) as all_ends,
    array_agg(p.quote) as all_quote, array_agg(p.at) as all_at
  from (
    select content_hash, turn_id, message_id, starts, ends, quote, at from memory_provenance
    where org_id = m.org_id and user_id = m.user_id and memory_id = m.id
    order by at desc, message_id desc, starts desc
    limit %(most)s) p) told
where m.org_id = %(org_id)s and m.user_id = %(user_id)s and m.id = any(%(ids)s);

-- name: owner
-- Whose memory this is.
select user_id from memories where org_id = %(org_id)s and id = %(id)s limit 1;

-- name: insert_memory
insert into memories (
  org_id, user_id, id, persona_id, type, content, entity_refs, entity_label, entity_type, fact_type, attribute,
  importance, pinned, memory_key, source, origin, trust, trust_level, claim_of, status, archive_reason, archived_at, note,
  confidence, mentions,
  valid_from, valid_to, stated_at, version, versions, sources, slot, entity_labels,
  entity_roles, dates, unpinned_importance, revision, created_at, updated_at, recorded_at)
values (
  %(org_id)s, %(user_id)s, %(id)s, %(persona_id)s, %(type)s, %(content)s, %(entity_refs)s, %(entity_label)s,
  %(entity_type)s, %(fact_type)s, %(attribute)s, %(importance)s, %(pinned)s, %(memory_key)s, %(source)s, %(origin)s,
  %(trust)s, %(trust_level)s, %(claim_of)s,
  %(status)s, %(archive_reason)s, %(archived_at)s, %(note)s, %(confidence)s, %(mentions)s, %(valid_from)s, %(valid_to)s,
  %(stated_at)s, %(version)s, %(versions)s, %(sources)s, %(slot)s, %(entity_labels)s,
  %(entity_roles)s, %(dates)s, %(unpinned_importance)s, %(revision)s, %(created_at)s, %(updated_at)s, %(now)s);

-- name: update_memory
update memories set
  content = %(content)s, entity_refs = %(entity_refs)s, entity_label = %(entity_label)s, importance = %(importance)s,
  pinned = %(pinned)s, memory_key = %(memory_key)s, claim_of = %(claim_of)s, source = %(source)s, origin = %(origin)s, trust = %(trust)s, trust_level = %(trust_level)s, status = %(status)s,
  archive_reason = %(archive_reason)s, archived_at = %(archived_at)s, note = %(note)s, confidence = %(confidence)s,
  mentions = %(mentions)s, valid_from = %(valid_from)s, valid_to = %(valid_to)s, stated_at = %(stated_at)s,
  version = %(version)s, versions = %(versions)s, sources = %(sources)s, slot = %(slot)s, revision = %(revision)s,
  entity_labels = %(entity_labels)s, entity_roles = %(entity_roles)s, dates = %(dates)s,
  unpinned_importance = %(unpinned_importance)s,
  updated_at = %(updated_at)s
where org_id = %(org_id)s and user_id = %(user_id)s and id = %(id)s;

-- name: versions
select * from memory_versions
where org_id = %(org_id)s and user_id = %(user_id)s and memory_id = any(%(ids)s)
order by memory_id, valid_from, number;

-- name: insert_version
insert into memory_versions (
  org_id, user_id, memory_id, number, content, importance, confidence, source, origin, trust, trust_level, valid_from, valid_to,
  reason, mentions,
  recorded_at)
values (
  %(org_id)s, %(user_id)s, %(memory_id)s, %(number)s, %(content)s, %(importance)s, %(confidence)s, %(source)s,
  %(origin)s, %(trust)s, %(trust_level)s, %(valid_from)s, %(valid_to)s, %(reason)s, %(mentions)s, %(recorded_at)s);

-- name: move_version
-- A statement that came late changes since when or until when a version held.
update memory_versions set
  valid_from = coalesce(%(valid_from)s, valid_from), valid_to = coalesce(%(valid_to)s, valid_to)
where org_id = %(org_id)s and user_id = %(user_id)s and memory_id = %(memory_id)s and number = %(number)s;

-- name: mention_versions
-- The words of these past versions were said once more.
update memory_versions set mentions = mentions + 1
where org_id = %(org_id)s and user_id = %(user_id)s and memory_id = %(memory_id)s and number = any(%(numbers)s);

-- name: withdraw_versions
-- The source of these versions was taken back: they count as never said.
update memory_versions set valid_to = valid_from, reason = 'withdrawn'
where org_id = %(org_id)s and user_id = %(user_id)s and memory_id = %(memory_id)s and number = any(%(numbers)s);

-- name: provenance
-- The latest statements of each memory, newest first.
select * from (
  select *, row_number() over (partition by memory_id order by at desc, message_id desc, starts desc) as place
  from memory_provenance
  where org_id = %(org_id)s and user_id = %(user_id)s and memory_id = any(%(ids)s)
) told
where place <= %(most)s
order by memory_id, place;

-- name: told_before
-- Which of these statements are on record.
select memory_id, message_id, starts, ends, content_hash from memory_provenance
where org_id = %(org_id)s and user_id = %(user_id)s and message_id = any(%(message_ids)s);

-- name: insert_provenance
insert into memory_provenance (
  org_id, user_id, memory_id, message_id, starts, ends, content_hash, turn_id, session_id, quote, at)
values (
  %(org_id)s, %(user_id)s, %(memory_id)s, %(message_id)s, %(starts)s, %(ends)s, %(content_hash)s, %(turn_id)s,
  %(session_id)s, %(quote)s, %(at)s)
on conflict do nothing;

-- name: sessions_mentioning
-- In how many sessions each memory came up.
select memory_id, count(distinct session_id)::integer as sessions from memory_provenance
where org_id = %(org_id)s and user_id = %(user_id)s and memory_id = any(%(ids)s)
group by memory_id;

-- name: set_importance
update memories set importance = %(importance)s
where org_id = %(org_id)s and user_id = %(user_id)s and id = %(id)s and not pinned;

-- name: listed
-- A page of what the persona may see, newest first.
select * from memories
where org_id = %(org_id)s and user_id = %(user_id)s
  and (persona_id is null or persona_id = %(persona_id)s)
  and status = coalesce(%(status)s, status)
  and type = coalesce(%(type)s, type)
  and (%(entities)s::text[] is null or entity_refs && %(entities)s::text[])
  and (%(q)s::text is null or position(lower(%(q)s::text) in lower(content)) > 0)
  and (%(origin)s::text is null or coalesce(origin, source) = %(origin)s::text)
  and (%(before_at)s::timestamptz is null
       or (created_at, id) < (%(before_at)s::timestamptz, %(before_id)s::text))
order by created_at desc, id desc
limit %(most)s;

-- name: pinned
-- The foundation: what is pinned, then what the person's profile was seeded with.
select * from memories
where org_id = %(org_id)s and user_id = %(user_id)s and status = 'ACTIVE'
  and (persona_id is null or persona_id = %(persona_id)s)
  and (pinned or source = 'seeded_profile')
order by pinned desc, importance desc, updated_at desc, id
limit %(most)s;

-- name: sharing_entities
-- What may stand on the cards of these entities.
select * from memories
where org_id = %(org_id)s and user_id = %(user_id)s and status = 'ACTIVE' and importance >= 2 and claim_of is null
  and (persona_id is null or persona_id = %(persona_id)s)
  and entity_refs && %(keys)s::text[]
order by pinned desc, importance desc, created_at desc, id;

-- name: count_active
select count(*) as number from memories where org_id = %(org_id)s and user_id = %(user_id)s and status = 'ACTIVE';

-- name: of_other_voices
-- What is held that is not the person's own, the newest first.
select trust, trust_level, origin, source, content from memories
where org_id = %(org_id)s and user_id = %(user_id)s and status = 'ACTIVE' and trust = 'external'
  and (persona_id is null or persona_id = %(persona_id)s)
order by updated_at desc, id limit %(most)s;

-- name: vocabulary
-- Under which names the persona's facts stand: entity labels and attributes, the most recently used first. Names that
-- other sources chose stay out: a name can be a sentence, and a model reads it at every later turn.
select entity_type, entity_label, attribute, max(updated_at) as used from memories
where org_id = %(org_id)s and user_id = %(user_id)s and status = 'ACTIVE'
  and (persona_id is null or persona_id = %(persona_id)s) and (attribute is not null or entity_label is not null)
  and trust = 'person'
group by entity_type, entity_label, attribute
order by used desc, entity_label, attribute
limit %(most)s;

-- name: latest_facts
-- The person's own facts that the persona may see, the latest first.
select entity_label, attribute, left(content, 300) as content from memories
where org_id = %(org_id)s and user_id = %(user_id)s and status = 'ACTIVE'
  and (persona_id is null or persona_id = %(persona_id)s) and trust = 'person'
order by updated_at desc, id desc
limit %(most)s;

-- name: join_by_hash
-- One person's rows are joined with their vectors. The planner knows too little of one person's share and would take
-- them for a single row each, which costs the square of their number.
set local enable_nestloop = off;

-- name: join_as_usual
set local enable_nestloop = on;

-- name: save
insert into embeddings (org_id, user_id, model, kind, id, vector, revision)
values (%(org_id)s, %(user_id)s, %(model)s, %(kind)s, %(id)s, %(vector)s::halfvec, %(revision)s)
on conflict (org_id, user_id, model, kind, id) do update set vector = excluded.vector, revision = excluded.revision;

-- name: displace
-- The current text became a version: its vectors go with it.
update embeddings set kind = 'version', id = %(memory_id)s || '/' || %(number)s, revision = %(revision)s
where org_id = %(org_id)s and user_id = %(user_id)s and kind = 'memory' and id = %(memory_id)s;

-- name: drop
delete from embeddings
where org_id = %(org_id)s and user_id = %(user_id)s and kind = 'memory' and id = %(memory_id)s;

-- name: pending
-- What of the person has no vector of this model yet, memories first.
select kind, id, content from (
  select 1 as place, 'memory' as kind, m.id, m.content
  from memories m
  where m.org_id = %(org_id)s and m.user_id = %(user_id)s
    and not exists (select from embeddings e where e.org_id = m.org_id and e.user_id = m.user_id
                    and e.model = %(model)s and e.kind = 'memory' and e.id = m.id)
  union all
  select 2, 'version', v.memory_id || '/' || v.number, v.content
  from memory_versions v
  where v.org_id = %(org_id)s and v.user_id = %(user_id)s and v.number > 0
    and not exists (select from embeddings e where e.org_id = v.org_id and e.user_id = v.user_id
                    and e.model = %(model)s and e.kind = 'version' and e.id = v.memory_id || '/' || v.number)
  union all
  select 3, 'message', s.id, s.content
  from messages s
  where s.org_id = %(org_id)s and s.user_id = %(user_id)s
    and not exists (select from embeddings e where e.org_id = s.org_id and e.user_id = s.user_id
                    and e.model = %(model)s and e.kind = 'message' and e.id = s.id)
) waiting
order by place, id
limit %(most)s;

-- name: count_texts
-- All that can have a vector, and how much of it has one of this model, over every person of the organization.
select
  (select count(user_id) from memories where org_id = %(org_id)s)
  + (select count(user_id) from memory_versions where org_id = %(org_id)s and number > 0)
  + (select count(user_id) from messages where org_id = %(org_id)s) as texts,
  (select count(user_id) from embeddings where org_id = %(org_id)s and model = %(model)s) as done;

-- name: drop_others
delete from embeddings where org_id = %(org_id)s and user_id = %(user_id)s and model <> %(model)s;

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
-- What these turns said that is remembered, with the hash of the text it was remembered as.
select p.turn_id, p.content_hash, m.id, m.content, m.versions, m.type, m.status, m.persona_id, p.quote
from memory_provenance p
join memories m on m.org_id = p.org_id and m.user_id = p.user_id and m.id = p.memory_id
where p.org_id = %(org_id)s and p.user_id = %(user_id)s and p.turn_id = any(%(turns)s)
order by p.turn_id, m.id

-- name: counts
-- What is held, over everyone.
select m.status, m.pinned, count(*) as number
from memories m where m.org_id = %(org_id)s and m.user_id = m.user_id group by m.status, m.pinned

-- name: tombstones
select hash, at from tombstones where org_id = %(org_id)s and user_id = %(user_id)s and hash = any(%(hashes)s);

-- name: lay_tombstone
insert into tombstones (org_id, user_id, hash, at) values (%(org_id)s, %(user_id)s, %(hash)s, %(at)s)
on conflict (org_id, user_id, hash) do update set at = greatest(tombstones.at, excluded.at);
