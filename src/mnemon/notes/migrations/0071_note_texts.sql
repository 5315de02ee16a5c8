-- The parts of a note that are found by meaning, as the program sent them: an embedder that was down makes their vectors
-- later, and another one makes them anew.
create table note_texts (
  org_id    text not null,
  user_id   text not null,
  namespace text[] not null,
  key       text not null,
  part      text not null,
  content   text not null,
  primary key (org_id, user_id, namespace, key, part),
  foreign key (org_id, user_id, namespace, key) references notes (org_id, user_id, namespace, key) on delete cascade
);
