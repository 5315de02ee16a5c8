-- The audit log as hash chains, sixteen lanes for each organization: each entry's hash covers the entry and the hash
-- before it in its lane, and a head for each lane holds the last one. An entry also names the head of another lane as it
-- was then, so that a lane cannot lose its end unnoticed. The application's role only reads both tables; the procedure
-- below is the one way to append.
create table audit_heads (
  org_id text not null references organizations (org_id),
  lane   smallint not null,
  seq    bigint not null,
  hash   bytea not null,
  primary key (org_id, lane)
) with (fillfactor = 50);  -- few rows, one updated by every write: room for their next versions on their page

alter table audit
  add column lane smallint, add column seq bigint, add column hash bytea,
  add column linked_lane smallint, add column linked_seq bigint, add column linked_hash bytea;

-- Forgetting leaves the log alone from now on, so nothing may stand in it that could be somebody's word: ids only.
update audit set target = null where target !~ '^[a-z]{2,4}_[0-9A-HJKMNP-TV-Z]{26}$';

create function audit_hash(
  previous bytea, entry_org text, entry_lane smallint, entry_seq bigint, entry_id text, entry_at timestamptz,
  entry_actor text, entry_action text, entry_target text, other_lane smallint, other_seq bigint, other_hash bytea
) returns bytea language sql stable set search_path = pg_catalog, pg_temp as $$
  select sha256(previous || convert_to(jsonb_build_array(
    entry_org, entry_lane, entry_seq, entry_id, (extract(epoch from entry_at) * 1000000)::bigint, entry_actor,
    entry_action, entry_target, other_lane, other_seq, encode(other_hash, 'hex'))::text, 'UTF8'))
$$;

-- What was there before is lane 0.
do $$
declare
  entry record;
  owner text;
  place bigint;
  link bytea;
begin
  for entry in select * from audit order by org_id, id loop
    if entry.org_id is distinct from owner then
      owner := entry.org_id;
      place := 0;
      link := '';
    end if;
    place := place + 1;
    link := audit_hash(
      link, owner, 0::smallint, place, entry.id, entry.at, entry.actor, entry.action, entry.target, null, null, null);
    update audit set lane = 0, seq = place, hash = link where org_id = owner and id = entry.id;
  end loop;
end $$;

insert into audit_heads (org_id, lane, seq, hash)
select distinct on (org_id) org_id, lane, seq, hash from audit order by org_id, seq desc;

alter table audit
  alter column lane set not null, alter column seq set not null, alter column hash set not null;
create index audit_chain on audit (org_id, lane, seq, id);
create index audit_time on audit (org_id, at, id);

-- It runs as the tables' owner, whom row-level security does not bind, so it compares the organization itself.
create procedure append_audit(
  entry_org text, entry_id text, entry_at timestamptz, entry_actor text, entry_action text, entry_target text
) language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
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
