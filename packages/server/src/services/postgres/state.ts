import type { AreaState } from "../../kernel/area.ts"
import type { EnginePort } from "../../ports/engine/port.ts"

/** How an area of databases is: as the engine that runs their servers is. */
export const engineState = async (engine: EnginePort): Promise<AreaState> =>
  (await engine.health()).ok
    ? { status: "available" }
    : { status: "degraded", reason: "the database engine does not respond" }
