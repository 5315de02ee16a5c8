-- The schema as migrations leave it, for reading. Written by scripts/write_schema.py.

CREATE PROCEDURE public.append_audit(IN entry_org text, IN entry_id text, IN entry_at timestamp with time zone, IN entry_actor text, IN entry_action text, IN entry_target text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  -- A head is locked until its transaction is on disk, so writers of one lane commit one after the other. Connections
  -- of one pool were made one after the other and rarely share a lane. All entries of a transaction go to one lane, and
  -- its head is the last row that the transaction locks, so no two wait for each other.
  lanes constant integer := 16;
  own constant smallint := pg_backend_pid() % lanes;
  place bigint;
  link bytea;
  other_lane smallint;
  other_seq bigint;
  other_hash bytea;
begin
  if entry_org is distinct from current_setting('mnemon.org', true) then
    raise insufficient_privilege using message = 'the entry belongs to another organization';
  end if;
  select seq, hash into place, link from public.audit_heads where org_id = entry_org and lane = own for update;
  if not found then
    -- The first entry, or somebody removed the head: then the lane goes on after what is there, and its chain is broken.
    insert into public.audit_heads (org_id, lane, seq, hash)
    select entry_org, own, coalesce(max(seq), 0), '' from public.audit where org_id = entry_org and lane = own
    on conflict (org_id, lane) do nothing;
    select seq, hash into strict place, link
    from public.audit_heads where org_id = entry_org and lane = own for update;
  end if;
  place := place + 1;
  -- The other lanes in turn, read without a lock: any head that was committed will do.
  select lane, seq, hash into other_lane, other_seq, other_hash
  from (
    select lane, seq, hash, row_number() over (order by lane) - 1 as turn, count(*) over () as number
    from public.audit_heads where org_id = entry_org and lane <> own) others
  where turn = place % number;
  link := public.audit_hash(
    link, entry_org, own, place, entry_id, entry_at, entry_actor, entry_action, entry_target,
    other_lane, other_seq, other_hash);
  insert into public.audit
    (org_id, id, at, actor, action, target, lane, seq, hash, linked_lane, linked_seq, linked_hash)
  values (
    entry_org, entry_id, entry_at, entry_actor, entry_action, entry_target, own, place, link,
    other_lane, other_seq, other_hash);
  update public.audit_heads set seq = place, hash = link where org_id = entry_org and lane = own;
end $$;

CREATE FUNCTION public.audit_hash(previous bytea, entry_org text, entry_lane smallint, entry_seq bigint, entry_id text, entry_at timestamp with time zone, entry_actor text, entry_action text, entry_target text, other_lane smallint, other_seq bigint, other_hash bytea) RETURNS bytea
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
  select sha256(previous || convert_to(jsonb_build_array(
    entry_org, entry_lane, entry_seq, entry_id, (extract(epoch from entry_at) * 1000000)::bigint, entry_actor,
    entry_action, entry_target, other_lane, other_seq, encode(other_hash, 'hex'))::text, 'UTF8'))
$$;

CREATE FUNCTION public.keep_result() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
  if old.status = 'succeeded' and (new.result is distinct from old.result or new.status <> old.status
      or new.card_type <> old.card_type or new.headline is distinct from old.headline) then
    raise exception 'run % has succeeded; its result does not change', old.run_id using errcode = 'check_violation';
  end if;
  return new;
end $$;

CREATE TABLE public.active_embedders (
    org_id text NOT NULL,
    model text NOT NULL,
    since timestamp with time zone NOT NULL,
    settled boolean DEFAULT true NOT NULL
);

CREATE TABLE public.agent_messages (
    org_id text NOT NULL,
    message_id text NOT NULL,
    agent_id text NOT NULL,
    turn_id text NOT NULL,
    seq bigint NOT NULL,
    role text NOT NULL,
    content text NOT NULL,
    at timestamp with time zone NOT NULL
);
ALTER TABLE ONLY public.agent_messages ALTER COLUMN content SET STATISTICS 0;

ALTER TABLE public.agent_messages ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.agent_messages_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.agent_state_journal (
    org_id text NOT NULL,
    user_id text NOT NULL,
    session_id text NOT NULL,
    seq bigint NOT NULL,
    turn_id text,
    who text NOT NULL,
    reason text NOT NULL,
    update jsonb NOT NULL,
    at timestamp with time zone NOT NULL,
    recorded_at timestamp with time zone NOT NULL
);
ALTER TABLE ONLY public.agent_state_journal ALTER COLUMN reason SET STATISTICS 0;
ALTER TABLE ONLY public.agent_state_journal ALTER COLUMN update SET STATISTICS 0;

CREATE TABLE public.agent_states (
    org_id text NOT NULL,
    user_id text NOT NULL,
    session_id text NOT NULL,
    version bigint NOT NULL,
    document jsonb NOT NULL,
    updated_at timestamp with time zone NOT NULL
);
ALTER TABLE ONLY public.agent_states ALTER COLUMN document SET STATISTICS 0;

CREATE TABLE public.agents (
    org_id text NOT NULL,
    agent_id text NOT NULL,
    name text NOT NULL,
    adapter text NOT NULL,
    skill text NOT NULL,
    default_prompt text NOT NULL,
    schedule text,
    next_slot timestamp with time zone,
    role text NOT NULL,
    team text[] NOT NULL,
    card_type text NOT NULL,
    config jsonb NOT NULL,
    asked bigint DEFAULT 0 NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL
);

CREATE TABLE public.audit (
    org_id text NOT NULL,
    id text NOT NULL,
    at timestamp with time zone NOT NULL,
    actor text NOT NULL,
    action text NOT NULL,
    target text,
    lane smallint NOT NULL,
    seq bigint NOT NULL,
    hash bytea NOT NULL,
    linked_lane smallint,
    linked_seq bigint,
    linked_hash bytea
);
ALTER TABLE ONLY public.audit ALTER COLUMN target SET STATISTICS 0;

CREATE TABLE public.audit_heads (
    org_id text NOT NULL,
    lane smallint NOT NULL,
    seq bigint NOT NULL,
    hash bytea NOT NULL
)
WITH (fillfactor='50');

CREATE TABLE public.chat_sessions (
    org_id text NOT NULL,
    agent_id text NOT NULL,
    session_id text,
    generation integer DEFAULT 0 NOT NULL,
    last_reset_at timestamp with time zone,
    updated_at timestamp with time zone
);

CREATE TABLE public.curator_runs (
    org_id text NOT NULL,
    user_id text NOT NULL,
    id text NOT NULL,
    folded text[] NOT NULL,
    archived text[] NOT NULL,
    rejected jsonb NOT NULL,
    made_by text NOT NULL,
    at timestamp with time zone NOT NULL
);
ALTER TABLE ONLY public.curator_runs ALTER COLUMN rejected SET STATISTICS 0;

CREATE TABLE public.embeddings (
    org_id text NOT NULL,
    user_id text NOT NULL,
    model text NOT NULL,
    kind text NOT NULL,
    id text NOT NULL,
    vector public.halfvec NOT NULL,
    revision bigint NOT NULL,
    CONSTRAINT embeddings_kind_check CHECK ((kind = ANY (ARRAY['memory'::text, 'message'::text, 'version'::text])))
);
ALTER TABLE ONLY public.embeddings ALTER COLUMN vector SET STATISTICS 0;
ALTER TABLE ONLY public.embeddings ALTER COLUMN vector SET STORAGE PLAIN;

CREATE TABLE public.engagement_journal (
    org_id text NOT NULL,
    seq bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    recorded_at timestamp with time zone NOT NULL,
    turn_id text,
    subject_user_id text,
    who text NOT NULL,
    reason text NOT NULL,
    delta jsonb NOT NULL
);
ALTER TABLE ONLY public.engagement_journal ALTER COLUMN reason SET STATISTICS 0;
ALTER TABLE ONLY public.engagement_journal ALTER COLUMN delta SET STATISTICS 0;

CREATE TABLE public.engagement_turns (
    org_id text NOT NULL,
    turn_id text NOT NULL,
    subject_user_id text NOT NULL,
    at timestamp with time zone NOT NULL,
    has_content boolean DEFAULT true NOT NULL
);

CREATE TABLE public.engagements (
    org_id text NOT NULL,
    seq bigint NOT NULL,
    heard bigint NOT NULL,
    document jsonb,
    updated_at timestamp with time zone NOT NULL
);
ALTER TABLE ONLY public.engagements ALTER COLUMN document SET STATISTICS 0;

CREATE TABLE public.entities_kept_apart (
    org_id text NOT NULL,
    user_id text NOT NULL,
    one text NOT NULL,
    two text NOT NULL,
    at timestamp with time zone NOT NULL,
    CONSTRAINT entities_kept_apart_check CHECK ((one < two))
);
ALTER TABLE ONLY public.entities_kept_apart ALTER COLUMN one SET STATISTICS 0;
ALTER TABLE ONLY public.entities_kept_apart ALTER COLUMN two SET STATISTICS 0;

CREATE TABLE public.entity_aliases (
    org_id text NOT NULL,
    user_id text NOT NULL,
    alias text NOT NULL,
    target text NOT NULL,
    asked_from text NOT NULL,
    merge_id text NOT NULL,
    made_by text NOT NULL,
    at timestamp with time zone NOT NULL,
    CONSTRAINT entity_aliases_made_by_check CHECK ((made_by = ANY (ARRAY['person'::text, 'rule'::text])))
);
ALTER TABLE ONLY public.entity_aliases ALTER COLUMN alias SET STATISTICS 0;
ALTER TABLE ONLY public.entity_aliases ALTER COLUMN target SET STATISTICS 0;
ALTER TABLE ONLY public.entity_aliases ALTER COLUMN asked_from SET STATISTICS 0;

CREATE TABLE public.entity_merges (
    org_id text NOT NULL,
    user_id text NOT NULL,
    id text NOT NULL,
    source text NOT NULL,
    target text NOT NULL,
    made_by text NOT NULL,
    reasons text[] NOT NULL,
    at timestamp with time zone NOT NULL,
    split_at timestamp with time zone,
    CONSTRAINT entity_merges_made_by_check CHECK ((made_by = ANY (ARRAY['person'::text, 'rule'::text])))
);
ALTER TABLE ONLY public.entity_merges ALTER COLUMN source SET STATISTICS 0;
ALTER TABLE ONLY public.entity_merges ALTER COLUMN target SET STATISTICS 0;
ALTER TABLE ONLY public.entity_merges ALTER COLUMN reasons SET STATISTICS 0;

CREATE TABLE public.exchanges (
    org_id text NOT NULL,
    turn_id text NOT NULL,
    agent_id text NOT NULL,
    status text NOT NULL,
    session_id_before text,
    session_id_after text,
    memory_generation integer,
    usage jsonb NOT NULL,
    created_at timestamp with time zone NOT NULL,
    finished_at timestamp with time zone,
    error text
);
ALTER TABLE ONLY public.exchanges ALTER COLUMN error SET STATISTICS 0;

CREATE TABLE public.forgotten (
    org_id text NOT NULL,
    id text NOT NULL,
    kind text NOT NULL,
    subject text NOT NULL,
    memory_ids text[] NOT NULL,
    spans jsonb NOT NULL,
    stones bytea[] NOT NULL,
    receipt jsonb NOT NULL,
    at timestamp with time zone NOT NULL,
    CONSTRAINT forgotten_kind_check CHECK ((kind = ANY (ARRAY['person'::text, 'memory'::text])))
);

CREATE TABLE public.keys (
    org_id text NOT NULL,
    key_id text NOT NULL,
    name text NOT NULL,
    secret bytea NOT NULL,
    grants text[] NOT NULL,
    bound_user text,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone,
    revoked_at timestamp with time zone,
    used_at timestamp with time zone
);
ALTER TABLE ONLY public.keys ALTER COLUMN name SET STATISTICS 0;
ALTER TABLE ONLY public.keys ALTER COLUMN bound_user SET STATISTICS 0;

CREATE TABLE public.memories (
    org_id text NOT NULL,
    user_id text NOT NULL,
    id text NOT NULL,
    persona_id text,
    type text NOT NULL,
    content text NOT NULL,
    entity_refs text[] DEFAULT '{}'::text[] NOT NULL,
    entity_label text,
    entity_type text NOT NULL,
    fact_type text NOT NULL,
    attribute text,
    importance smallint NOT NULL,
    pinned boolean DEFAULT false NOT NULL,
    memory_key text NOT NULL,
    source text NOT NULL,
    trust text NOT NULL,
    status text DEFAULT 'ACTIVE'::text NOT NULL,
    archive_reason text,
    archived_at timestamp with time zone,
    note text,
    confidence double precision NOT NULL,
    mentions integer DEFAULT 1 NOT NULL,
    valid_from timestamp with time zone NOT NULL,
    valid_to timestamp with time zone,
    stated_at timestamp with time zone NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    versions integer DEFAULT 1 NOT NULL,
    sources text[] DEFAULT '{}'::text[] NOT NULL,
    revision bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    recorded_at timestamp with time zone NOT NULL,
    trust_level text,
    origin text,
    claim_of text,
    slot text,
    entity_labels text[],
    entity_roles text[],
    dates text[],
    unpinned_importance smallint,
    CONSTRAINT memories_archive_reason_check CHECK ((archive_reason = ANY (ARRAY['outdated'::text, 'wrong'::text, 'folded'::text, 'unwanted'::text]))),
    CONSTRAINT memories_check CHECK (((NOT pinned) OR ((importance = 3) AND (status = 'ACTIVE'::text)))),
    CONSTRAINT memories_check1 CHECK (((status = 'ARCHIVED'::text) = ((archive_reason IS NOT NULL) AND (archived_at IS NOT NULL)))),
    CONSTRAINT memories_confidence_check CHECK (((confidence >= (0)::double precision) AND (confidence <= (1)::double precision))),
    CONSTRAINT memories_importance_check CHECK (((importance >= 0) AND (importance <= 3))),
    CONSTRAINT memories_status_check CHECK ((status = ANY (ARRAY['ACTIVE'::text, 'ARCHIVED'::text]))),
    CONSTRAINT memories_trust_check CHECK ((trust = ANY (ARRAY['person'::text, 'external'::text]))),
    CONSTRAINT memories_trust_level_check CHECK ((trust_level = ANY (ARRAY['operator'::text, 'person'::text, 'agent'::text, 'tool'::text, 'document'::text, 'unknown'::text]))),
    CONSTRAINT memories_type_check CHECK ((type = ANY (ARRAY['PROFILE'::text, 'PEOPLE'::text, 'PROJECT'::text])))
);
ALTER TABLE ONLY public.memories ALTER COLUMN content SET STATISTICS 0;
ALTER TABLE ONLY public.memories ALTER COLUMN entity_refs SET STATISTICS 0;
ALTER TABLE ONLY public.memories ALTER COLUMN entity_label SET STATISTICS 0;
ALTER TABLE ONLY public.memories ALTER COLUMN attribute SET STATISTICS 0;
ALTER TABLE ONLY public.memories ALTER COLUMN memory_key SET STATISTICS 0;
ALTER TABLE ONLY public.memories ALTER COLUMN source SET STATISTICS 0;
ALTER TABLE ONLY public.memories ALTER COLUMN note SET STATISTICS 0;
ALTER TABLE ONLY public.memories ALTER COLUMN origin SET STATISTICS 0;
ALTER TABLE ONLY public.memories ALTER COLUMN claim_of SET STATISTICS 0;
ALTER TABLE ONLY public.memories ALTER COLUMN slot SET STATISTICS 0;
ALTER TABLE ONLY public.memories ALTER COLUMN entity_labels SET STATISTICS 0;
ALTER TABLE ONLY public.memories ALTER COLUMN entity_roles SET STATISTICS 0;
ALTER TABLE ONLY public.memories ALTER COLUMN dates SET STATISTICS 0;

CREATE TABLE public.memory_provenance (
    org_id text NOT NULL,
    user_id text NOT NULL,
    memory_id text NOT NULL,
    message_id text NOT NULL,
    starts integer NOT NULL,
    ends integer NOT NULL,
    content_hash text NOT NULL,
    turn_id text NOT NULL,
    session_id text NOT NULL,
    quote text NOT NULL,
    at timestamp with time zone NOT NULL
);
ALTER TABLE ONLY public.memory_provenance ALTER COLUMN quote SET STATISTICS 0;

CREATE TABLE public.memory_versions (
    org_id text NOT NULL,
    user_id text NOT NULL,
    memory_id text NOT NULL,
    number integer NOT NULL,
    content text NOT NULL,
    importance smallint NOT NULL,
    confidence double precision NOT NULL,
    source text NOT NULL,
    trust text NOT NULL,
    valid_from timestamp with time zone NOT NULL,
    valid_to timestamp with time zone NOT NULL,
    reason text,
    recorded_at timestamp with time zone NOT NULL,
    trust_level text,
    origin text,
    mentions integer DEFAULT 1 NOT NULL,
    CONSTRAINT memory_versions_trust_level_check CHECK ((trust_level = ANY (ARRAY['operator'::text, 'person'::text, 'agent'::text, 'tool'::text, 'document'::text, 'unknown'::text])))
);
ALTER TABLE ONLY public.memory_versions ALTER COLUMN content SET STATISTICS 0;
ALTER TABLE ONLY public.memory_versions ALTER COLUMN source SET STATISTICS 0;
ALTER TABLE ONLY public.memory_versions ALTER COLUMN reason SET STATISTICS 0;
ALTER TABLE ONLY public.memory_versions ALTER COLUMN origin SET STATISTICS 0;

CREATE TABLE public.messages (
    org_id text NOT NULL,
    user_id text NOT NULL,
    id text NOT NULL,
    session_id text NOT NULL,
    turn_id text NOT NULL,
    persona_id text,
    place integer NOT NULL,
    role text NOT NULL,
    content text NOT NULL,
    name text,
    tool_requests jsonb,
    tool_id text,
    at timestamp with time zone NOT NULL,
    revision bigint NOT NULL,
    CONSTRAINT messages_role_check CHECK ((role = ANY (ARRAY['user'::text, 'assistant'::text, 'tool'::text])))
);
ALTER TABLE ONLY public.messages ALTER COLUMN content SET STATISTICS 0;
ALTER TABLE ONLY public.messages ALTER COLUMN name SET STATISTICS 0;
ALTER TABLE ONLY public.messages ALTER COLUMN tool_requests SET STATISTICS 0;

CREATE TABLE public.note_texts (
    org_id text NOT NULL,
    user_id text NOT NULL,
    namespace text[] NOT NULL,
    key text NOT NULL,
    part text NOT NULL,
    content text NOT NULL
);
ALTER TABLE ONLY public.note_texts ALTER COLUMN namespace SET STATISTICS 0;
ALTER TABLE ONLY public.note_texts ALTER COLUMN key SET STATISTICS 0;
ALTER TABLE ONLY public.note_texts ALTER COLUMN content SET STATISTICS 0;

CREATE TABLE public.note_vectors (
    org_id text NOT NULL,
    user_id text NOT NULL,
    namespace text[] NOT NULL,
    key text NOT NULL,
    model text NOT NULL,
    part text NOT NULL,
    vector public.vector NOT NULL
);
ALTER TABLE ONLY public.note_vectors ALTER COLUMN namespace SET STATISTICS 0;
ALTER TABLE ONLY public.note_vectors ALTER COLUMN key SET STATISTICS 0;
ALTER TABLE ONLY public.note_vectors ALTER COLUMN vector SET STATISTICS 0;

CREATE TABLE public.notes (
    org_id text NOT NULL,
    user_id text NOT NULL,
    namespace text[] NOT NULL,
    key text NOT NULL,
    value jsonb NOT NULL,
    place bigint NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    ttl_s double precision,
    expires_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL
);
ALTER TABLE ONLY public.notes ALTER COLUMN namespace SET STATISTICS 0;
ALTER TABLE ONLY public.notes ALTER COLUMN key SET STATISTICS 0;
ALTER TABLE ONLY public.notes ALTER COLUMN value SET STATISTICS 0;

ALTER TABLE public.notes ALTER COLUMN place ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.notes_place_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.organization_settings (
    org_id text NOT NULL,
    engagement text NOT NULL,
    time_zone text NOT NULL,
    instructions text NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT organization_settings_engagement_check CHECK ((engagement = ANY (ARRAY['on'::text, 'off'::text])))
);

CREATE TABLE public.organizations (
    org_id text NOT NULL,
    created_at timestamp with time zone NOT NULL
);

CREATE TABLE public.personas (
    org_id text NOT NULL,
    persona_id text NOT NULL,
    name text NOT NULL,
    prompt text NOT NULL,
    engagement text NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT personas_engagement_check CHECK ((engagement = ANY (ARRAY['shared'::text, 'off'::text])))
);

CREATE TABLE public.prices (
    org_id text NOT NULL,
    symbol text NOT NULL,
    at timestamp with time zone NOT NULL,
    price double precision NOT NULL,
    low double precision NOT NULL,
    high double precision NOT NULL
);

CREATE TABLE public.recall_days (
    org_id text NOT NULL,
    day date NOT NULL,
    number bigint NOT NULL
);

CREATE TABLE public.reflections (
    org_id text NOT NULL,
    user_id text NOT NULL,
    turn_id text NOT NULL,
    job_id text NOT NULL,
    status text NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    sections jsonb DEFAULT '{}'::jsonb NOT NULL,
    rejected jsonb DEFAULT '[]'::jsonb NOT NULL,
    raw jsonb DEFAULT '{}'::jsonb NOT NULL,
    usage jsonb,
    error text,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT reflections_status_check CHECK ((status = ANY (ARRAY['queued'::text, 'running'::text, 'done'::text, 'failed'::text, 'parked'::text])))
);
ALTER TABLE ONLY public.reflections ALTER COLUMN sections SET STATISTICS 0;
ALTER TABLE ONLY public.reflections ALTER COLUMN rejected SET STATISTICS 0;
ALTER TABLE ONLY public.reflections ALTER COLUMN raw SET STATISTICS 0;
ALTER TABLE ONLY public.reflections ALTER COLUMN error SET STATISTICS 0;

CREATE TABLE public.replies (
    org_id text NOT NULL,
    caller text NOT NULL,
    key text NOT NULL,
    fingerprint bytea NOT NULL,
    status integer,
    body bytea,
    subject text,
    expires_at timestamp with time zone NOT NULL,
    concerns text[] DEFAULT '{}'::text[] NOT NULL
);
ALTER TABLE ONLY public.replies ALTER COLUMN key SET STATISTICS 0;
ALTER TABLE ONLY public.replies ALTER COLUMN body SET STATISTICS 0;
ALTER TABLE ONLY public.replies ALTER COLUMN subject SET STATISTICS 0;

CREATE TABLE public.restore_gaps (
    subject text NOT NULL,
    since timestamp with time zone NOT NULL,
    CONSTRAINT restore_gaps_subject_check CHECK ((subject = ANY (ARRAY['forgettings'::text, 'revocations'::text, 'withdrawals'::text])))
);

CREATE TABLE public.rolling_summaries (
    org_id text NOT NULL,
    user_id text NOT NULL,
    persona text NOT NULL,
    message_count integer NOT NULL,
    text text NOT NULL,
    carried text[] NOT NULL,
    turn_id text NOT NULL,
    at timestamp with time zone NOT NULL,
    sources text[] NOT NULL
);
ALTER TABLE ONLY public.rolling_summaries ALTER COLUMN text SET STATISTICS 0;
ALTER TABLE ONLY public.rolling_summaries ALTER COLUMN carried SET STATISTICS 0;

CREATE TABLE public.run_events (
    org_id text NOT NULL,
    run_id text NOT NULL,
    seq bigint NOT NULL,
    agent_id text NOT NULL,
    at timestamp with time zone NOT NULL,
    type text NOT NULL,
    data jsonb NOT NULL
);
ALTER TABLE ONLY public.run_events ALTER COLUMN data SET STATISTICS 0;

ALTER TABLE public.run_events ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.run_events_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.run_tokens (
    org_id text NOT NULL,
    digest bytea NOT NULL,
    run_id text NOT NULL,
    agent_id text NOT NULL
);

CREATE TABLE public.runs (
    org_id text NOT NULL,
    run_id text NOT NULL,
    seq bigint NOT NULL,
    agent_id text NOT NULL,
    kind text NOT NULL,
    status text NOT NULL,
    prompt text NOT NULL,
    slot timestamp with time zone,
    session_id_before text,
    session_id_after text,
    memory_generation integer,
    parent_run_id text,
    card_type text NOT NULL,
    result jsonb,
    headline text,
    resolution_status text,
    outcome text,
    resolved_at timestamp with time zone,
    resolution_note text,
    symbol text,
    usage jsonb NOT NULL,
    created_at timestamp with time zone NOT NULL,
    started_at timestamp with time zone,
    finished_at timestamp with time zone,
    error text
);
ALTER TABLE ONLY public.runs ALTER COLUMN prompt SET STATISTICS 0;
ALTER TABLE ONLY public.runs ALTER COLUMN result SET STATISTICS 0;
ALTER TABLE ONLY public.runs ALTER COLUMN headline SET STATISTICS 0;
ALTER TABLE ONLY public.runs ALTER COLUMN outcome SET STATISTICS 0;
ALTER TABLE ONLY public.runs ALTER COLUMN resolution_note SET STATISTICS 0;
ALTER TABLE ONLY public.runs ALTER COLUMN error SET STATISTICS 0;

ALTER TABLE public.runs ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.runs_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.schema_migrations (
    number integer NOT NULL,
    name text NOT NULL,
    digest text NOT NULL,
    applied_at timestamp with time zone NOT NULL
);

CREATE TABLE public.session_states (
    org_id text NOT NULL,
    user_id text NOT NULL,
    persona text NOT NULL,
    message_count integer DEFAULT 0 NOT NULL,
    last_interaction timestamp with time zone,
    last_user_message text DEFAULT ''::text NOT NULL,
    curator_last_run_at timestamp with time zone,
    curator_last_count integer,
    last_rolling_attempt_at timestamp with time zone,
    last_rolling_success_at timestamp with time zone,
    last_rolling_error jsonb,
    rolling_summary text DEFAULT ''::text NOT NULL,
    rolling_count integer DEFAULT 0 NOT NULL
);
ALTER TABLE ONLY public.session_states ALTER COLUMN last_user_message SET STATISTICS 0;
ALTER TABLE ONLY public.session_states ALTER COLUMN last_rolling_error SET STATISTICS 0;
ALTER TABLE ONLY public.session_states ALTER COLUMN rolling_summary SET STATISTICS 0;

CREATE TABLE public.sessions (
    org_id text NOT NULL,
    user_id text NOT NULL,
    id text NOT NULL,
    persona_id text,
    started_at timestamp with time zone NOT NULL,
    last_activity_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    ended_by text,
    turn_count integer DEFAULT 0 NOT NULL,
    seq bigint DEFAULT 0 NOT NULL,
    resumed_from text,
    summary jsonb,
    summarized_seq bigint DEFAULT 0 NOT NULL,
    summarized_by text,
    sources text[] DEFAULT '{}'::text[] NOT NULL,
    CONSTRAINT sessions_ended_by_check CHECK ((ended_by = ANY (ARRAY['idle'::text, 'request'::text])))
);
ALTER TABLE ONLY public.sessions ALTER COLUMN summary SET STATISTICS 0;

CREATE TABLE public.signins (
    org_id text NOT NULL,
    digest bytea NOT NULL,
    kind text NOT NULL,
    actor text NOT NULL,
    grants text[] NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT signins_kind_check CHECK ((kind = ANY (ARRAY['link'::text, 'session'::text])))
);

CREATE TABLE public.spines (
    org_id text NOT NULL,
    user_id text NOT NULL,
    version integer NOT NULL,
    lines jsonb NOT NULL,
    sources text[] NOT NULL,
    message_count integer NOT NULL,
    total_messages bigint NOT NULL,
    made_by text NOT NULL,
    rejected jsonb NOT NULL,
    at timestamp with time zone NOT NULL
);
ALTER TABLE ONLY public.spines ALTER COLUMN lines SET STATISTICS 0;
ALTER TABLE ONLY public.spines ALTER COLUMN rejected SET STATISTICS 0;

CREATE TABLE public.todos (
    org_id text NOT NULL,
    user_id text NOT NULL,
    id text NOT NULL,
    persona_id text,
    kind text NOT NULL,
    content text NOT NULL,
    todo_key text NOT NULL,
    status text DEFAULT 'open'::text NOT NULL,
    source text NOT NULL,
    turn_id text,
    message_id text,
    quote text,
    closing_turn_id text,
    closing_quote text,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    closed_at timestamp with time zone,
    CONSTRAINT todos_kind_check CHECK ((kind = ANY (ARRAY['commitment'::text, 'habit'::text, 'thread'::text, 'friction'::text]))),
    CONSTRAINT todos_status_check CHECK ((status = ANY (ARRAY['open'::text, 'done'::text, 'dropped'::text])))
);
ALTER TABLE ONLY public.todos ALTER COLUMN content SET STATISTICS 0;
ALTER TABLE ONLY public.todos ALTER COLUMN todo_key SET STATISTICS 0;
ALTER TABLE ONLY public.todos ALTER COLUMN source SET STATISTICS 0;
ALTER TABLE ONLY public.todos ALTER COLUMN quote SET STATISTICS 0;
ALTER TABLE ONLY public.todos ALTER COLUMN closing_quote SET STATISTICS 0;

CREATE TABLE public.tombstones (
    org_id text NOT NULL,
    user_id text NOT NULL,
    hash bytea NOT NULL,
    at timestamp with time zone NOT NULL
);

CREATE TABLE public.transcripts (
    org_id text NOT NULL,
    agent_id text NOT NULL,
    session_id text NOT NULL,
    seq integer NOT NULL,
    message jsonb NOT NULL,
    at timestamp with time zone NOT NULL
);
ALTER TABLE ONLY public.transcripts ALTER COLUMN message SET STATISTICS 0;

CREATE TABLE public.turns (
    org_id text NOT NULL,
    user_id text NOT NULL,
    id text NOT NULL,
    session_id text NOT NULL,
    persona_id text,
    seq bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    status text NOT NULL,
    origin text NOT NULL,
    lease_until timestamp with time zone,
    waits_for text[] DEFAULT '{}'::text[] NOT NULL,
    message_count integer NOT NULL,
    tool_results jsonb DEFAULT '[]'::jsonb NOT NULL,
    intents jsonb DEFAULT '[]'::jsonb NOT NULL,
    usage jsonb,
    error jsonb,
    recited text,
    recorded_at timestamp with time zone NOT NULL,
    CONSTRAINT turns_origin_check CHECK ((origin = ANY (ARRAY['chat'::text, 'recorded'::text, 'openai'::text]))),
    CONSTRAINT turns_status_check CHECK ((status = ANY (ARRAY['answering'::text, 'answered'::text, 'interrupted'::text, 'failed'::text])))
);
ALTER TABLE ONLY public.turns ALTER COLUMN tool_results SET STATISTICS 0;
ALTER TABLE ONLY public.turns ALTER COLUMN intents SET STATISTICS 0;
ALTER TABLE ONLY public.turns ALTER COLUMN error SET STATISTICS 0;
ALTER TABLE ONLY public.turns ALTER COLUMN recited SET STATISTICS 0;

CREATE TABLE public.user_seeds (
    org_id text NOT NULL,
    user_id text NOT NULL,
    profile jsonb NOT NULL,
    loaded_at timestamp with time zone NOT NULL
);
ALTER TABLE ONLY public.user_seeds ALTER COLUMN profile SET STATISTICS 0;

CREATE TABLE public.users (
    org_id text NOT NULL,
    user_id text NOT NULL,
    external_id text NOT NULL,
    revision bigint DEFAULT 0 NOT NULL,
    forgettings bigint DEFAULT 0 NOT NULL,
    created_at timestamp with time zone NOT NULL
);
ALTER TABLE ONLY public.users ALTER COLUMN external_id SET STATISTICS 0;

CREATE TABLE public.withdrawals (
    org_id text NOT NULL,
    user_id text NOT NULL,
    id text NOT NULL,
    origin text NOT NULL,
    at timestamp with time zone NOT NULL
);
ALTER TABLE ONLY public.withdrawals ALTER COLUMN origin SET STATISTICS 0;

CREATE TABLE public.work (
    org_id text NOT NULL,
    kind text NOT NULL,
    key text NOT NULL,
    job_id text NOT NULL,
    lane text,
    seq bigint DEFAULT 0 NOT NULL,
    enqueued_at timestamp with time zone NOT NULL,
    due_at timestamp with time zone NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    lease_until timestamp with time zone,
    token bigint DEFAULT 0 NOT NULL,
    again boolean DEFAULT false NOT NULL,
    parked_at timestamp with time zone,
    error text,
    deaths integer DEFAULT 0 NOT NULL
);
ALTER TABLE ONLY public.work ALTER COLUMN error SET STATISTICS 0;

CREATE TABLE public.workers (
    worker_id text NOT NULL,
    started_at timestamp with time zone NOT NULL,
    seen_at timestamp with time zone NOT NULL,
    claimed_at timestamp with time zone NOT NULL,
    slots integer NOT NULL,
    busy integer NOT NULL
);

ALTER TABLE ONLY public.active_embedders
    ADD CONSTRAINT active_embedders_pkey PRIMARY KEY (org_id);

ALTER TABLE ONLY public.agent_messages
    ADD CONSTRAINT agent_messages_pkey PRIMARY KEY (org_id, message_id);

ALTER TABLE ONLY public.agent_state_journal
    ADD CONSTRAINT agent_state_journal_pkey PRIMARY KEY (org_id, user_id, session_id, seq);

ALTER TABLE ONLY public.agent_states
    ADD CONSTRAINT agent_states_pkey PRIMARY KEY (org_id, user_id, session_id);

ALTER TABLE ONLY public.agents
    ADD CONSTRAINT agents_pkey PRIMARY KEY (org_id, agent_id);

ALTER TABLE ONLY public.audit_heads
    ADD CONSTRAINT audit_heads_pkey PRIMARY KEY (org_id, lane);

ALTER TABLE ONLY public.audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (org_id, id);

ALTER TABLE ONLY public.chat_sessions
    ADD CONSTRAINT chat_sessions_pkey PRIMARY KEY (org_id, agent_id);

ALTER TABLE ONLY public.curator_runs
    ADD CONSTRAINT curator_runs_pkey PRIMARY KEY (org_id, user_id, id);

ALTER TABLE ONLY public.embeddings
    ADD CONSTRAINT embeddings_pkey PRIMARY KEY (org_id, user_id, model, kind, id);

ALTER TABLE ONLY public.engagement_journal
    ADD CONSTRAINT engagement_journal_pkey PRIMARY KEY (org_id, seq);

ALTER TABLE ONLY public.engagement_turns
    ADD CONSTRAINT engagement_turns_pkey PRIMARY KEY (org_id, turn_id);

ALTER TABLE ONLY public.engagements
    ADD CONSTRAINT engagements_pkey PRIMARY KEY (org_id);

ALTER TABLE ONLY public.entities_kept_apart
    ADD CONSTRAINT entities_kept_apart_pkey PRIMARY KEY (org_id, user_id, one, two);

ALTER TABLE ONLY public.entity_aliases
    ADD CONSTRAINT entity_aliases_pkey PRIMARY KEY (org_id, user_id, alias);

ALTER TABLE ONLY public.entity_merges
    ADD CONSTRAINT entity_merges_pkey PRIMARY KEY (org_id, user_id, id);

ALTER TABLE ONLY public.exchanges
    ADD CONSTRAINT exchanges_pkey PRIMARY KEY (org_id, turn_id);

ALTER TABLE ONLY public.forgotten
    ADD CONSTRAINT forgotten_pkey PRIMARY KEY (org_id, id);

ALTER TABLE ONLY public.keys
    ADD CONSTRAINT keys_org_id_secret_key UNIQUE (org_id, secret);

ALTER TABLE ONLY public.keys
    ADD CONSTRAINT keys_pkey PRIMARY KEY (org_id, key_id);

ALTER TABLE ONLY public.memories
    ADD CONSTRAINT memories_org_id_user_id_persona_id_memory_key_key UNIQUE NULLS NOT DISTINCT (org_id, user_id, persona_id, memory_key);

ALTER TABLE ONLY public.memories
    ADD CONSTRAINT memories_pkey PRIMARY KEY (org_id, user_id, id);

ALTER TABLE ONLY public.memory_provenance
    ADD CONSTRAINT memory_provenance_pkey PRIMARY KEY (org_id, user_id, memory_id, message_id, starts, ends, content_hash);

ALTER TABLE ONLY public.memory_versions
    ADD CONSTRAINT memory_versions_pkey PRIMARY KEY (org_id, user_id, memory_id, number);

ALTER TABLE ONLY public.messages
    ADD CONSTRAINT messages_org_id_user_id_turn_id_place_key UNIQUE (org_id, user_id, turn_id, place);

ALTER TABLE ONLY public.messages
    ADD CONSTRAINT messages_pkey PRIMARY KEY (org_id, user_id, id);

ALTER TABLE ONLY public.note_texts
    ADD CONSTRAINT note_texts_pkey PRIMARY KEY (org_id, user_id, namespace, key, part);

ALTER TABLE ONLY public.note_vectors
    ADD CONSTRAINT note_vectors_pkey PRIMARY KEY (org_id, user_id, namespace, key, model, part);

ALTER TABLE ONLY public.notes
    ADD CONSTRAINT notes_pkey PRIMARY KEY (org_id, user_id, namespace, key);

ALTER TABLE ONLY public.organization_settings
    ADD CONSTRAINT organization_settings_pkey PRIMARY KEY (org_id);

ALTER TABLE ONLY public.organizations
    ADD CONSTRAINT organizations_pkey PRIMARY KEY (org_id);

ALTER TABLE ONLY public.personas
    ADD CONSTRAINT personas_pkey PRIMARY KEY (org_id, persona_id);

ALTER TABLE ONLY public.prices
    ADD CONSTRAINT prices_pkey PRIMARY KEY (org_id, symbol, at, price);

ALTER TABLE ONLY public.recall_days
    ADD CONSTRAINT recall_days_pkey PRIMARY KEY (org_id, day);

ALTER TABLE ONLY public.reflections
    ADD CONSTRAINT reflections_pkey PRIMARY KEY (org_id, user_id, turn_id);

ALTER TABLE ONLY public.replies
    ADD CONSTRAINT replies_pkey PRIMARY KEY (org_id, caller, key);

ALTER TABLE ONLY public.restore_gaps
    ADD CONSTRAINT restore_gaps_pkey PRIMARY KEY (subject);

ALTER TABLE ONLY public.rolling_summaries
    ADD CONSTRAINT rolling_summaries_pkey PRIMARY KEY (org_id, user_id, persona, message_count);

ALTER TABLE ONLY public.run_events
    ADD CONSTRAINT run_events_pkey PRIMARY KEY (org_id, run_id, seq);

ALTER TABLE ONLY public.run_tokens
    ADD CONSTRAINT run_tokens_pkey PRIMARY KEY (org_id, digest);

ALTER TABLE ONLY public.runs
    ADD CONSTRAINT runs_org_id_agent_id_slot_key UNIQUE (org_id, agent_id, slot);

ALTER TABLE ONLY public.runs
    ADD CONSTRAINT runs_pkey PRIMARY KEY (org_id, run_id);

ALTER TABLE ONLY public.schema_migrations
    ADD CONSTRAINT schema_migrations_pkey PRIMARY KEY (number);

ALTER TABLE ONLY public.session_states
    ADD CONSTRAINT session_states_pkey PRIMARY KEY (org_id, user_id, persona);

ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (org_id, user_id, id);

ALTER TABLE ONLY public.signins
    ADD CONSTRAINT signins_pkey PRIMARY KEY (org_id, digest);

ALTER TABLE ONLY public.spines
    ADD CONSTRAINT spines_pkey PRIMARY KEY (org_id, user_id, version);

ALTER TABLE ONLY public.todos
    ADD CONSTRAINT todos_pkey PRIMARY KEY (org_id, user_id, id);

ALTER TABLE ONLY public.tombstones
    ADD CONSTRAINT tombstones_pkey PRIMARY KEY (org_id, user_id, hash);

ALTER TABLE ONLY public.transcripts
    ADD CONSTRAINT transcripts_pkey PRIMARY KEY (org_id, agent_id, session_id, seq);

ALTER TABLE ONLY public.turns
    ADD CONSTRAINT turns_org_id_user_id_session_id_seq_key UNIQUE (org_id, user_id, session_id, seq);

ALTER TABLE ONLY public.turns
    ADD CONSTRAINT turns_pkey PRIMARY KEY (org_id, user_id, id);

ALTER TABLE ONLY public.user_seeds
    ADD CONSTRAINT user_seeds_pkey PRIMARY KEY (org_id, user_id);

ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_pkey PRIMARY KEY (org_id, user_id);

ALTER TABLE ONLY public.withdrawals
    ADD CONSTRAINT withdrawals_pkey PRIMARY KEY (org_id, user_id, id);

ALTER TABLE ONLY public.work
    ADD CONSTRAINT work_pkey PRIMARY KEY (org_id, kind, key);

ALTER TABLE ONLY public.workers
    ADD CONSTRAINT workers_pkey PRIMARY KEY (worker_id);

CREATE INDEX agent_messages_order ON public.agent_messages USING btree (org_id, agent_id, seq);

CREATE INDEX agent_state_journal_turn ON public.agent_state_journal USING btree (org_id, user_id, turn_id);

CREATE INDEX agent_states_session ON public.agent_states USING btree (org_id, session_id);

CREATE INDEX audit_chain ON public.audit USING btree (org_id, lane, seq, id);

CREATE INDEX audit_time ON public.audit USING btree (org_id, at, id);

CREATE INDEX embeddings_revision ON public.embeddings USING btree (org_id, user_id, revision);

CREATE INDEX engagement_journal_subject ON public.engagement_journal USING btree (org_id, subject_user_id);

CREATE INDEX engagement_journal_turn ON public.engagement_journal USING btree (org_id, turn_id);

CREATE INDEX engagement_turns_subject ON public.engagement_turns USING btree (org_id, subject_user_id);

CREATE INDEX forgotten_subject ON public.forgotten USING btree (org_id, subject);

CREATE INDEX memories_by_id ON public.memories USING btree (org_id, id);

CREATE INDEX memories_by_slot ON public.memories USING btree (org_id, user_id, slot);

CREATE INDEX memories_claims ON public.memories USING btree (org_id, user_id, claim_of) WHERE (claim_of IS NOT NULL);

CREATE INDEX memories_foundation ON public.memories USING btree (org_id, user_id) WHERE ((status = 'ACTIVE'::text) AND (pinned OR (source = 'seeded_profile'::text)));

CREATE INDEX memories_latest ON public.memories USING btree (org_id, updated_at DESC, id DESC);

CREATE INDEX memories_revision ON public.memories USING btree (org_id, user_id, revision);

CREATE INDEX memories_survey ON public.memories USING btree (org_id, status, type, source, persona_id, pinned, user_id);

CREATE INDEX memories_weighty ON public.memories USING btree (org_id, user_id) WHERE ((status = 'ACTIVE'::text) AND (importance >= 2));

CREATE INDEX memory_provenance_turn ON public.memory_provenance USING btree (org_id, user_id, turn_id);

CREATE INDEX messages_id ON public.messages USING btree (org_id, id);

CREATE INDEX messages_revision ON public.messages USING btree (org_id, user_id, revision);

CREATE INDEX messages_session ON public.messages USING btree (org_id, user_id, session_id, at);

CREATE INDEX notes_expiry ON public.notes USING btree (org_id, expires_at) WHERE (expires_at IS NOT NULL);

CREATE INDEX notes_place ON public.notes USING btree (org_id, user_id, place);

CREATE INDEX reflections_open ON public.reflections USING btree (org_id, updated_at) WHERE (status <> 'done'::text);

CREATE INDEX reflections_turn ON public.reflections USING btree (org_id, turn_id);

CREATE INDEX reflections_updated ON public.reflections USING btree (org_id, updated_at);

CREATE INDEX replies_expiry ON public.replies USING btree (org_id, expires_at);

CREATE INDEX runs_busy ON public.runs USING btree (org_id, agent_id) WHERE (status = ANY (ARRAY['queued'::text, 'running'::text]));

CREATE INDEX runs_counted ON public.runs USING btree (org_id, agent_id, memory_generation) WHERE (status = 'succeeded'::text);

CREATE INDEX runs_ended ON public.runs USING btree (org_id, seq) WHERE (resolution_status = ANY (ARRAY['resolved'::text, 'expired'::text]));

CREATE INDEX runs_in_order ON public.runs USING btree (org_id, seq);

CREATE INDEX runs_of_agent ON public.runs USING btree (org_id, agent_id, seq);

CREATE INDEX runs_of_parent ON public.runs USING btree (org_id, parent_run_id, seq) WHERE (parent_run_id IS NOT NULL);

CREATE INDEX runs_open ON public.runs USING btree (org_id, symbol) WHERE (resolution_status = 'open'::text);

CREATE INDEX sessions_id ON public.sessions USING btree (org_id, id);

CREATE INDEX sessions_recent ON public.sessions USING btree (org_id, last_activity_at);

CREATE INDEX sessions_resumed ON public.sessions USING btree (org_id, user_id, resumed_from) WHERE (resumed_from IS NOT NULL);

CREATE INDEX sessions_started ON public.sessions USING btree (org_id, user_id, started_at);

CREATE INDEX todos_by_id ON public.todos USING btree (org_id, id);

CREATE UNIQUE INDEX todos_open ON public.todos USING btree (org_id, user_id, persona_id, todo_key) NULLS NOT DISTINCT WHERE (status = 'open'::text);

CREATE INDEX turns_at ON public.turns USING btree (org_id, at);

CREATE INDEX turns_id ON public.turns USING btree (org_id, id);

CREATE INDEX turns_recorded ON public.turns USING btree (org_id, user_id, recorded_at);

CREATE INDEX users_external ON public.users USING btree (org_id, external_id);

CREATE INDEX work_due ON public.work USING btree (due_at) WHERE (parked_at IS NULL);

CREATE UNIQUE INDEX work_job ON public.work USING btree (org_id, job_id);

CREATE INDEX work_lane ON public.work USING btree (org_id, lane, seq) WHERE ((lane IS NOT NULL) AND (parked_at IS NULL));

CREATE TRIGGER runs_keep_result BEFORE UPDATE ON public.runs FOR EACH ROW EXECUTE FUNCTION public.keep_result();

ALTER TABLE ONLY public.agent_messages
    ADD CONSTRAINT agent_messages_org_id_turn_id_fkey FOREIGN KEY (org_id, turn_id) REFERENCES public.exchanges(org_id, turn_id) ON DELETE CASCADE;

ALTER TABLE ONLY public.agent_state_journal
    ADD CONSTRAINT agent_state_journal_org_id_user_id_session_id_fkey FOREIGN KEY (org_id, user_id, session_id) REFERENCES public.agent_states(org_id, user_id, session_id) ON DELETE CASCADE;

ALTER TABLE ONLY public.agents
    ADD CONSTRAINT agents_org_id_fkey FOREIGN KEY (org_id) REFERENCES public.organizations(org_id);

ALTER TABLE ONLY public.audit_heads
    ADD CONSTRAINT audit_heads_org_id_fkey FOREIGN KEY (org_id) REFERENCES public.organizations(org_id);

ALTER TABLE ONLY public.audit
    ADD CONSTRAINT audit_org_id_fkey FOREIGN KEY (org_id) REFERENCES public.organizations(org_id);

ALTER TABLE ONLY public.chat_sessions
    ADD CONSTRAINT chat_sessions_org_id_agent_id_fkey FOREIGN KEY (org_id, agent_id) REFERENCES public.agents(org_id, agent_id) ON DELETE CASCADE;

ALTER TABLE ONLY public.engagement_journal
    ADD CONSTRAINT engagement_journal_org_id_fkey FOREIGN KEY (org_id) REFERENCES public.engagements(org_id);

ALTER TABLE ONLY public.exchanges
    ADD CONSTRAINT exchanges_org_id_agent_id_fkey FOREIGN KEY (org_id, agent_id) REFERENCES public.agents(org_id, agent_id) ON DELETE CASCADE;

ALTER TABLE ONLY public.keys
    ADD CONSTRAINT keys_org_id_fkey FOREIGN KEY (org_id) REFERENCES public.organizations(org_id);

ALTER TABLE ONLY public.memory_provenance
    ADD CONSTRAINT memory_provenance_org_id_user_id_memory_id_fkey FOREIGN KEY (org_id, user_id, memory_id) REFERENCES public.memories(org_id, user_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.memory_versions
    ADD CONSTRAINT memory_versions_org_id_user_id_memory_id_fkey FOREIGN KEY (org_id, user_id, memory_id) REFERENCES public.memories(org_id, user_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.note_texts
    ADD CONSTRAINT note_texts_org_id_user_id_namespace_key_fkey FOREIGN KEY (org_id, user_id, namespace, key) REFERENCES public.notes(org_id, user_id, namespace, key) ON DELETE CASCADE;

ALTER TABLE ONLY public.note_vectors
    ADD CONSTRAINT note_vectors_org_id_user_id_namespace_key_fkey FOREIGN KEY (org_id, user_id, namespace, key) REFERENCES public.notes(org_id, user_id, namespace, key) ON DELETE CASCADE;

ALTER TABLE ONLY public.notes
    ADD CONSTRAINT notes_org_id_user_id_fkey FOREIGN KEY (org_id, user_id) REFERENCES public.users(org_id, user_id);

ALTER TABLE ONLY public.prices
    ADD CONSTRAINT prices_org_id_fkey FOREIGN KEY (org_id) REFERENCES public.organizations(org_id);

ALTER TABLE ONLY public.replies
    ADD CONSTRAINT replies_org_id_fkey FOREIGN KEY (org_id) REFERENCES public.organizations(org_id);

ALTER TABLE ONLY public.run_events
    ADD CONSTRAINT run_events_org_id_agent_id_fkey FOREIGN KEY (org_id, agent_id) REFERENCES public.agents(org_id, agent_id) ON DELETE CASCADE;

ALTER TABLE ONLY public.run_tokens
    ADD CONSTRAINT run_tokens_org_id_run_id_fkey FOREIGN KEY (org_id, run_id) REFERENCES public.runs(org_id, run_id) ON DELETE CASCADE;

ALTER TABLE ONLY public.runs
    ADD CONSTRAINT runs_org_id_agent_id_fkey FOREIGN KEY (org_id, agent_id) REFERENCES public.agents(org_id, agent_id) ON DELETE CASCADE;

ALTER TABLE ONLY public.runs
    ADD CONSTRAINT runs_org_id_parent_run_id_fkey FOREIGN KEY (org_id, parent_run_id) REFERENCES public.runs(org_id, run_id) ON DELETE CASCADE;

ALTER TABLE ONLY public.signins
    ADD CONSTRAINT signins_org_id_fkey FOREIGN KEY (org_id) REFERENCES public.organizations(org_id);

ALTER TABLE ONLY public.transcripts
    ADD CONSTRAINT transcripts_org_id_agent_id_fkey FOREIGN KEY (org_id, agent_id) REFERENCES public.agents(org_id, agent_id) ON DELETE CASCADE;

ALTER TABLE public.active_embedders ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.agent_messages ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.agent_state_journal ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.agent_states ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.agents ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.audit ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.audit_heads ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.chat_sessions ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.curator_runs ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.embeddings ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.engagement_journal ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.engagement_turns ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.engagements ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.entities_kept_apart ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.entity_aliases ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.entity_merges ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.exchanges ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.forgotten ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.keys ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.memories ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.memory_provenance ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.memory_versions ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.messages ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.note_texts ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.note_vectors ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.notes ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.organization_settings ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.organizations ENABLE ROW LEVEL SECURITY;

CREATE POLICY own_organization ON public.active_embedders USING ((org_id = current_setting('mnemon.org'::text, true))) WITH CHECK ((org_id = current_setting('mnemon.org'::text, true)));

CREATE POLICY own_organization ON public.agent_messages USING ((org_id = current_setting('mnemon.org'::text, true))) WITH CHECK ((org_id = current_setting('mnemon.org'::text, true)));

CREATE POLICY own_organization ON public.agent_state_journal USING ((org_id = current_setting('mnemon.org'::text, true))) WITH CHECK ((org_id = current_setting('mnemon.org'::text, true)));

CREATE POLICY own_organization ON public.agent_states USING ((org_id = current_setting('mnemon.org'::text, true))) WITH CHECK ((org_id = current_setting('mnemon.org'::text, true)));

CREATE POLICY own_organization ON public.agents USING ((org_id = current_setting('mnemon.org'::text, true))) WITH CHECK ((org_id = current_setting('mnemon.org'::text, true)));

CREATE POLICY own_organization ON public.audit USING ((org_id = current_setting('mnemon.org'::text, true))) WITH CHECK ((org_id = current_setting('mnemon.org'::text, true)));

CREATE POLICY own_organization ON public.audit_heads USING ((org_id = current_setting('mnemon.org'::text, true))) WITH CHECK ((org_id = current_setting('mnemon.org'::text, true)));

CREATE POLICY own_organization ON public.chat_sessions USING ((org_id = current_setting('mnemon.org'::text, true))) WITH CHECK ((org_id = current_setting('mnemon.org'::text, true)));

CREATE POLICY own_organization ON public.curator_runs USING ((org_id = current_setting('mnemon.org'::text, true))) WITH CHECK ((org_id = current_setting('mnemon.org'::text, true)));

CREATE POLICY own_organization ON public.embeddings USING ((org_id = current_setting('mnemon.org'::text, true))) WITH CHECK ((org_id = current_setting('mnemon.org'::text, true)));

CREATE POLICY own_organization ON public.engagement_journal USING ((org_id = current_setting('mnemon.org'::text, true))) WITH CHECK ((org_id = current_setting('mnemon.org'::text, true)));

CREATE POLICY own_organization ON public.engagement_turns USING ((org_id = current_setting('mnemon.org'::text, true))) WITH CHECK ((org_id = current_setting('mnemon.org'::text, true)));

CREATE POLICY own_organization ON public.engagements USING ((org_id = current_setting('mnemon.org'::text, true))) WITH CHECK ((org_id = current_setting('mnemon.org'::text, true)));

CREATE POLICY own_organization ON public.entities_kept_apart USING ((org_id = current_setting('mnemon.org'::text, true))) WITH CHECK ((org_id = current_setting('mnemon.org'::text, true)));

CREATE POLICY own_organization ON public.entity_aliases USING ((org_id = current_setting('mnemon.org'::text, true))) WITH CHECK ((org_id = current_setting('mnemon.org'::text, true)));

CREATE POLICY own_organization ON public.entity_merges USING ((org_id = current_setting('mnemon.org'::text, true))) WITH CHECK ((org_id = current_setting('mnemon.org'::text, true)));

CREATE POLICY own_organization ON public.exchanges USING ((org_id = current_setting('mnemon.org'::text, true))) WITH CHECK ((org_id = current_setting('mnemon.org'::text, true)));

CREATE POLICY own_organization ON public.forgotten USING ((org_id = current_setting('mnemon.org'::text, true))) WITH CHECK ((org_id = current_setting('mnemon.org'::text, true)));

CREATE POLICY own_organization ON public.keys USING ((org_id = current_setting('mnemon.org'::text, true))) WITH CHECK ((org_id = current_setting('mnemon.org'::text, true)));

CREATE POLICY own_organization ON public.memories USING ((org_id = current_setting('mnemon.org'::text, true))) WITH CHECK ((org_id = current_setting('mnemon.org'::text, true)));

CREATE POLICY own_organization ON public.memory_provenance USING ((org_id = current_setting('mnemon.org'::text, true))) WITH CHECK ((org_id = current_setting('mnemon.org'::text, true)));

CREATE POLICY own_organization ON public.memory_versions USING ((org_id = current_setting('mnemon.org'::text, true))) WITH CHECK ((org_id = current_setting('mnemon.org'::text, true)));

CREATE POLICY own_organization ON public.messages USING ((org_id = current_setting('mnemon.org'::text, true))) WITH CHECK ((org_id = current_setting('mnemon.org'::text, true)));

CREATE POLICY own_organization ON public.note_texts USING ((org_id = current_setting('mnemon.org'::text, true))) WITH CHECK ((org_id = current_setting('mnemon.org'::text, true)));

CREATE POLICY own_organization ON public.note_vectors USING ((org_id = current_setting('mnemon.org'::text, true))) WITH CHECK ((org_id = current_setting('mnemon.org'::text, true)));

CREATE POLICY own_organization ON public.notes USING ((org_id = current_setting('mnemon.org'::text, true))) WITH CHECK ((org_id = current_setting('mnemon.org'::text, true)));

CREATE POLICY own_organization ON public.organization_settings USING ((org_id = current_setting('mnemon.org'::text, true))) WITH CHECK ((org_id = current_setting('mnemon.org'::text, true)));

CREATE POLICY own_organization ON public.organizations USING ((org_id = current_setting('mnemon.org'::text, true))) WITH CHECK ((org_id = current_setting('mnemon.org'::text, true)));

CREATE POLICY own_organization ON public.personas USING ((org_id = current_setting('mnemon.org'::text, true))) WITH CHECK ((org_id = current_setting('mnemon.org'::text, true)));

CREATE POLICY own_organization ON public.prices USING ((org_id = current_setting('mnemon.org'::text, true))) WITH CHECK ((org_id = current_setting('mnemon.org'::text, true)));

CREATE POLICY own_organization ON public.recall_days USING ((org_id = current_setting('mnemon.org'::text, true))) WITH CHECK ((org_id = current_setting('mnemon.org'::text, true)));

CREATE POLICY own_organization ON public.reflections USING ((org_id = current_setting('mnemon.org'::text, true))) WITH CHECK ((org_id = current_setting('mnemon.org'::text, true)));

CREATE POLICY own_organization ON public.replies USING ((org_id = current_setting('mnemon.org'::text, true))) WITH CHECK ((org_id = current_setting('mnemon.org'::text, true)));

CREATE POLICY own_organization ON public.rolling_summaries USING ((org_id = current_setting('mnemon.org'::text, true))) WITH CHECK ((org_id = current_setting('mnemon.org'::text, true)));

CREATE POLICY own_organization ON public.run_events USING ((org_id = current_setting('mnemon.org'::text, true))) WITH CHECK ((org_id = current_setting('mnemon.org'::text, true)));

CREATE POLICY own_organization ON public.run_tokens USING ((org_id = current_setting('mnemon.org'::text, true))) WITH CHECK ((org_id = current_setting('mnemon.org'::text, true)));

CREATE POLICY own_organization ON public.runs USING ((org_id = current_setting('mnemon.org'::text, true))) WITH CHECK ((org_id = current_setting('mnemon.org'::text, true)));

CREATE POLICY own_organization ON public.session_states USING ((org_id = current_setting('mnemon.org'::text, true))) WITH CHECK ((org_id = current_setting('mnemon.org'::text, true)));

CREATE POLICY own_organization ON public.sessions USING ((org_id = current_setting('mnemon.org'::text, true))) WITH CHECK ((org_id = current_setting('mnemon.org'::text, true)));

CREATE POLICY own_organization ON public.signins USING ((org_id = current_setting('mnemon.org'::text, true))) WITH CHECK ((org_id = current_setting('mnemon.org'::text, true)));

CREATE POLICY own_organization ON public.spines USING ((org_id = current_setting('mnemon.org'::text, true))) WITH CHECK ((org_id = current_setting('mnemon.org'::text, true)));

CREATE POLICY own_organization ON public.todos USING ((org_id = current_setting('mnemon.org'::text, true))) WITH CHECK ((org_id = current_setting('mnemon.org'::text, true)));

CREATE POLICY own_organization ON public.tombstones USING ((org_id = current_setting('mnemon.org'::text, true))) WITH CHECK ((org_id = current_setting('mnemon.org'::text, true)));

CREATE POLICY own_organization ON public.transcripts USING ((org_id = current_setting('mnemon.org'::text, true))) WITH CHECK ((org_id = current_setting('mnemon.org'::text, true)));

CREATE POLICY own_organization ON public.turns USING ((org_id = current_setting('mnemon.org'::text, true))) WITH CHECK ((org_id = current_setting('mnemon.org'::text, true)));

CREATE POLICY own_organization ON public.user_seeds USING ((org_id = current_setting('mnemon.org'::text, true))) WITH CHECK ((org_id = current_setting('mnemon.org'::text, true)));

CREATE POLICY own_organization ON public.users USING ((org_id = current_setting('mnemon.org'::text, true))) WITH CHECK ((org_id = current_setting('mnemon.org'::text, true)));

CREATE POLICY own_organization ON public.withdrawals USING ((org_id = current_setting('mnemon.org'::text, true))) WITH CHECK ((org_id = current_setting('mnemon.org'::text, true)));

ALTER TABLE public.personas ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.prices ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.recall_days ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.reflections ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.replies ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.rolling_summaries ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.run_events ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.run_tokens ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.runs ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.session_states ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.sessions ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.signins ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.spines ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.todos ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.tombstones ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.transcripts ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.turns ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.user_seeds ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.users ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.withdrawals ENABLE ROW LEVEL SECURITY;

GRANT USAGE ON SCHEMA public TO mnemon_app;

REVOKE ALL ON PROCEDURE public.append_audit(IN entry_org text, IN entry_id text, IN entry_at timestamp with time zone, IN entry_actor text, IN entry_action text, IN entry_target text) FROM PUBLIC;
GRANT ALL ON PROCEDURE public.append_audit(IN entry_org text, IN entry_id text, IN entry_at timestamp with time zone, IN entry_actor text, IN entry_action text, IN entry_target text) TO mnemon_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.active_embedders TO mnemon_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.agent_messages TO mnemon_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.agent_state_journal TO mnemon_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.agent_states TO mnemon_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.agents TO mnemon_app;

GRANT SELECT ON TABLE public.audit TO mnemon_app;

GRANT SELECT ON TABLE public.audit_heads TO mnemon_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.chat_sessions TO mnemon_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.curator_runs TO mnemon_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.embeddings TO mnemon_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.engagement_journal TO mnemon_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.engagement_turns TO mnemon_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.engagements TO mnemon_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.entities_kept_apart TO mnemon_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.entity_aliases TO mnemon_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.entity_merges TO mnemon_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.exchanges TO mnemon_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.forgotten TO mnemon_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.keys TO mnemon_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.memories TO mnemon_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.memory_provenance TO mnemon_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.memory_versions TO mnemon_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.messages TO mnemon_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.note_texts TO mnemon_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.note_vectors TO mnemon_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.notes TO mnemon_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.organization_settings TO mnemon_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.organizations TO mnemon_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.personas TO mnemon_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.prices TO mnemon_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.recall_days TO mnemon_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.reflections TO mnemon_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.replies TO mnemon_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.restore_gaps TO mnemon_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.rolling_summaries TO mnemon_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.run_events TO mnemon_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.run_tokens TO mnemon_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.runs TO mnemon_app;

GRANT SELECT ON TABLE public.schema_migrations TO mnemon_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.session_states TO mnemon_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.sessions TO mnemon_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.signins TO mnemon_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.spines TO mnemon_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.todos TO mnemon_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.tombstones TO mnemon_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.transcripts TO mnemon_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.turns TO mnemon_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.user_seeds TO mnemon_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.users TO mnemon_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.withdrawals TO mnemon_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.work TO mnemon_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.workers TO mnemon_app;
