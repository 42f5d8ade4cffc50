import type { FollowerState, WalSource } from "./archiver.ts"

/** What the archiver tells its thread. `follower` is a number given by the archiver. */
export type ToReceiver =
  | {
      readonly kind: "follow"
      readonly follower: number
      readonly source: WalSource
      /** One 64-bit number: the position up to which everything is on disk, 0 when not known. */
      readonly flushed: BigInt64Array
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
