import type { Fanout } from "../fanout.ts"
import type { Changes } from "./changes.ts"
import type { Db } from "./database.ts"

/** By NOTIFY, on the connection that brings the changes for caches as well. */
export const createDatabaseFanout = (db: Db, changes: Changes): Fanout => ({
  tell: (topic, ids) => changes.notify(db, topic, ids.join(",")),
  subscribe: (topic, hear) => changes.subscribe(topic, ids => hear(ids?.split(","))),
})
