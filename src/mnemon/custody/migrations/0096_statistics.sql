-- For its planner PostgreSQL keeps samples of what columns hold. A forgotten word would stay among them until the next
-- ANALYZE, so columns that hold people's words are not sampled. No plan needs it: rows are found by owner and key.
do $$
declare
  listed text;
  place text[];
begin
  foreach listed in array array[
    'agent_messages.content', 'agent_state_journal.reason', 'agent_state_journal.update', 'agent_states.document',
    'audit.target', 'curator_runs.rejected', 'embeddings.vector', 'engagement_journal.delta',
    'engagement_journal.reason', 'engagements.document', 'entities_kept_apart.one', 'entities_kept_apart.two',
    'entity_aliases.alias', 'entity_aliases.asked_from', 'entity_aliases.target', 'entity_merges.reasons',
    'entity_merges.source', 'entity_merges.target', 'exchanges.error', 'keys.bound_user', 'keys.name',
    'memories.attribute', 'memories.claim_of', 'memories.content', 'memories.entity_label', 'memories.entity_refs',
    'memories.memory_key', 'memories.note', 'memories.origin', 'memories.source', 'memory_provenance.quote',
    'memory_versions.content', 'memory_versions.origin', 'memory_versions.reason', 'memory_versions.source',
    'messages.content', 'messages.name', 'messages.tool_requests', 'note_texts.content', 'note_texts.key',
    'note_texts.namespace', 'note_vectors.key', 'note_vectors.namespace', 'note_vectors.vector', 'notes.key',
    'notes.namespace', 'notes.value', 'reflections.error', 'reflections.raw', 'reflections.rejected',
    'reflections.sections', 'replies.body', 'replies.key', 'replies.subject', 'rolling_summaries.carried',
    'rolling_summaries.text', 'run_events.data', 'runs.error', 'runs.headline', 'runs.outcome', 'runs.prompt',
    'runs.resolution_note', 'runs.result', 'session_states.last_rolling_error', 'session_states.last_user_message',
    'session_states.rolling_summary', 'sessions.summary', 'spines.lines', 'spines.rejected', 'todos.closing_quote',
    'todos.content', 'todos.quote', 'todos.source', 'todos.todo_key', 'transcripts.message', 'turns.error',
    'turns.intents', 'turns.recited', 'turns.tool_results', 'user_seeds.profile', 'users.external_id', 'work.error'
  ] loop
    place := string_to_array(listed, '.');
    execute format('alter table %I alter column %I set statistics 0', place[1], place[2]);
    if to_regprocedure('pg_clear_attribute_stats(text, text, text, boolean)') is not null then
      execute 'select pg_clear_attribute_stats($1, $2, $3, false)' using current_schema(), place[1], place[2];
    else
      begin
        -- Before PostgreSQL 18. Given the type that it has, a column is not rewritten, but its samples are dropped.
        execute format(
          'alter table %I alter column %I type %s', place[1], place[2],
          (select format_type(atttypid, atttypmod) from pg_attribute
           where attrelid = place[1]::regclass and attname = place[2]));
      exception when internal_error then
        raise notice 'samples of % stay until the table is made anew', listed;  -- a foreign key over an array
      end;
    end if;
  end loop;
end $$;
