"""What searches over all machines need: words of rows, how far they are indexed, who searched.

`search_text` holds stems and ids, no text. It lies beside the rows because row-level security lets
no index be used that could tell of a row (ADR 0037): its policy names the owner only, and whatever
it finds is read through the guarded tables. The others are guarded as all are (`rights.sql`).
"""

from __future__ import annotations

from alembic import op

revision = "0007"
down_revision = "0006"

WORDS = """
CREATE TEXT SEARCH DICTIONARY satchel.stem (TEMPLATE = pg_catalog.snowball, LANGUAGE = porter);
CREATE TEXT SEARCH CONFIGURATION satchel.words (PARSER = pg_catalog."default");
ALTER TEXT SEARCH CONFIGURATION satchel.words ADD MAPPING FOR
    asciiword, word, numword, asciihword, hword, numhword, hword_asciipart, hword_part,
    hword_numpart, int, uint, float, sfloat, version, host, email, url, url_path, file
    WITH satchel.stem;
"""

TABLES = """
CREATE TABLE satchel.search_text (
    tenant text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    speaker text COLLATE "C",
    lead_name text COLLATE "C",
    words tsvector NOT NULL,
    CONSTRAINT search_text_pkey PRIMARY KEY (tenant, kind, id)
);
CREATE INDEX search_text_words ON satchel.search_text USING gin (words);
CREATE INDEX search_text_at ON satchel.search_text (tenant, kind, at);
CREATE INDEX search_text_speaker ON satchel.search_text (tenant, kind, speaker);
CREATE INDEX search_text_lead_name ON satchel.search_text (tenant, kind, lead_name);

-- Up to which change sequence rows are indexed: words by kind, vectors by the table of their model.
CREATE TABLE satchel.search_reached (
    tenant text COLLATE "C" NOT NULL,
    source text COLLATE "C" NOT NULL,
    upto bigint NOT NULL,
    indexed_at bigint NOT NULL,
    CONSTRAINT search_reached_pkey PRIMARY KEY (tenant, source)
);

-- Vectors of chat turns, which replicas keep to themselves: `warehouse index` makes them here. With
-- the turn before (view 0) and alone (view 1), as satchel.embedding.turn_vectors has them.
CREATE TABLE satchel.turn_vector (
    tenant text COLLATE "C" NOT NULL,
    turn text COLLATE "C" NOT NULL,
    model text COLLATE "C" NOT NULL,
    view bigint NOT NULL,
    chunk bigint NOT NULL,
    dims bigint NOT NULL,
    before text COLLATE "C",
    vector bytea NOT NULL,
    seq bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    CONSTRAINT turn_vector_pkey PRIMARY KEY (tenant, turn, model, view, chunk)
);
-- Turns whose vectors went with the turn before them, by model: they are made anew.
CREATE TABLE satchel.turn_waiting (
    tenant text COLLATE "C" NOT NULL,
    model text COLLATE "C" NOT NULL,
    turn text COLLATE "C" NOT NULL,
    CONSTRAINT turn_waiting_pkey PRIMARY KEY (tenant, model, turn)
);
CREATE INDEX turn_vector_before ON satchel.turn_vector (tenant, before);
CREATE INDEX turn_vector_seq ON satchel.turn_vector (tenant, model, seq);

-- Who searched, when, in what, and which rows were given: never what was asked. `opened_in` is the
-- transaction that opened the search: in it nothing is given, as it may be rolled back.
CREATE TABLE satchel.searched (
    tenant text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    login text COLLATE "C" NOT NULL,
    machine text COLLATE "C",
    kinds text[] NOT NULL,
    opened_in bigint NOT NULL,
    rows_read bigint NOT NULL DEFAULT 0,
    given jsonb NOT NULL DEFAULT '[]'::jsonb,
    ended_at bigint,
    CONSTRAINT searched_pkey PRIMARY KEY (tenant, id)
);
CREATE INDEX searched_at ON satchel.searched (tenant, at);

-- A search reads what stands beside a turn. A longer name fits into no index; such a conversation
-- is stored, and its turns are found without what stands beside them.
CREATE INDEX chatlog_conversation ON satchel.chatlog (tenant, conversation_id, ordinal, id)
    WHERE octet_length(conversation_id) <= 800;
"""

OWNER_ONLY = """
ALTER TABLE satchel.search_text ENABLE ROW LEVEL SECURITY;
ALTER TABLE satchel.search_text FORCE ROW LEVEL SECURITY;
CREATE POLICY owner_only ON satchel.search_text TO satchel_owner USING (true) WITH CHECK (true);
"""


def upgrade() -> None:
    """Add the tables; rows are indexed by `warehouse index`, or by who searches."""
    op.execute(WORDS)
    op.execute(TABLES)
    op.execute(OWNER_ONLY)


def downgrade() -> None:
    """There is no way back: a warehouse is restored from a backup."""
    raise NotImplementedError("a warehouse is not downgraded; restore a backup instead")
