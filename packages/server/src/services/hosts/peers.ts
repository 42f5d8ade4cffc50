/** Other hosts of this installation, as they last said of themselves: who can be asked for what is not here. */
import type { Elsewhere } from "../../kernel/fault.ts"
import { type Isolation, isAsStrong } from "../../ports/runtime/port.ts"
import type { hostStore, PeerRow } from "./store.ts"

/** What a workload asks of a host. */
export interface Place {
  readonly memoryBytes: number
  /** At least; undefined: any. */
  readonly isolation?: Isolation | undefined
}

/** Of the hosts with room, so many are asked. */
const ASKED_MAX = 3

const freeBytes = ({ memory_bytes, memory_reserved_bytes }: PeerRow): number =>
  memory_bytes - memory_reserved_bytes

/** Those who can take it, with the most room first. */
export const roomiest = (peers: readonly PeerRow[], { memoryBytes, isolation }: Place): readonly PeerRow[] =>
  peers
    .filter(
      peer =>
        peer.driver !== "none" &&
        peer.workloads < peer.workloads_max &&
        freeBytes(peer) >= memoryBytes &&
        isAsStrong(peer.isolation as Isolation, isolation),
    )
    .toSorted((one, other) => freeBytes(other) - freeBytes(one))
    .slice(0, ASKED_MAX)

const addressesOf = (peers: readonly PeerRow[]): readonly URL[] =>
  peers.flatMap(({ url }) => (url === null ? [] : [new URL(url)]))

export const createPeers = (store: Pick<ReturnType<typeof hostStore>, "peers">, ownId: string) => {
  let known: readonly PeerRow[] = []
  const refresh = async () => {
    known = await store.peers(ownId)
  }
  return {
    refresh,
    /** The host itself, where it is there and can be reached. */
    at: (id: string): Elsewhere | undefined => {
      if (known.length === 0) return undefined
      return async () => {
        if (!known.some(peer => peer.id === id)) await refresh()
        return addressesOf(known.filter(peer => peer.id === id))
      }
    },
    withRoom: (place: Place): Elsewhere | undefined =>
      known.length === 0 ? undefined : async () => addressesOf(roomiest(known, place)),
  }
}
