import type { Db } from "../../kernel/db/database.ts"
import type { Tables } from "../../kernel/db/tables.gen.ts"

export type ClientRow = Tables["oauth.clients"]

/** Rows of oauth.clients. They belong to the installation, as a client knows of no organization before a person consents. */
export const clientStore = (db: Db) => ({
  insert: (row: ClientRow): Promise<unknown> => db.insertInto("oauth.clients").values(row).execute(),
})
