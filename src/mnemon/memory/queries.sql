-- name: by_keys
-- What is held under these keys, globally or for the persona.
select * from memories
where org_id = %(org_id)s and user_id = %(user_id)s and memory_key = any(%(keys)s)
  and (persona_id is null or persona_id = %(persona_id)s);

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
  select array_agg(p.turn_id) as turn_ids, array_agg(p.message_id) as message_ids, array_agg(p.quote) as quotes,
    array_agg(p.at) as times
  from (
    select turn_id, message_id, quote, at from memory_provenance
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
  valid_from, valid_to, stated_at, version, versions, sources, revision, created_at, updated_at, recorded_at)
values (
  %(org_id)s, %(user_id)s, %(id)s, %(persona_id)s, %(type)s, %(content)s, %(entity_refs)s, %(entity_label)s,
  %(entity_type)s, %(fact_type)s, %(attribute)s, %(importance)s, %(pinned)s, %(memory_key)s, %(source)s, %(origin)s,
  %(trust)s, %(trust_level)s, %(claim_of)s,
  %(status)s, %(archive_reason)s, %(archived_at)s, %(note)s, %(confidence)s, %(mentions)s, %(valid_from)s, %(valid_to)s,
  %(stated_at)s, %(version)s, %(versions)s, %(sources)s, %(revision)s, %(created_at)s, %(updated_at)s, %(now)s);

-- name: update_memory
update memories set
  content = %(content)s, entity_refs = %(entity_refs)s, entity_label = %(entity_label)s, importance = %(importance)s,
  pinned = %(pinned)s, memory_key = %(memory_key)s, claim_of = %(claim_of)s, source = %(source)s, origin = %(origin)s, trust = %(trust)s, trust_level = %(trust_level)s, status = %(status)s,
  archive_reason = %(archive_reason)s, archived_at = %(archived_at)s, note = %(note)s, confidence = %(confidence)s,
  mentions = %(mentions)s, valid_from = %(valid_from)s, valid_to = %(valid_to)s, stated_at = %(stated_at)s,
  version = %(version)s, versions = %(versions)s, sources = %(sources)s, revision = %(revision)s,
  updated_at = %(updated_at)s
where org_id = %(org_id)s and user_id = %(user_id)s and id = %(id)s;

-- name: versions
select * from memory_versions
where org_id = %(org_id)s and user_id = %(user_id)s and memory_id = any(%(ids)s)
order by memory_id, valid_from, number;

-- name: insert_version
insert into memory_versions (
  org_id, user_id, memory_id, number, content, importance, confidence, source, origin, trust, trust_level, valid_from, valid_to,
  reason,
  recorded_at)
values (
  %(org_id)s, %(user_id)s, %(memory_id)s, %(number)s, %(content)s, %(importance)s, %(confidence)s, %(source)s,
  %(origin)s, %(trust)s, %(trust_level)s, %(valid_from)s, %(valid_to)s, %(reason)s, %(recorded_at)s);

-- name: move_version
-- A statement that came late changes since when or until when a version held.
update memory_versions set
  valid_from = coalesce(%(valid_from)s, valid_from), valid_to = coalesce(%(valid_to)s, valid_to)
where org_id = %(org_id)s and user_id = %(user_id)s and memory_id = %(memory_id)s and number = %(number)s;

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
