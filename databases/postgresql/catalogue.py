"""Queries of the catalogue for a look at a database of somebody else's."""

from typing import Final

SINCE: Final = """
SELECT to_char(stats_reset AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') FROM pg_stat_database
WHERE datname = current_database() AND stats_reset IS NOT NULL
"""

LIMITS: Final = "SELECT setting::int FROM pg_settings WHERE name IN ('lock_timeout', 'statement_timeout') ORDER BY name"
"""In milliseconds; 0 is none."""

TABLES: Final = """
WITH held AS MATERIALIZED (
  SELECT relation FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND relation IS NOT NULL AND pid <> pg_backend_pid()
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())),
locked AS MATERIALIZED (
  SELECT relation FROM held UNION SELECT indrelid FROM pg_index WHERE indexrelid IN (SELECT relation FROM held)
  UNION SELECT oid FROM pg_class WHERE reltoastrelid IN (SELECT relation FROM held))
SELECT n.nspname, c.relname, c.relkind::text, c.oid::bigint, coalesce(pn.nspname || '.' || p.relname, ''),
       CASE WHEN c.relkind IN ('r', 'm') AND c.oid NOT IN (SELECT relation FROM locked)
         THEN pg_total_relation_size(c.oid) END,
       (has_table_privilege(c.oid, 'SELECT') OR has_any_column_privilege(c.oid, 'SELECT'))
         AND has_schema_privilege(n.oid, 'USAGE'), row_security_active(c.oid), c.reltuples::float8, c.relpages,
       pg_relation_size(CASE WHEN c.relkind IN ('r', 'm') AND c.oid NOT IN (SELECT relation FROM locked) THEN c.oid END)
         / current_setting('block_size')::bigint,
       s.n_tup_ins, c.oid IN (SELECT relation FROM locked),
       (SELECT count(*) FROM pg_constraint k WHERE k.confrelid = c.oid AND k.contype = 'f' AND k.conparentid = 0)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_inherits i ON i.inhrelid = c.oid AND c.relispartition
LEFT JOIN pg_class p ON p.oid = i.inhparent LEFT JOIN pg_namespace pn ON pn.oid = p.relnamespace
LEFT JOIN pg_stat_user_tables s ON s.relid = c.oid
WHERE c.relkind IN ('r', 'v', 'm', 'p', 'f') AND n.nspname NOT IN ('pg_catalog', 'information_schema')
  AND n.nspname !~ '^pg_(toast|temp)'
ORDER BY 6 DESC NULLS LAST, 1, 2
"""
"""Sizes would wait for the lock of a table that is being altered."""

INDEXES: Final = """
SELECT c.relname, i.indexrelid::bigint, i.indisprimary, i.indisunique, i.indpred IS NOT NULL,
       i.indkey::int2[], i.indnkeyatts, am.amname, c.reloptions,
       (SELECT array_agg(a.attname ORDER BY k.place) FROM unnest(i.indkey::int2[]) WITH ORDINALITY k (number, place)
        JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number WHERE k.place <= i.indnkeyatts)
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am am ON am.oid = c.relam
WHERE i.indrelid = %s AND i.indisvalid ORDER BY i.indisprimary DESC, i.indisunique DESC, c.relname
"""

FOREIGN: Final = """
SELECT (SELECT array_agg(a.attname ORDER BY k.place) FROM unnest(c.conkey) WITH ORDINALITY k (number, place)
        JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.number)
FROM pg_constraint c WHERE c.conrelid = %s AND c.contype = 'f'
"""

COLUMNS: Final = """
SELECT a.attname, b.typname, a.attlen, format_type(a.atttypid, a.atttypmod),
       has_column_privilege(a.attrelid, a.attnum, 'SELECT')
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid JOIN pg_type b
  ON b.oid = CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END
WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped
"""
