-- What an agent remembers of the people it talks to, and what stands for a long conversation.

-- memory: a session whose newest turns were not looked through for facts. summary: one whose older turns want one.
-- consolidation: one that has been silent for long (id of all three: the session). archive: a tenant's old messages
-- (id: the tenant). phone_link: a code that was sent to a number and is good no more (id: the link).
ALTER TABLE work_due DROP CONSTRAINT work_due_kind_check;
ALTER TABLE work_due ADD CONSTRAINT work_due_kind_check
    CHECK (kind IN ('session', 'outbox', 'tool_call', 'embedding', 'file', 'record_type', 'ledgers', 'pulse', 'memory',
                    'summary', 'consolidation', 'archive', 'phone_link'));

-- episode: what came of a conversation, in a few sentences; found only by its own user's sessions with the binding.
ALTER TABLE context_rows DROP CONSTRAINT context_rows_kind_check;
ALTER TABLE context_rows ADD CONSTRAINT context_rows_kind_check
    CHECK (kind IN ('snapshot', 'delta', 'file_distillation', 'file_chunk', 'document_chunk', 'relationship',
                    'chat_message', 'summary_anchor', 'episode'));
CREATE UNIQUE INDEX context_rows_anchor ON context_rows (tenant_id, session_id, ordinal) WHERE kind = 'summary_anchor';

-- archived_at: the user put it away; pinned_at: they want it first. titled_by: who gave it its title; '' is nobody.
-- consolidated_turn: the last turn that a consolidation has read. open_until: the last turn that was said while others
-- could read along, of one that was made private since.
ALTER TABLE sessions
    ADD COLUMN archived_at       timestamptz,
    ADD COLUMN pinned_at         timestamptz,
    ADD COLUMN titled_by         text NOT NULL DEFAULT '' CHECK (titled_by IN ('', 'code', 'model', 'user', 'member')),
    ADD COLUMN consolidated_at   timestamptz,
    ADD COLUMN consolidated_turn int NOT NULL DEFAULT 0,
    ADD COLUMN open_until        int NOT NULL DEFAULT 0;

-- merged_into: who this visitor of the web turned out to be; what was theirs is that user's, and so are their tokens.
ALTER TABLE users
    ADD COLUMN merged_into uuid,
    ADD FOREIGN KEY (tenant_id, merged_into) REFERENCES users (tenant_id, id) ON DELETE CASCADE;
CREATE INDEX users_merged ON users (tenant_id, merged_into) WHERE merged_into IS NOT NULL;

-- What is known of a person in one binding (scope user: user_id and binding_id), or to a whole persona or team.
-- One row a value: valid from when it was said until it was said otherwise; live while valid_until is null.
-- origin: said in so many words and found by a rule, extracted or consolidated by a model, edited by somebody
-- (edited_by).
-- ended: why it is no longer live; superseded_by: the fact that took its place, if one did.
-- messages: the user's own, of session_id, that it was taken from. sure_at: when it was last said or confirmed.
-- recalled, used: how many prompts it stood in, and how many of their replies used it.
CREATE TABLE facts (
    tenant_id     uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    id            uuid NOT NULL,
    scope         text NOT NULL CHECK (scope IN ('human', 'team', 'user')),
    human_id      uuid,
    team_id       uuid,
    user_id       uuid,
    binding_id    uuid,
    key           text NOT NULL,
    value         text NOT NULL,
    confidence    float8 NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    origin        text NOT NULL CHECK (origin IN ('said', 'extracted', 'consolidated', 'edited')),
    edited_by     text,
    valid_from    timestamptz NOT NULL,
    valid_until   timestamptz,
    ended         text CHECK (ended IN ('refined', 'contradicted', 'retracted', 'edited', 'deleted', 'merged',
                                        'crowded_out')),
    superseded_by uuid,
    session_id    uuid,
    turn_id       uuid,
    messages      uuid[] NOT NULL DEFAULT '{}',
    sure_at       timestamptz NOT NULL,
    recalled      int NOT NULL DEFAULT 0,
    used          int NOT NULL DEFAULT 0,
    last_used_at  timestamptz,
    created_at    timestamptz NOT NULL,
    lexemes       tsvector GENERATED ALWAYS AS (to_tsvector('english', translate(key, '._', '  ') || ' ' || value)) STORED,
    PRIMARY KEY (tenant_id, id),
    CHECK (CASE scope WHEN 'human' THEN num_nonnulls(human_id) = 1 AND num_nonnulls(team_id, user_id, binding_id) = 0
                      WHEN 'team' THEN num_nonnulls(team_id) = 1 AND num_nonnulls(human_id, user_id, binding_id) = 0
                      ELSE num_nonnulls(user_id, binding_id) = 2 AND num_nonnulls(human_id, team_id) = 0 END),
    CHECK ((valid_until IS NULL) = (ended IS NULL)),
    FOREIGN KEY (tenant_id, human_id) REFERENCES humans (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, team_id) REFERENCES teams (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, binding_id) REFERENCES bindings (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, superseded_by) REFERENCES facts (tenant_id, id) ON DELETE SET NULL (superseded_by)
        DEFERRABLE INITIALLY DEFERRED,
    FOREIGN KEY (tenant_id, session_id) REFERENCES sessions (tenant_id, id) ON DELETE SET NULL (session_id),
    FOREIGN KEY (tenant_id, turn_id) REFERENCES turns (tenant_id, id) ON DELETE SET NULL (turn_id)
);
CALL isolate('facts');
CREATE UNIQUE INDEX facts_live ON facts (tenant_id, user_id, binding_id, human_id, team_id, key) NULLS NOT DISTINCT
    WHERE valid_until IS NULL;
