-- Which session goes on with the conversation of an ended one: found by what it resumed.
create index sessions_resumed on sessions (org_id, user_id, resumed_from) where resumed_from is not null;
