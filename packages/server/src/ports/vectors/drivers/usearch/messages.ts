/** What the driver and its thread say to each other. */
import type { PortErrorKind } from "../../../port-error.ts"
import type { Condition } from "../../filter.ts"
import type { CollectionShape, VectorMatches, VectorQuery } from "../../port.ts"

/** Changes with all vectors in one buffer, which is handed over and not copied. */
export interface PackedChanges {
  readonly reset: boolean
  readonly ids: readonly string[]
  readonly metadata: readonly string[]
  readonly values: Float32Array<ArrayBuffer>
  readonly deletes: readonly string[]
  readonly through: number
}

export type Request =
  | { readonly do: "apply"; readonly shape: CollectionShape; readonly changes: PackedChanges }
  | { readonly do: "search"; readonly collectionId: string; readonly query: VectorQuery }
  | {
      readonly do: "select"
      readonly collectionId: string
      readonly filter: Condition
      readonly limit: number
    }
  | { readonly do: "count"; readonly collectionId: string; readonly filter: Condition }
  | { readonly do: "drop"; readonly collectionId: string }

export interface Results {
  readonly apply: undefined
  readonly search: VectorMatches
  readonly select: string[]
  readonly count: number
  readonly drop: undefined
}

export type Question = Request & { readonly number: number }

export interface CollectionReport {
  readonly id: string
  readonly position: number
  readonly vectors: number
  readonly bytes: number
  readonly isBuilding: boolean
}

export type ThreadMessage =
  | { readonly number: number; readonly result: Results[keyof Results] }
  | { readonly number: number; readonly refusal: { readonly kind: PortErrorKind; readonly message: string } }
  /** Everything in memory, after a change of it. */
  | { readonly report: readonly CollectionReport[] }