CREATE INDEX facts_user ON facts (tenant_id, user_id, binding_id, valid_until) WHERE user_id IS NOT NULL;
CREATE INDEX facts_human ON facts (tenant_id, human_id, valid_until) WHERE human_id IS NOT NULL;
CREATE INDEX facts_team ON facts (tenant_id, team_id, valid_until) WHERE team_id IS NOT NULL;
CREATE INDEX facts_ended ON facts (tenant_id, user_id, binding_id, key, valid_until DESC)
    WHERE valid_until IS NOT NULL;
CREATE INDEX facts_turn ON facts (tenant_id, turn_id) WHERE turn_id IS NOT NULL;
CREATE INDEX facts_binding ON facts (tenant_id, binding_id) WHERE binding_id IS NOT NULL;
CREATE INDEX facts_session ON facts (tenant_id, session_id);
CREATE INDEX facts_superseded ON facts (tenant_id, superseded_by) WHERE superseded_by IS NOT NULL;

-- What became of everything that was proposed as a fact. decision: same, refines, contradicts, new, retracted, forgotten;
-- or why nothing was kept. key: '' where not even that could be read. No row says the value: the fact has it, if one was kept.
CREATE TABLE fact_decisions (
    tenant_id  uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    id         uuid NOT NULL,
    user_id    uuid,
    binding_id uuid,
    session_id uuid,
    turn_id    uuid,
    fact_id    uuid,
    key        text NOT NULL DEFAULT '',
    origin     text NOT NULL CHECK (origin IN ('said', 'extracted', 'consolidated', 'edited')),
    decision   text NOT NULL,
    reason     text NOT NULL DEFAULT '',
    confidence float8,
    messages   uuid[] NOT NULL DEFAULT '{}',
    at         timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, binding_id) REFERENCES bindings (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, session_id) REFERENCES sessions (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, fact_id) REFERENCES facts (tenant_id, id) ON DELETE CASCADE
);
CALL isolate('fact_decisions');
CREATE INDEX fact_decisions_fact ON fact_decisions (tenant_id, fact_id) WHERE fact_id IS NOT NULL;
CREATE INDEX fact_decisions_user ON fact_decisions (tenant_id, user_id, binding_id) WHERE user_id IS NOT NULL;
CREATE INDEX fact_decisions_forgotten ON fact_decisions (tenant_id, user_id, binding_id) WHERE decision = 'forgotten';
CREATE INDEX fact_decisions_binding ON fact_decisions (tenant_id, binding_id) WHERE binding_id IS NOT NULL;
CREATE INDEX fact_decisions_session ON fact_decisions (tenant_id, session_id, at DESC);

