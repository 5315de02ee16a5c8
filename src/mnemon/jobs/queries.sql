-- name: enqueue
-- One row per (org_id, kind, key). What is queued already becomes due no later; what is running runs once more.
-- Sleeping runners are told when the transaction commits, if it is due.
with queued as (
  insert into work (org_id, kind, key, job_id, lane, seq, enqueued_at, due_at)
  values (%(org_id)s, %(kind)s, %(key)s, %(job_id)s, %(lane)s, %(seq)s, %(now)s, %(due_at)s)
  on conflict (org_id, kind, key) do update set
    due_at = case when work.lease_until is null then least(work.due_at, excluded.due_at) else excluded.due_at end,
    again = work.lease_until is not null,
    attempts = case when work.parked_at is null then work.attempts else 0 end,
    deaths = case when work.parked_at is null then work.deaths else 0 end,
    parked_at = null
  returning job_id
)
select job_id, case when %(due_at)s <= %(now)s then pg_notify('mnemon_work', '') end from queued

-- name: postpone
-- The row's due time is set anew, made where there is none: for work that waits for quiet.
insert into work (org_id, kind, key, job_id, enqueued_at, due_at)
values (%(org_id)s, %(kind)s, %(key)s, %(job_id)s, %(now)s, %(due_at)s)
on conflict (org_id, kind, key) do update set
  due_at = excluded.due_at, again = work.lease_until is not null,
  deaths = case when work.parked_at is null then work.deaths else 0 end, parked_at = null

-- name: wake
-- Tells sleeping runners that something is due; it arrives when the transaction commits.
select pg_notify('mnemon_work', '')

-- name: claim_lock
-- One claim at a time, so that no two rows of one lane are ever taken together.
select pg_advisory_xact_lock(1835954541, 1)

-- name: reserve
-- A row that is taken from its beginning: while its lease lasts, the organization's other rows are left alone.
insert into work (org_id, kind, key, job_id, enqueued_at, due_at, attempts, lease_until, token)
values (%(org_id)s, %(kind)s, '', %(job_id)s, %(now)s, %(now)s, 1, %(lease_until)s, 1)
on conflict (org_id, kind, key) do update
set lease_until = excluded.lease_until, token = work.token + 1, attempts = 1, parked_at = null
where work.lease_until is null or work.lease_until <= %(now)s
returning org_id, kind, key, job_id, attempts, token

-- name: claim
-- Takes due rows: never two of one lane, never one before an earlier one of its lane that is not parked. Of two with
-- the same `seq` the one with the smaller id is the earlier.
-- With `only`, of one organization; without, of every organization that nobody has reserved.
-- A row that is still leased, its lease having run out, lost its worker: that is counted.
with due as (
  select w.org_id, w.kind, w.key
  from work w
  where w.parked_at is null
    and w.due_at <= %(now)s
    and (w.lease_until is null or w.lease_until <= %(now)s)
    and w.kind = any(%(kinds)s)
    and case when %(only)s::text is null
      then not exists (
        select from work r
        where r.org_id = w.org_id and r.kind = %(reservation)s and r.key = '' and r.lease_until > %(now)s)
      else w.org_id = %(only)s end
    and (w.lane is null or not exists (
      select from work e
      where e.org_id = w.org_id and e.lane = w.lane and e.parked_at is null
        and e.job_id <> w.job_id
        and ((e.seq, e.job_id) < (w.seq, w.job_id) or e.lease_until > %(now)s)))
  order by w.due_at
  limit %(most)s
  for update skip locked
)
update work w
set lease_until = %(lease_until)s, token = w.token + 1, attempts = w.attempts + 1, again = false,
  deaths = w.deaths + (w.lease_until is not null)::int
from due
where w.org_id = due.org_id and w.kind = due.kind and w.key = due.key
returning w.org_id, w.kind, w.key, w.job_id, w.attempts, w.token, w.deaths

-- name: hold
-- Locks the row if the lease is still ours; no row: someone else has taken over.
select 1 as held from work
where org_id = %(org_id)s and kind = %(kind)s and key = %(key)s and token = %(token)s and lease_until is not null
for update

-- name: renew
update work set lease_until = %(lease_until)s
where org_id = %(org_id)s and kind = %(kind)s and key = %(key)s and token = %(token)s and lease_until is not null

-- name: settle
-- Done: the row goes, unless it was asked for again meanwhile.
delete from work
where org_id = %(org_id)s and kind = %(kind)s and key = %(key)s and token = %(token)s and not again

-- name: release
-- Due again, now or later: after a failure, a stop, a repetition, or because it was asked for while it ran.
update work
set lease_until = null, due_at = %(due_at)s, attempts = %(attempts)s, deaths = %(deaths)s, again = false,
  error = %(error)s
where org_id = %(org_id)s and kind = %(kind)s and key = %(key)s and token = %(token)s and lease_until is not null

-- name: park
-- Out of tries: stays, visible, until someone runs it again.
update work set lease_until = null, parked_at = %(now)s, again = false, error = %(error)s
where org_id = %(org_id)s and kind = %(kind)s and key = %(key)s and token = %(token)s and lease_until is not null

