-- What this version of the functions speaks, and the tenant of the first day; safe to repeat.
INSERT INTO satchel.hub (protocol, schema) VALUES (@protocol@, @schema@)
ON CONFLICT (singleton) DO UPDATE SET protocol = excluded.protocol, schema = excluded.schema;
SELECT satchel.add_tenant('@tenant@');