-- What a stretch of a conversation came to. row_id: its searchable row, which has its vector. folded: how many further
-- ones that said nearly the same went into it.
CREATE TABLE episodes (
    tenant_id    uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    id           uuid NOT NULL,
    user_id      uuid NOT NULL,
    binding_id   uuid NOT NULL,
    session_id   uuid NOT NULL,
    origin       text NOT NULL DEFAULT 'extracted' CHECK (origin IN ('extracted', 'consolidated')),
    text         text NOT NULL,
    from_at      timestamptz NOT NULL,
    until_at     timestamptz NOT NULL,
    messages     uuid[] NOT NULL DEFAULT '{}',
    row_id       uuid,
    folded       int NOT NULL DEFAULT 0,
    recalled     int NOT NULL DEFAULT 0,
    used         int NOT NULL DEFAULT 0,
    last_used_at timestamptz,
    created_at   timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, binding_id) REFERENCES bindings (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, session_id) REFERENCES sessions (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, row_id) REFERENCES context_rows (tenant_id, id) ON DELETE SET NULL (row_id)
);
CALL isolate('episodes');
CREATE INDEX episodes_user ON episodes (tenant_id, user_id, binding_id);
CREATE INDEX episodes_binding ON episodes (tenant_id, binding_id);
CREATE INDEX episodes_session ON episodes (tenant_id, session_id);
CREATE INDEX episodes_row ON episodes (tenant_id, row_id) WHERE row_id IS NOT NULL;

-- One row a session that memory has read of. until_turn: the last turn looked through; at: when. anchors: how many
-- anchors there are, anchored: the messages that they cover. failures: tries in a row that gave nothing, and of its
-- summary summary_failures.
CREATE TABLE extractions (
    tenant_id  uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    session_id uuid NOT NULL,
    until_turn int NOT NULL DEFAULT 0,
    anchors    int NOT NULL DEFAULT 0,
    anchored   int NOT NULL DEFAULT 0,
    failures   int NOT NULL DEFAULT 0,
    problem    text,
    at         timestamptz,
    summary_failures int NOT NULL DEFAULT 0,
    summary_problem  text,
    consolidation_failures int NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, session_id),
    FOREIGN KEY (tenant_id, session_id) REFERENCES sessions (tenant_id, id) ON DELETE CASCADE
);
CALL isolate('extractions');

-- What stands for a session's older turns; the newest version is the one that prompts get at their next cut. until_turn:
-- the last turn that it tells of. text: '' where no model was there to write one. kept_ids, dropped_ids: the messages that
-- its writer says are in it, and those that needed no word. messages: how many it stands for in all. told_of: what the
-- replies it tells of were drawn from, as `table/id`. is_passed: no model would tell of its turns, and the text is the
-- one before.
CREATE TABLE summaries (
    tenant_id   uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    session_id  uuid NOT NULL,
    version     int NOT NULL,
    until_turn  int NOT NULL,
    text        text NOT NULL,
    kept_ids    uuid[] NOT NULL DEFAULT '{}',
    dropped_ids uuid[] NOT NULL DEFAULT '{}',
    messages    int NOT NULL DEFAULT 0,
    told_of     text[] NOT NULL DEFAULT '{}',
    is_passed   boolean NOT NULL DEFAULT false,
    provider    text NOT NULL DEFAULT '',
    model       text NOT NULL DEFAULT '',
    cost_usd    numeric(14, 8) NOT NULL DEFAULT 0,
    created_at  timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, session_id, version),
    FOREIGN KEY (tenant_id, session_id) REFERENCES sessions (tenant_id, id) ON DELETE CASCADE
);
CALL isolate('summaries');

-- What must survive a summary in its own words: identifiers, amounts, dates, names, decisions, approvals and promises of
-- the messages that it stands for. turn, message_id: where it was said first; last_turn: where last. text: the words
-- around it; value: what must be found again. ours: the agent said it. untold: the newest summary does not say it.
CREATE TABLE kept_verbatim (
    tenant_id  uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    id         uuid NOT NULL,
    session_id uuid NOT NULL,
    message_id uuid NOT NULL,
    turn       int NOT NULL,
    last_turn  int NOT NULL,
    kind       text NOT NULL
               CHECK (kind IN ('identifier', 'amount', 'date', 'name', 'decision', 'approval', 'promise')),
    value      text NOT NULL,
    text       text NOT NULL,
    ours       boolean NOT NULL,
    untold     boolean NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, session_id, kind, value),
    FOREIGN KEY (tenant_id, session_id) REFERENCES sessions (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, message_id) REFERENCES messages (tenant_id, id) ON DELETE CASCADE
);
CALL isolate('kept_verbatim');
CREATE INDEX kept_verbatim_session ON kept_verbatim (tenant_id, session_id, last_turn DESC);
CREATE INDEX kept_verbatim_untold ON kept_verbatim (tenant_id, session_id, kind, last_turn DESC) WHERE untold;
CREATE INDEX kept_verbatim_message ON kept_verbatim (tenant_id, message_id);

