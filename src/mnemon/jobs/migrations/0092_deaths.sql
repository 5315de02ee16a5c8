-- How often in a row the item's worker died, froze or was stopped at its time limit while it had the item.
alter table work add column deaths integer not null default 0;
