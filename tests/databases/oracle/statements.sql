CREATE TABLE IF NOT EXISTS "keybench_lock" (held NUMBER)
LOCK TABLE "keybench_lock" IN EXCLUSIVE MODE NOWAIT
SELECT product, version_full FROM product_component_version
SELECT name, value FROM v$parameter WHERE name IN ('commit_logging', 'commit_wait', 'db_block_size', 'db_cache_size', 'sga_target', 'pga_aggregate_target', 'nls_comp', 'nls_sort') ORDER BY name
SELECT group#, bytes, status FROM v$log ORDER BY group#
SELECT parameter, value FROM nls_session_parameters WHERE parameter IN ('NLS_COMP', 'NLS_SORT') ORDER BY 1
DROP TABLE IF EXISTS "rows" PURGE
DROP TABLE IF EXISTS "keybench_statistics" PURGE
CREATE TABLE "keybench_statistics" (name VARCHAR2(64) NOT NULL, value NUMBER NOT NULL)
CREATE TABLE "rows" (key RAW(16) NOT NULL, payload VARCHAR2(100 BYTE) NOT NULL, CONSTRAINT "rows_key" PRIMARY KEY (key)) ORGANIZATION INDEX
SELECT n.name, s.value FROM v$mystat s JOIN v$statname n ON n.statistic# = s.statistic# WHERE n.name IN ('leaf node splits', 'leaf node 90-10 splits', 'branch node splits', 'root node splits', 'redo size')
INSERT INTO "rows" (key, payload) VALUES (:key, :payload)
BEGIN DBMS_STATS.GATHER_TABLE_STATS(USER, :name, cascade => TRUE); END;
SELECT key, payload FROM "rows" WHERE key = :low
SELECT key, payload FROM "rows" WHERE key BETWEEN :low AND :high
DELETE FROM "rows" WHERE key = :key
INSERT INTO "keybench_statistics" (name, value) VALUES (:name, :value)
SELECT name, SUM(value) FROM "keybench_statistics" GROUP BY name
ANALYZE INDEX "rows_key" VALIDATE STRUCTURE
SELECT height, lf_rows, lf_blks, lf_rows_len, lf_blk_len, br_blks FROM index_stats
SELECT segment_name, SUM(bytes) FROM user_segments WHERE segment_name IN (:first, :second) GROUP BY segment_name
SELECT key FROM "rows"
SELECT key FROM "rows" ORDER BY key
ALTER TABLE "rows" MOVE PCTFREE 10
CREATE TABLE "rows" (key CHAR(36) NOT NULL)
CREATE UNIQUE INDEX "rows_key" ON "rows" (key)
INSERT INTO "rows" (key) VALUES (:key)
SELECT key FROM "rows" WHERE key = :low
SELECT key FROM "rows" WHERE key BETWEEN :low AND :high
SELECT key FROM "rows" ORDER BY ROWID
ALTER INDEX "rows_key" REBUILD PCTFREE 10
CREATE TABLE "rows" (key NUMBER(19) NOT NULL, payload CLOB NOT NULL)
CREATE TABLE "rows" (created NUMBER(19) NOT NULL, key RAW(16) NOT NULL, payload VARCHAR2(100 BYTE) NOT NULL)
CREATE INDEX "rows_created" ON "rows" (created)
INSERT INTO "rows" (created, key, payload) VALUES (:created, :key, :payload)
DROP TABLE IF EXISTS "rows_parent" PURGE
CREATE TABLE "rows_parent" (key RAW(16) NOT NULL, payload VARCHAR2(100 BYTE) NOT NULL, CONSTRAINT "rows_parent_key" PRIMARY KEY (key)) ORGANIZATION INDEX
CREATE TABLE "rows" (key RAW(16) NOT NULL, payload VARCHAR2(100 BYTE) NOT NULL)
CREATE INDEX "rows_key" ON "rows" (key)
INSERT INTO "rows_parent" (key, payload) VALUES (:key, :payload)
CREATE TABLE "rows" (key NUMBER(19) GENERATED ALWAYS AS IDENTITY (CACHE 20) NOT NULL, payload VARCHAR2(100 BYTE) NOT NULL, CONSTRAINT "rows_key" PRIMARY KEY (key)) ORGANIZATION INDEX
INSERT INTO "rows" (payload) VALUES (:payload)
CREATE TABLE "rows" (key NUMBER(19) GENERATED ALWAYS AS IDENTITY (CACHE 1000) NOT NULL, payload VARCHAR2(100 BYTE) NOT NULL, CONSTRAINT "rows_key" PRIMARY KEY (key)) ORGANIZATION INDEX
CREATE TABLE "rows" (key NUMBER(19) GENERATED ALWAYS AS IDENTITY (NOCACHE) NOT NULL, payload VARCHAR2(100 BYTE) NOT NULL, CONSTRAINT "rows_key" PRIMARY KEY (key)) ORGANIZATION INDEX
CREATE TABLE "rows" (key RAW(16) DEFAULT SYS_GUID() NOT NULL, payload VARCHAR2(100 BYTE) NOT NULL, CONSTRAINT "rows_key" PRIMARY KEY (key)) ORGANIZATION INDEX
DROP TABLE IF EXISTS "keybench_board" PURGE
COMMIT WRITE BATCH NOWAIT
CREATE TABLE IF NOT EXISTS "keybench_board" (load_id NUMBER(19) NOT NULL, writer NUMBER(19) NOT NULL, stage NUMBER(19) NOT NULL, ahead NUMBER(19) NOT NULL, sent NUMBER(19) NOT NULL, gone NUMBER(19) NOT NULL, PRIMARY KEY (load_id, writer))
INSERT INTO "keybench_board" (load_id, writer, stage, ahead, sent, gone) VALUES (:load_id, :writer, :stage, 0, 0, 0)
UPDATE "keybench_board" SET stage = 0 WHERE load_id = :load_id AND writer = :writer AND stage < 0
UPDATE "keybench_board" SET stage = :stage, ahead = :ahead, sent = :sent WHERE load_id = :load_id AND writer = :writer
SELECT MIN(CASE WHEN writer >= 0 THEN stage END), MIN(CASE WHEN writer >= 0 THEN ahead END), MAX(CASE WHEN writer < 0 THEN stage END), MAX(CASE WHEN writer < 0 THEN gone END) FROM "keybench_board" WHERE load_id = :load_id
UPDATE "keybench_board" SET stage = stage + 1 WHERE load_id = :load_id AND writer < 0
SELECT SUM(sent) FROM "keybench_board" WHERE load_id = :load_id AND writer >= 0
SELECT writer FROM "keybench_board" WHERE load_id = :load_id AND writer >= 0 AND stage >= 0 AND gone = 0
UPDATE "keybench_board" SET gone = 1 WHERE load_id = :load_id AND writer = :writer
UPDATE "keybench_board" SET gone = 1 WHERE load_id = :load_id AND writer < 0
SELECT 1 FROM dual
SELECT t.table_name FROM user_tables t WHERE EXISTS (SELECT 1 FROM user_tab_columns c WHERE c.table_name = t.table_name AND c.column_name = 'KEY') AND NOT EXISTS (SELECT 1 FROM user_tab_columns c WHERE c.table_name = t.table_name AND c.column_name NOT IN ('KEY', 'PAYLOAD', 'CREATED')) AND t.table_name LIKE 'keybench%' ORDER BY t.table_name
DROP TABLE "keybench_rows" PURGE
DROP TABLE IF EXISTS "keybench_lock" PURGE
SELECT group# FROM v$log WHERE group# IN (11, 12, 13)
ALTER DATABASE ADD LOGFILE GROUP 11 SIZE 1024M
ALTER DATABASE ADD LOGFILE GROUP 12 SIZE 1024M
ALTER DATABASE ADD LOGFILE GROUP 13 SIZE 1024M
SELECT group# FROM v$log WHERE group# NOT IN (11, 12, 13) AND status IN ('CURRENT', 'ACTIVE') ORDER BY group#
ALTER SYSTEM SWITCH LOGFILE
ALTER SYSTEM CHECKPOINT GLOBAL
SELECT group# FROM v$log WHERE group# NOT IN (11, 12, 13) ORDER BY group#
ALTER DATABASE DROP LOGFILE GROUP 1
ALTER DATABASE DROP LOGFILE GROUP 2
ALTER SYSTEM SET commit_wait = NOWAIT SCOPE = MEMORY
ALTER SYSTEM SET db_cache_size = 64M SCOPE = MEMORY
SELECT username FROM all_users WHERE username = 'KEYBENCH'
DROP USER KEYBENCH CASCADE
DROP TABLESPACE KEYBENCH INCLUDING CONTENTS AND DATAFILES
CREATE BIGFILE TABLESPACE KEYBENCH DATAFILE 'keybench.dbf' SIZE 2G REUSE AUTOEXTEND ON NEXT 256M
CREATE USER KEYBENCH IDENTIFIED BY "" DEFAULT TABLESPACE KEYBENCH QUOTA UNLIMITED ON KEYBENCH
GRANT CREATE SESSION, CREATE TABLE, CREATE SEQUENCE TO KEYBENCH
GRANT READ ON sys.v_$mystat TO KEYBENCH
GRANT READ ON sys.v_$statname TO KEYBENCH
GRANT READ ON sys.v_$parameter TO KEYBENCH
GRANT READ ON sys.v_$log TO KEYBENCH
