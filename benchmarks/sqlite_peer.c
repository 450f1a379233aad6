/* The native peer of the SQLite engine: binds and steps one prepared INSERT, one transaction per ROWS rows.
 *
 * peer DATABASE STATEMENT FILE N PAYLOAD ROWS [PRAGMA …]
 *
 * FILE holds N keys of 16 bytes, then N payloads of PAYLOAD bytes; it is read before the clock starts.
 * Prints the seconds from the first BEGIN to the last COMMIT, and the version of the library.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static sqlite3 *db;

static void check(int code)
{
    if (code == SQLITE_OK || code == SQLITE_DONE || code == SQLITE_ROW)
        return;
    fprintf(stderr, "peer: %s\n", db ? sqlite3_errmsg(db) : sqlite3_errstr(code));
    exit(1);
}

static sqlite3_stmt *prepare(const char *sql)
{
    sqlite3_stmt *statement;
    check(sqlite3_prepare_v2(db, sql, -1, &statement, NULL));
    return statement;
}

static void run(sqlite3_stmt *statement)
{
    check(sqlite3_step(statement));
    check(sqlite3_reset(statement));
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    if (argc < 7)
        return 2;
    long n = atol(argv[4]), payload = atol(argv[5]), rows = atol(argv[6]);
    size_t size = (size_t)n * (size_t)(16 + payload);
    char *keys = malloc(size);
    FILE *file = fopen(argv[3], "rb");
    if (!keys || !file || fread(keys, 1, size, file) != size) {
        fprintf(stderr, "peer: %s cannot be read\n", argv[3]);
        return 1;
    }
    fclose(file);
    const char *texts = keys + 16 * n;

    check(sqlite3_open_v2(argv[1], &db, SQLITE_OPEN_READWRITE, NULL));
    for (int i = 7; i < argc; i++)
        check(sqlite3_exec(db, argv[i], NULL, NULL, NULL));
    sqlite3_stmt *begin = prepare("BEGIN IMMEDIATE"), *commit = prepare("COMMIT"), *insert = prepare(argv[2]);

    double start = now();
    for (long first = 0; first < n; first += rows) {
        run(begin);
        for (long i = first; i < first + rows && i < n; i++) {
            check(sqlite3_bind_blob(insert, 1, keys + 16 * i, 16, SQLITE_STATIC));
            if (payload)
                check(sqlite3_bind_text(insert, 2, texts + payload * i, (int)payload, SQLITE_STATIC));
            run(insert);
        }
        run(commit);
    }
    printf("%.6f %s\n", now() - start, sqlite3_libversion());

    sqlite3_finalize(begin);
    sqlite3_finalize(commit);
    sqlite3_finalize(insert);
    check(sqlite3_close(db));
    free(keys);
    return 0;
}
