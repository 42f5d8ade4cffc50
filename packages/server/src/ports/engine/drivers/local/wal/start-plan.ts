import { PortError } from "../../../../port-error.ts"
import type { Archive } from "./archive.ts"
import { formatLsn, segmentAt, segmentStart, type TimelineSwitch } from "./position.ts"
import type { Slot, SystemIdentity } from "./replication.ts"

export interface LogPlace {
  readonly timeline: number
  /** The beginning of a segment. */
  readonly position: bigint
}

const refuse = (reason: string): never => {
  throw new PortError("refused", `the archive cannot go on: ${reason}`)
}

const beginningOf = (position: bigint, segmentBytes: number): bigint =>
  segmentStart(segmentAt(position, segmentBytes), segmentBytes)

/** After the last complete segment, or at the beginning of one that was not finished. */
const endOf = ({ segments, segmentBytes = 0 }: Archive): LogPlace | undefined => {
  const last = segments.at(-1)
  if (!last) return undefined
  const next = last.isPartial ? last.number : last.number + 1n
  return { timeline: last.timeline, position: segmentStart(next, segmentBytes) }
}

/**
 * Where the archive of a server goes on. An archive that is new begins where the slot does. Throws `refused` when what
 * the archive holds is not a part of the server's history: going on would mix two histories, and neither could be
 * restored any more.
 */
export const planStart = (options: {
  readonly archive: Archive
  readonly server: SystemIdentity
  /** The ancestors of the server's timeline, oldest first. */
  readonly history: readonly TimelineSwitch[]
  readonly slot: NonNullable<Slot["restart"]>
}): LogPlace => {
  const { archive, server, history, slot } = options
  const { segmentBytes } = server
  const end = endOf(archive)
  if (!end) return { timeline: slot.timeline, position: beginningOf(slot.position, segmentBytes) }
  if (archive.systemId !== server.systemId || archive.segmentBytes !== segmentBytes)
    refuse("it is that of another cluster")
  if (end.timeline === server.timeline) {
    if (end.position > server.flushed)
      refuse(`it reaches ${formatLsn(end.position)}, the server only ${formatLsn(server.flushed)}`)
    return end
  }
  const left = history.findIndex(({ timeline }) => timeline === end.timeline)
  const parted = history[left]
  if (!parted) return refuse(`its timeline ${end.timeline} is not in the history of the server's`)
  if (end.position <= parted.at) return end
  const heir = history[left + 1]?.timeline ?? server.timeline
  return { timeline: heir, position: beginningOf(parted.at, segmentBytes) }
}
