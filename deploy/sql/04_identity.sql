-- Made from satchel's sources (protocol 2, schema 1, revision 0009):
-- do not edit, run `make docs`.

-- What this version of the functions speaks, and the tenant of the first day; safe to repeat.
INSERT INTO satchel.hub (protocol, schema) VALUES (2, 1)
ON CONFLICT (singleton) DO UPDATE SET protocol = excluded.protocol, schema = excluded.schema;
SELECT satchel.add_tenant('default');

-- What `warehouse migrate` moves from "extra" into columns is not moved by SQL.
DO $$
BEGIN
    IF EXISTS (SELECT FROM satchel.space WHERE extra ~ '"(description|members|grants|created_at)" ?:')
        OR EXISTS (SELECT FROM satchel.agent WHERE extra ~ '"(description|capabilities|trust|registered_at|status|last_seen)" ?:')
        OR EXISTS (SELECT FROM satchel.session WHERE extra ~ '"(title|scope|space|user_id|agent_id|agent_ids|opened_at|closed_at|summary_memory_id)" ?:')
        OR EXISTS (SELECT FROM satchel.memory WHERE extra ~ '"(type|title|content|metadata|scope|agent_id|user_id|session_id|space|local|importance|confidence|pinned|source|valid_from|valid_to|valid_to_was|recorded_at|retired_at|expires_at|supersedes|aliases|content_hash)" ?:')
        OR EXISTS (SELECT FROM satchel.relationship WHERE extra ~ '"(from_id|to_id|type|weight|metadata|agent_id)" ?:')
        OR EXISTS (SELECT FROM satchel.task WHERE extra ~ '"(title|description|status|priority|scope|space|user_id|agent_id|owner_agent|created_by|parent_id|depends_on|session_id|due_at|claimed_by|lease_until|result|result_memory_id|metadata|created_at|completed_at)" ?:')
        OR EXISTS (SELECT FROM satchel.message WHERE extra ~ '"(to_agent|from_agent|kind|title|content|conversation_id|task_id|context_ids|thread_id|priority|created_at|expires_at|acked_at|dedup_key)" ?:')
        OR EXISTS (SELECT FROM satchel.chatlog WHERE extra ~ '"(conversation_id|ordinal|role|content|scope|space|agent_id|user_id|host_agent|provider|model|tokens_in|tokens_out|cost|metadata|redactions|said_at)" ?:')
        OR EXISTS (SELECT FROM satchel.history WHERE extra ~ '"(kind|key|event|changes|actor|at)" ?:')
        OR EXISTS (SELECT FROM satchel.embedding WHERE extra ~ '"(memory_id|model|chunk|content_hash|dims|dtype|vector)" ?:') THEN
        RAISE WARNING 'rows hold columns of this version in "extra", where views do not see them:'
            ' let `satchel warehouse migrate` run once, as a member of satchel_owner';
    END IF;
END
$$;
