/* SPDX-License-Identifier: Apache-2.0 */
/* plain_sql DATABASE STATEMENT: the rows of a statement as a table, by nothing but SQLite. It is
 * the floor of lists of gpuaasctl, which print as much. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS_MAX 32

static void must(int fine, const char *why)
{
    if (!fine) {
        fprintf(stderr, "plain_sql: %s\n", why);
        exit(1);
    }
}

/* Writes the cells, each with its end; finds how wide the columns are. Returns the rows. */
static size_t cells_read(sqlite3_stmt *row, int columns, int widths[COLUMNS_MAX], FILE *out)
{
    size_t rows = 0;
    for (; sqlite3_step(row) == SQLITE_ROW; rows++) {
        for (int i = 0; i < columns; i++) {
            const char *text = (const char *)sqlite3_column_text(row, i);
            int length = sqlite3_column_bytes(row, i);
            fwrite_unlocked(text != NULL ? text : "", 1, (size_t)length, out);
            putc_unlocked(0, out);
            widths[i] = length > widths[i] ? length : widths[i];
        }
    }
    return rows;
}

int main(int count, char **arguments)
{
    sqlite3 *db;
    sqlite3_stmt *row;
    int widths[COLUMNS_MAX] = {0};
    char *cells = NULL;
    size_t size = 0;
    must(count == 3, "give a database and a statement");
    must(sqlite3_open_v2(arguments[1], &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK,
         "it cannot be opened");
    must(sqlite3_prepare_v2(db, arguments[2], -1, &row, NULL) == SQLITE_OK, sqlite3_errmsg(db));
    int columns = sqlite3_column_count(row);
    must(columns > 0 && columns <= COLUMNS_MAX, "too many columns");
    FILE *out = open_memstream(&cells, &size);
    must(out != NULL, "no memory");
    size_t rows = cells_read(row, columns, widths, out);
    must(fclose(out) == 0, "no memory");
    const char *at = cells;
    for (size_t i = 0; i < rows; i++) {
        for (int column = 0; column < columns; column++) {
            size_t length = strlen(at);
            fwrite_unlocked(at, 1, length, stdout);
            for (size_t wide = length; wide < (size_t)widths[column] + 2; wide++) {
                putc_unlocked(' ', stdout);
            }
            at += length + 1;
        }
        putc_unlocked('\n', stdout);
    }
    free(cells);
    sqlite3_finalize(row);
    sqlite3_close(db);
    return 0;
}
