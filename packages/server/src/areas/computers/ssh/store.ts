import { sql } from "kysely"
import type { Db } from "../../../kernel/db/database.ts"
import type { ComputerRow } from "../store.ts"
import type { LoginName } from "./login-name.ts"

/** More than one, to tell that there are several. */
const FOUND_MAX = 2

/** The computers that a login names, of all tenants; of those, only what has this key on its record. */
export const findByKey = (db: Db, { computer }: LoginName, key: Buffer): Promise<ComputerRow[]> => {
  // Compared without the padding, which some leave out.
  const text = key.toString("base64").replace(/=+$/, "")
  const holds = sql<boolean>`EXISTS (
    SELECT FROM unnest(ssh_keys) line WHERE rtrim(split_part(line, ' ', 2), '=') = ${text})`
  const having = db.selectFrom("computers.computers").selectAll().where(holds).limit(FOUND_MAX)
  if ("id" in computer) return having.where("id", "=", computer.id).execute()
  const named = having.where("name", "=", computer.name)
  const { ownerId } = computer
  return (ownerId === undefined ? named : named.where("owner_id", "=", ownerId)).execute()
}
