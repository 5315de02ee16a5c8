-- Whether the turn said anything of the matter: only such turns open the first-hypothesis gate. Turns from before count.
alter table engagement_turns add column has_content boolean not null default true;