-- What the replies of some turns were drawn from, as `table/id`, as far as it is there: what they cite, the files that
-- were sent with their turns' messages, and the records and documents that their turns' calls name. It runs as its
-- caller, under row-level security, and keeps its plans, as `drawn_from` does.
CREATE FUNCTION sources_of(turn_ids uuid[]) RETURNS TABLE (source text)
    LANGUAGE plpgsql STABLE ROWS 20
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT COALESCE('documents/' || d.id, 'files/' || f.id, 'entities/' || e.id, 'context_rows/' || r.id)
      FROM messages m
      JOIN citations c ON c.message_id = m.id
      LEFT JOIN context_rows r ON r.id = c.row_id
      LEFT JOIN documents d ON d.id = c.document_id AND d.deleted_at IS NULL
      LEFT JOIN files f ON f.id = c.file_id AND f.object_key <> ''
      LEFT JOIN entities e ON e.id = c.entity_id AND e.deleted_at IS NULL
     WHERE m.turn_id = ANY(turn_ids) AND m.direction = 'outbound'
       AND num_nonnulls(r.id, d.id, f.id, e.id) > 0
     UNION
    SELECT 'files/' || f.id
      FROM messages m
      JOIN attachments a ON a.message_id = m.id
      JOIN files f ON f.id = a.file_id AND f.object_key <> ''
     WHERE m.turn_id = ANY(turn_ids) AND m.direction = 'inbound'
     UNION
    SELECT one.source
      FROM turns t
     CROSS JOIN LATERAL (
           SELECT DISTINCT found[1] AS type, found[2] AS key
             FROM regexp_matches(t.called::text, '([a-z][a-z0-9_]*)/([A-Za-z0-9][A-Za-z0-9_.~-]*)', 'g') found) n
     CROSS JOIN LATERAL (
           SELECT 'entities/' || e.id AS source
             FROM entity_types y JOIN entities e ON e.type_id = y.id AND e.key = n.key AND e.deleted_at IS NULL
            WHERE y.key = n.type
            UNION ALL
           SELECT 'documents/' || d.id
             FROM documents d WHERE n.type = 'document' AND d.key = n.key AND d.deleted_at IS NULL) one
     WHERE t.id = ANY(turn_ids) AND t.called IS NOT NULL;
END
$$;
REVOKE ALL ON FUNCTION sources_of FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sources_of TO parlour_app;

-- What became of such sources: the most closed level that any is of by now, and whether any is gone.
CREATE FUNCTION fate_of(told text[]) RETURNS TABLE (level int, is_gone boolean)
    LANGUAGE plpgsql STABLE ROWS 1
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH named AS MATERIALIZED (
        SELECT split_part(one, '/', 1) AS place, substr(one, strpos(one, '/') + 1)::uuid AS id FROM unnest(told) AS one
    ), known AS (
        SELECT e.classification, e.id IS NULL OR e.deleted_at IS NOT NULL AS gone
          FROM named n LEFT JOIN entities e ON e.id = n.id WHERE n.place = 'entities'
         UNION ALL
        SELECT d.classification, d.id IS NULL OR d.deleted_at IS NOT NULL
          FROM named n LEFT JOIN documents d ON d.id = n.id WHERE n.place = 'documents'
         UNION ALL
        SELECT f.classification, COALESCE(f.object_key, '') = ''
          FROM named n LEFT JOIN files f ON f.id = n.id WHERE n.place = 'files'
         UNION ALL
        SELECT r.classification, false
          FROM named n JOIN context_rows r ON r.id = n.id WHERE n.place = 'context_rows'
    )
    SELECT COALESCE(max(k.classification), 0)::int, COALESCE(bool_or(k.gone), false) FROM known k;
END
$$;
REVOKE ALL ON FUNCTION fate_of FROM PUBLIC;
GRANT EXECUTE ON FUNCTION fate_of TO parlour_app;

