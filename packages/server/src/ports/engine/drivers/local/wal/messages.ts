/** A running server whose log is archived, and the folder of its archive, which must exist. */
export interface WalSource {
  readonly volumeId: string
  /** The folder of its Unix socket. */
  readonly socketDir: string
  readonly port: number
  /** May replicate. */
  readonly user: string
  readonly password: string
  readonly walDir: string
}

/**
 * - `connecting`: not following yet, catching up, or on the way back after the connection broke.
 * - `streaming`: has everything that the server has on its own disk, or is behind by what is under way.
 * - `failed`: the log cannot be fetched or written; tried again until it can, and told in the log.
 */
export type FollowerState = "connecting" | "streaming" | "failed"

/** What the archiver tells its thread. `follower` is a number given by the archiver. */
export type ToReceiver =
  | {
      readonly kind: "follow"
      readonly follower: number
      readonly source: WalSource
      /** Two positions, 0 when not known: up to where everything is on disk, and where the server's log ends. */
      readonly positions: BigInt64Array
    }
  /** Answered by `reached` once everything before the position is on disk. */
  | { readonly kind: "await"; readonly follower: number; readonly request: number; readonly position: bigint }
  | { readonly kind: "stop"; readonly follower: number }

export type FromReceiver =
  | { readonly kind: "state"; readonly follower: number; readonly state: FollowerState }
  | { readonly kind: "reached"; readonly follower: number; readonly request: number }
  | { readonly kind: "ended"; readonly follower: number }
  | { readonly kind: "stopped"; readonly follower: number }
  | { readonly kind: "log"; readonly line: string }
