"""Metadata of the tables of search: words beside rows, how far they go, who asked."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Identity,
    Index,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, TSVECTOR


def add(metadata: MetaData) -> None:
    """Add them; the tables `nearest_…` are made where pgvector is, by no migration."""
    plain = Text(collation="C")
    Table(
        "search_text",
        metadata,
        *(Column(name, plain, nullable=False) for name in ("tenant", "kind", "id")),
        Column("at", BigInteger, nullable=False),
        Column("speaker", plain),
        Column("lead_name", plain),
        Column("words", TSVECTOR, nullable=False),
        PrimaryKeyConstraint("tenant", "kind", "id", name="search_text_pkey"),
        Index("search_text_words", "words", postgresql_using="gin"),
        *(
            Index(f"search_text_{name}", "tenant", "kind", name)
            for name in ("at", "speaker", "lead_name")
        ),
    )
    Table(
        "search_reached",
        metadata,
        *(Column(name, plain, nullable=False) for name in ("tenant", "source")),
        *(Column(name, BigInteger, nullable=False) for name in ("upto", "indexed_at")),
        PrimaryKeyConstraint("tenant", "source", name="search_reached_pkey"),
    )
    Table(
        "turn_vector",
        metadata,
        *(Column(name, plain, nullable=False) for name in ("tenant", "turn", "model")),
        *(Column(name, BigInteger, nullable=False) for name in ("view", "chunk", "dims")),
        Column("before", plain),
        Column("vector", LargeBinary, nullable=False),
        Column("seq", BigInteger, Identity(always=True), nullable=False),
        PrimaryKeyConstraint("tenant", "turn", "model", "view", "chunk", name="turn_vector_pkey"),
        Index("turn_vector_before", "tenant", "before"),
        Index("turn_vector_seq", "tenant", "model", "seq"),
    )
    Table(
        "turn_waiting",
        metadata,
        *(Column(name, plain, nullable=False) for name in ("tenant", "model", "turn")),
        PrimaryKeyConstraint("tenant", "model", "turn", name="turn_waiting_pkey"),
    )
    Table(
        "searched",
        metadata,
        *(Column(name, plain, nullable=False) for name in ("tenant", "id")),
        Column("at", BigInteger, nullable=False),
        Column("login", plain, nullable=False),
        Column("machine", plain),
        Column("kinds", ARRAY(Text), nullable=False),
        Column("opened_in", BigInteger, nullable=False),
        Column("rows_read", BigInteger, nullable=False, server_default=text("0")),
        Column("given", JSONB, nullable=False, server_default=text("'[]'::jsonb")),
        Column("ended_at", BigInteger),
        PrimaryKeyConstraint("tenant", "id", name="searched_pkey"),
        Index("searched_at", "tenant", "at"),
    )
    chatlog = metadata.tables["satchel.chatlog"]
    beside = (chatlog.c[name] for name in ("tenant", "conversation_id", "ordinal", "id"))
    short = text("octet_length(conversation_id) <= 800")
    Index("chatlog_conversation", *beside, postgresql_where=short)
