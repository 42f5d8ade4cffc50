import type { Lane } from "./lane.ts"

/** Lanes that have something to send: tenants take turns, and the lanes of each. */
export const createTurns = () => {
  const tenants = new Map<string, Map<string, Lane>>()

  return {
    add(lane: Lane): void {
      const { tenantId, endpointId } = lane.of
      const lanes = tenants.get(tenantId)
      if (lanes) lanes.set(endpointId, lane)
      else tenants.set(tenantId, new Map([[endpointId, lane]]))
    },

    remove({ of: { tenantId, endpointId } }: Lane): void {
      const lanes = tenants.get(tenantId)
      lanes?.delete(endpointId)
      if (lanes?.size === 0) tenants.delete(tenantId)
    },

    /** Whose turn it is; it comes after all others then. */
    next(): Lane | undefined {
      const [first] = tenants
      if (!first) return undefined
      const [tenantId, lanes] = first
      const [turn] = lanes.values()
      tenants.delete(tenantId)
      tenants.set(tenantId, lanes)
      if (!turn) return undefined
      lanes.delete(turn.of.endpointId)
      lanes.set(turn.of.endpointId, turn)
      return turn
    },
  }
}
