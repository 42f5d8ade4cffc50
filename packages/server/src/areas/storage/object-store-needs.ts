import type { Clock } from "../../kernel/clock.ts"
import type { Changes } from "../../kernel/db/changes.ts"
import type { Database } from "../../kernel/db/database.ts"
import type { BlobPort } from "../../ports/blob/port.ts"
import type { Claims } from "./claims.ts"
import type { ObjectEvents } from "./object-events.ts"
import type { Quota } from "./quota.ts"
import type { Receive } from "./receive.ts"

/** What storing objects takes. One of each a process: claims and quota work by knowing of all writers. */
export interface ObjectStoreNeeds {
  readonly database: Database
  readonly changes: Changes
  readonly blob: BlobPort
  readonly claims: Claims
  readonly quota: Quota
  readonly clock: Clock
  readonly receive: Receive
  readonly objectEvents: ObjectEvents
}