-- What the agent has understood, assumes and expects in a session, and what is in flux there; version counts its
-- changes.
CREATE TABLE agent_states (
    tenant_id  uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    session_id uuid NOT NULL,
    state      jsonb NOT NULL DEFAULT '{}',
    version    int NOT NULL DEFAULT 1,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, session_id),
    FOREIGN KEY (tenant_id, session_id) REFERENCES sessions (tenant_id, id) ON DELETE CASCADE
);
CALL isolate('agent_states');

-- Which facts and episodes stood in a turn's prompt, in the order of their place, and whether its reply used them; null
-- until there is one.
CREATE TABLE recalls (
    tenant_id  uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    turn_id    uuid NOT NULL,
    place      int NOT NULL,
    fact_id    uuid,
    episode_id uuid,
    score      float8,
    used       boolean,
    at         timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, turn_id, place),
    CHECK (num_nonnulls(fact_id, episode_id) = 1),
    FOREIGN KEY (tenant_id, turn_id) REFERENCES turns (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, fact_id) REFERENCES facts (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, episode_id) REFERENCES episodes (tenant_id, id) ON DELETE CASCADE
);
CALL isolate('recalls');
CREATE INDEX recalls_fact ON recalls (tenant_id, fact_id) WHERE fact_id IS NOT NULL;
CREATE INDEX recalls_episode ON recalls (tenant_id, episode_id) WHERE episode_id IS NOT NULL;

-- Somebody on the web (user_id) says that a number is theirs and agrees that both are one: a code was sent there.
-- contact_id: the user with that number, who was made for it if is_new; null when the number cannot be reached, so that
-- no code was sent. message_id: the message that brought it. tries: codes that were given so far. linked_at: when the
-- right one came.
CREATE TABLE phone_links (
    tenant_id    uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    id           uuid NOT NULL,
    user_id      uuid NOT NULL,
    binding_id   uuid NOT NULL,
    session_id   uuid,
    contact_id   uuid,
    is_new       boolean NOT NULL DEFAULT false,
    message_id   uuid,
    phone        text NOT NULL,
    code_hash    bytea NOT NULL,
    tries        int NOT NULL DEFAULT 0,
    consented_at timestamptz NOT NULL,
    expires_at   timestamptz NOT NULL,
    linked_at    timestamptz,
    created_at   timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, binding_id) REFERENCES bindings (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, session_id) REFERENCES sessions (tenant_id, id) ON DELETE SET NULL (session_id),
    FOREIGN KEY (tenant_id, contact_id) REFERENCES users (tenant_id, id) ON DELETE SET NULL (contact_id),
    FOREIGN KEY (tenant_id, message_id) REFERENCES messages (tenant_id, id) ON DELETE SET NULL (message_id)
);
CALL isolate('phone_links');
CREATE INDEX phone_links_user ON phone_links (tenant_id, user_id, created_at DESC);
CREATE INDEX phone_links_phone ON phone_links (tenant_id, phone, created_at DESC);
CREATE INDEX phone_links_binding ON phone_links (tenant_id, binding_id, created_at DESC);
CREATE INDEX phone_links_contact ON phone_links (tenant_id, contact_id) WHERE contact_id IS NOT NULL;
CREATE INDEX phone_links_message ON phone_links (tenant_id, message_id) WHERE message_id IS NOT NULL;
CREATE INDEX phone_links_session ON phone_links (tenant_id, session_id) WHERE session_id IS NOT NULL;

-- What was begun as a visitor's and is written once they turned out to be somebody else is that user's. It waits for
-- whoever is joining the two.
CREATE FUNCTION follow_merged_user() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    other uuid;
BEGIN
    SELECT u.merged_into INTO other FROM users u WHERE u.tenant_id = NEW.tenant_id AND u.id = NEW.user_id FOR KEY SHARE;
    NEW.user_id := COALESCE(other, NEW.user_id);
    RETURN NEW;
END
$$;
CREATE TRIGGER follow_merged_user BEFORE INSERT ON facts
    FOR EACH ROW WHEN (NEW.user_id IS NOT NULL) EXECUTE FUNCTION follow_merged_user();
CREATE TRIGGER follow_merged_user BEFORE INSERT ON fact_decisions
    FOR EACH ROW WHEN (NEW.user_id IS NOT NULL) EXECUTE FUNCTION follow_merged_user();
CREATE TRIGGER follow_merged_user BEFORE INSERT ON episodes
    FOR EACH ROW EXECUTE FUNCTION follow_merged_user();
