import type { AreaState } from "../../kernel/area.ts"
import type { EnginePort, VolumeState } from "../../ports/engine/port.ts"

/** How the area is: as its engine is, with what that can do and runs. */
export const databasesState = async (engine: EnginePort): Promise<AreaState> => {
  const health = await engine.health()
  const running = engine.running()
  const count = (state: VolumeState) => running.filter(instance => instance.state === state).length
  const instances = {
    active: count("active"),
    starting: count("starting"),
    stopping: count("stopping"),
    unprotected: running.filter(({ protection }) => protection === "asynchronous").length,
  }
  const { verifiers, readOnlyVolumes, ...offered } = engine.capabilities
  const capabilities = {
    ...offered,
    // Both answer a login themselves, by what the server keeps of the password.
    pooler: verifiers,
    channel_binding: verifiers,
    disk_quota: readOnlyVolumes,
    instances,
  }
  if (health.ok) return { status: "available", capabilities }
  return { status: "degraded", reason: "the database engine does not respond", capabilities }
}
