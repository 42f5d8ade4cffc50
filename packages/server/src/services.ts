/** Everything that an area may ask for by name in its `needs`. */
import type { AreaDefinition } from "./kernel/area.ts"
import type { Clock } from "./kernel/clock.ts"
import type { Database } from "./kernel/db/database.ts"
import type { Logger } from "./kernel/log.ts"
import type { KvPort } from "./ports/kv/port.ts"

export interface Services {
  readonly database: Database
  readonly clock: Clock
  readonly log: Logger
  readonly kv: KvPort
}

/** Types an area's `start` by the needs it lists, and by nothing else. */
export const defineArea = <const Need extends keyof Services>(
  area: AreaDefinition<Services, Need>,
): AreaDefinition<Services> => area as unknown as AreaDefinition<Services>