CREATE TRIGGER follow_merged_user BEFORE INSERT ON sessions
    FOR EACH ROW WHEN (NEW.channel = 'web') EXECUTE FUNCTION follow_merged_user();

-- Where the raw text of a session's old messages lies: JSON lines in object storage, one a message, by position.
CREATE TABLE archived_messages (
    tenant_id      uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    id             uuid NOT NULL,
    session_id     uuid NOT NULL,
    object_key     text NOT NULL,
    first_position bigint NOT NULL,
    last_position  bigint NOT NULL,
    from_at        timestamptz NOT NULL,
    until_at       timestamptz NOT NULL,
    messages       int NOT NULL,
    size_bytes     bigint NOT NULL,
    sha256         text NOT NULL,
    created_at     timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, session_id, first_position),
    FOREIGN KEY (tenant_id, session_id) REFERENCES sessions (tenant_id, id) ON DELETE CASCADE
);
CALL isolate('archived_messages');

-- archive_id: where the message's words are, if they are here no more.
ALTER TABLE messages
    ADD COLUMN archive_id uuid,
    ADD FOREIGN KEY (tenant_id, archive_id) REFERENCES archived_messages (tenant_id, id)
        ON DELETE SET NULL (archive_id);
CREATE INDEX messages_archived ON messages (tenant_id, archive_id) WHERE archive_id IS NOT NULL;

-- What an archived message says, as its searchable row has it; nothing where it has none. It runs as its caller, under
-- row-level security. Who reads messages that may be old reads `CASE WHEN archive_id IS NULL THEN body ELSE
-- words_of(id) END`: few are archived, and no call is made for the others.
CREATE FUNCTION words_of(archived uuid) RETURNS text
    LANGUAGE plpgsql STABLE
AS $$
BEGIN
    RETURN COALESCE((SELECT substr(r.content, (r.metadata ->> 'lead')::int + 1)
                       FROM context_rows r WHERE r.message_id = archived), '');
END
$$;
REVOKE ALL ON FUNCTION words_of FROM PUBLIC;
GRANT EXECUTE ON FUNCTION words_of TO parlour_app;

-- Every time somebody had something forgotten: what, and what was removed where. report: table, id and what was done of
-- each row, and what is out of reach; it holds nothing of what was forgotten. While one is under way, whoever asks again
-- goes on with it: seen: how far records of prompts were looked through; left_over: what is left to do, with addresses and
-- ids; told: the report so far; done: what is done of it. With the end these are empty.
CREATE TABLE forgettings (
    tenant_id    uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    id           uuid NOT NULL,
    kind         text NOT NULL CHECK (kind IN ('user', 'message', 'file', 'fact')),
    target_id    uuid NOT NULL,
    asked_by     text NOT NULL,
    keep_records boolean NOT NULL DEFAULT false,
    state        text NOT NULL CHECK (state IN ('under way', 'done')),
    report       jsonb NOT NULL DEFAULT '{}',
    at           timestamptz NOT NULL,
    seen         jsonb,
    left_over    jsonb,
    told         jsonb,
    done         jsonb,
    PRIMARY KEY (tenant_id, id),
    CHECK (state = 'under way' OR num_nonnulls(seen, left_over, told, done) = 0)
);
CALL isolate('forgettings');
CREATE INDEX forgettings_time ON forgettings (tenant_id, at DESC);
CREATE INDEX forgettings_target ON forgettings (tenant_id, target_id, kind);
CREATE UNIQUE INDEX forgettings_under_way ON forgettings (tenant_id, kind, target_id) WHERE state = 'under way';

-- A tenant's old messages are looked at every day from now on, whether anything of theirs is ever remembered or not.
ALTER TABLE tenants NO FORCE ROW LEVEL SECURITY;
ALTER TABLE work_due NO FORCE ROW LEVEL SECURITY;
INSERT INTO work_due (tenant_id, kind, id, due_at)
SELECT t.tenant_id, 'archive', t.tenant_id, GREATEST(t.created_at + interval '90 days', now() + interval '1 day')
  FROM tenants t
ON CONFLICT DO NOTHING;
SET CONSTRAINTS ALL IMMEDIATE; -- no table is altered while its deferred triggers wait
ALTER TABLE tenants FORCE ROW LEVEL SECURITY;
ALTER TABLE work_due FORCE ROW LEVEL SECURITY;
