-- The audit log as a hash chain: each entry's hash covers the entry and the hash before it, and the organization's head
-- holds the last one. The application's role only reads both tables; the procedure below is the one way to append.
create table audit_heads (
  org_id text primary key references organizations (org_id),
  seq    bigint not null,
  hash   bytea not null
) with (fillfactor = 50);  -- one row per organization, updated by every write: room for its next versions on its page

alter table audit add column seq bigint, add column hash bytea;

-- Forgetting leaves the log alone from now on, so nothing may stand in it that could be somebody's word: ids only.
update audit set target = null where target !~ '^[a-z]{2,4}_[0-9A-HJKMNP-TV-Z]{26}$';

create function audit_hash(
  previous bytea, entry_org text, entry_seq bigint, entry_id text, entry_at timestamptz, entry_actor text,
  entry_action text, entry_target text
) returns bytea language sql stable set search_path = pg_catalog, pg_temp as $$
  select sha256(previous || convert_to(jsonb_build_array(
    entry_org, entry_seq, entry_id, (extract(epoch from entry_at) * 1000000)::bigint, entry_actor, entry_action,
    entry_target)::text, 'UTF8'))
$$;

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
    link := audit_hash(link, owner, place, entry.id, entry.at, entry.actor, entry.action, entry.target);
    update audit set seq = place, hash = link where org_id = owner and id = entry.id;
  end loop;
end $$;

insert into audit_heads (org_id, seq, hash)
select distinct on (org_id) org_id, seq, hash from audit order by org_id, seq desc;

alter table audit alter column seq set not null, alter column hash set not null;
create index audit_chain on audit (org_id, seq, id);

-- It runs as the tables' owner, whom row-level security does not bind, so it compares the organization itself.
create procedure append_audit(
  entry_org text, entry_id text, entry_at timestamptz, entry_actor text, entry_action text, entry_target text
) language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  place bigint;
  link bytea;
begin
  if entry_org is distinct from current_setting('mnemon.org', true) then
    raise insufficient_privilege using message = 'the entry belongs to another organization';
  end if;
  select seq, hash into place, link from public.audit_heads where org_id = entry_org for update;
  if not found then
    -- The first entry, or somebody removed the head: then the log goes on after what is there, and its chain is broken.
    insert into public.audit_heads (org_id, seq, hash)
    select entry_org, coalesce(max(seq), 0), '' from public.audit where org_id = entry_org
    on conflict (org_id) do nothing;
    select seq, hash into strict place, link from public.audit_heads where org_id = entry_org for update;
  end if;
  place := place + 1;
  link := public.audit_hash(link, entry_org, place, entry_id, entry_at, entry_actor, entry_action, entry_target);
  insert into public.audit (org_id, id, at, actor, action, target, seq, hash)
  values (entry_org, entry_id, entry_at, entry_actor, entry_action, entry_target, place, link);
  update public.audit_heads set seq = place, hash = link where org_id = entry_org;
end $$;
