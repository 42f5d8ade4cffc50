import type { AreaState } from "../../kernel/area.ts"
import type { BlobPort } from "../../ports/blob/port.ts"

/** Every tenant may read this; what the engine says of itself (addresses, paths) is for the log alone. */
export const stateOf = async (blob: BlobPort): Promise<AreaState> => {
  const { ok } = await blob.health()
  if (ok) return { status: "available", capabilities: { ...blob.capabilities } }
  return { status: "degraded", reason: "the object store does not respond", setting: "SVC_BLOB_S3_URL" }
}