-- name: jobs
-- One organization's work, oldest first; `waits_for` is the row of its lane that goes before it.
select w.job_id, w.org_id, w.kind, w.key, w.enqueued_at, w.due_at, w.attempts, w.lease_until, w.parked_at, w.error,
  case when w.parked_at is null and w.lease_until is null then (
    select e.job_id from work e
    where e.org_id = w.org_id and e.lane = w.lane and e.parked_at is null and e.job_id <> w.job_id
      and ((e.seq, e.job_id) < (w.seq, w.job_id) or e.lease_until is not null)
    order by e.seq, e.job_id limit 1) end as waits_for
from work w
where w.org_id = %(org_id)s and w.job_id > %(after)s
  and (%(status)s::text is null or %(status)s = case
    when w.parked_at is not null then 'parked' when w.lease_until is not null then 'running' else 'queued' end)
  and (%(kind)s::text is null or w.kind = %(kind)s)
order by w.job_id limit %(most)s

-- name: job
select w.job_id, w.org_id, w.kind, w.key, w.enqueued_at, w.due_at, w.attempts, w.lease_until, w.parked_at, w.error,
  case when w.parked_at is null and w.lease_until is null then (
    select e.job_id from work e
    where e.org_id = w.org_id and e.lane = w.lane and e.parked_at is null and e.job_id <> w.job_id
      and ((e.seq, e.job_id) < (w.seq, w.job_id) or e.lease_until is not null)
    order by e.seq, e.job_id limit 1) end as waits_for
from work w where w.org_id = %(org_id)s and w.job_id = %(job_id)s

-- name: retry
-- A parked or waiting job is due at once with all its tries; a running one is left alone.
update work set parked_at = null, attempts = 0, deaths = 0, due_at = %(now)s
where org_id = %(org_id)s and job_id = %(job_id)s and lease_until is null

-- name: cancel
-- The row goes unless it is running.
delete from work where org_id = %(org_id)s and kind = %(kind)s and key = %(key)s and lease_until is null

-- name: counts
-- Over all organizations, for the metrics; `overdue` is since when the longest waiting row that a runner could claim
-- has been due, as in the statement of that name.
select w.kind,
  case when w.parked_at is not null then 'parked' when w.lease_until is not null then 'running' else 'queued' end
    as status,
  count(*) as number,
  min(w.due_at) filter (where w.parked_at is null and w.lease_until is null and w.due_at <= %(now)s
    and (w.lane is null or not exists (
      select from work e
      where e.org_id = w.org_id and e.lane = w.lane and e.parked_at is null and e.job_id <> w.job_id
        and ((e.seq, e.job_id) < (w.seq, w.job_id) or e.lease_until > %(now)s)))) as overdue
from work w group by 1, 2

-- name: parked
-- The organizations that have parked rows, the one with the most first.
select org_id, count(*) as number from work where parked_at is not null group by 1 order by 2 desc, 1

-- name: failing
-- Why rows that are tried again failed last, over all organizations, the most frequent reason first.
select kind, error, count(*) as number
from work
where parked_at is null and attempts > 0 and error is not null
group by 1, 2 order by 3 desc, 1, 2 limit 1

-- name: kinds
-- How much of one organization's work of each kind stands where.
select kind,
  case when parked_at is not null then 'parked' when lease_until is not null then 'running' else 'queued' end as status,
  count(*) as number
from work where org_id = %(org_id)s group by 1, 2 order by 1, 2

-- name: standing
-- How much of one organization's work stands where, and since when the oldest that is due waits.
select case when parked_at is not null then 'parked' when lease_until is not null then 'running' else 'queued' end as status,
  count(*) as number, min(due_at) as oldest
from work where org_id = %(org_id)s group by 1

-- name: overdue
-- Since when the longest waiting row that a runner could claim has been due, over all organizations; and whether
-- nothing can be written at all.
select min(w.due_at) as since, current_setting('transaction_read_only') = 'on' as read_only
from work w
where w.parked_at is null and w.lease_until is null and w.due_at <= %(now)s
  and (w.lane is null or not exists (
    select from work e
    where e.org_id = w.org_id and e.lane = w.lane and e.parked_at is null and e.job_id <> w.job_id
      and ((e.seq, e.job_id) < (w.seq, w.job_id) or e.lease_until > %(now)s)))

-- name: note_worker
insert into workers (worker_id, started_at, seen_at, claimed_at, slots, busy)
values (%(worker_id)s, %(started_at)s, %(seen_at)s, %(claimed_at)s, %(slots)s, %(busy)s)
on conflict (worker_id) do update set
  seen_at = excluded.seen_at, claimed_at = excluded.claimed_at, busy = excluded.busy

-- name: workers
-- The workers that were seen since then.
select worker_id, started_at, seen_at, claimed_at, slots, busy from workers where seen_at >= %(since)s order by worker_id

-- name: drop_worker
delete from workers where worker_id = %(worker_id)s

-- name: drop_lost_workers
-- Those that ended without a word, long ago.
delete from workers where seen_at < %(before)s
