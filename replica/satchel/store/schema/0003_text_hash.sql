-- The hash of what is embedded of a memory (store/embedded_text.py): a vector counts while its
-- `content_hash` is this. Local and derived, it never travels. Triggers empty it when the text
-- changes, whoever writes; sealing fills it. '' is text that cannot be embedded.
ALTER TABLE memory ADD COLUMN text_hash TEXT;
CREATE INDEX memory_unhashed ON memory(row) WHERE text_hash IS NULL AND content IS NOT NULL;
